package fencing_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/fencing"
)

// resource is where accounts are.
type resource struct {
	set     func(ctx context.Context, account string, balance, token int64) error
	open    func(account string) // makes an account that has seen no token
	balance func(account string) int64
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	b, err := embedded.New(server, nil)
	require.NoError(t, err)
	do := func(words ...string) string {
		reply, err := server.Do(words...)
		require.NoError(t, err)
		text, err := reply.Text()
		require.NoError(t, err)
		return text
	}
	refusesLowerTokens(t, resource{
		set: func(ctx context.Context, account string, balance, token int64) error {
			return fencing.SetInRedis(ctx, b, account, balance, token)
		},
		open: func(account string) { do("HSET", account, "balance", "0") },
		balance: func(account string) (n int64) {
			_, err := fmt.Sscan(do("HGET", account, "balance"), &n)
			require.NoError(t, err)
			return n
		},
	})
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	refusesLowerTokens(t, table(t, "sqlite", filepath.Join(t.TempDir(), "accounts.db")))
}

// table is the table of accounts in a database.
func table(t *testing.T, driver, source string) resource {
	t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), fencing.Schema)
	require.NoError(t, err)
	return resource{
		set: func(ctx context.Context, account string, balance, token int64) error {
			return fencing.SetInSQL(ctx, db, account, balance, token)
		},
		open: func(account string) {
			_, err := db.ExecContext(t.Context(), "INSERT INTO account (name, balance) VALUES ($1, 0)", account)
			require.NoError(t, err)
		},
		balance: func(account string) (n int64) {
			row := db.QueryRowContext(t.Context(), "SELECT balance FROM account WHERE name = $1", account)
			require.NoError(t, row.Scan(&n))
			return n
		},
	}
}

// refusesLowerTokens tells apart a missing account, one that has seen no token, an equal token, a lower
// one and a higher one.
func refusesLowerTokens(t *testing.T, r resource) {
	t.Helper()
	ctx := t.Context()
	require.ErrorIs(t, r.set(ctx, "nobody's", 1, 1), fencing.ErrNoAccount)

	r.open("mine")
	const first = 1<<53 + 1 // no double has it
	require.NoError(t, r.set(ctx, "mine", 10, first), "no token was seen")
	require.NoError(t, r.set(ctx, "mine", 20, first), "an equal token")
	for _, lower := range []int64{1, 9, first - 1} {
		var stale *fencing.StaleTokenError
		require.ErrorAs(t, r.set(ctx, "mine", 30, lower), &stale)
		require.Equal(t, &fencing.StaleTokenError{Token: lower, Highest: first}, stale)
	}
	require.EqualValues(t, 20, r.balance("mine"))
	for _, higher := range []int64{first + 1, 1_800_000_000_000_000_0, math.MaxInt64} {
		require.NoError(t, r.set(ctx, "mine", higher, higher))
		require.Equal(t, higher, r.balance("mine"))
	}
}
