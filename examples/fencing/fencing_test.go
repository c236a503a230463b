package fencing_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/fencing"
)

// resource is where accounts are.
type resource struct {
	claim   func(ctx context.Context, account string, token int64) (balance int64, err error)
	set     func(ctx context.Context, account string, balance, token int64) error
	open    func(account string) // makes an account that nobody has claimed, with a balance of 0
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
	checksTokens(t, resource{
		claim: func(ctx context.Context, account string, token int64) (int64, error) {
			return fencing.ClaimInRedis(ctx, b, account, token)
		},
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
	db := table(t, "sqlite", filepath.Join(t.TempDir(), "accounts.db"))
	checksTokens(t, inSQL(t, db))
	changesAllOrNone(t, db)
	addsWithoutReading(t, db)
}

// TestCheckAtTheWriteIsNotEnough shows why a holder claims: a row that learns of tokens only by writes loses an
// update.
func TestCheckAtTheWriteIsNotEnough(t *testing.T) {
	t.Parallel()
	db := table(t, "sqlite", filepath.Join(t.TempDir(), "accounts.db"))
	r := inSQL(t, db)
	r.claim = func(_ context.Context, account string, _ int64) (int64, error) { return r.balance(account), nil }
	r.set = func(ctx context.Context, account string, balance, token int64) error {
		const update = "UPDATE account SET balance = $1, fence = $2 WHERE name = $3 AND (fence IS NULL OR fence <= $2)"
		_, err := db.ExecContext(ctx, update, balance, token, account)
		return err
	}
	require.EqualValues(t, 107, deposits(t, r, "ABAB"), "the row accepts a holder that has lost its lock")
	require.EqualValues(t, 7, r.balance("ABAB"))
}

// TestPageHasTheStatements compares the SQL of the page with the statements that the tests run.
func TestPageHasTheStatements(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guarantees.md")
	require.NoError(t, err)
	source, err := os.ReadFile("sql.go")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```sql\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	statements := 0
	for line := range strings.Lines(block) {
		if statement, ends := strings.CutSuffix(line, ";\n"); ends {
			require.True(t, strings.Contains(string(source), statement), statement)
			statements++
		}
	}
	require.Equal(t, 2, statements)
}

// table makes the table of accounts in a database.
func table(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), fencing.Schema)
	require.NoError(t, err)
	return db
}

// inSQL is the table of accounts in a database.
func inSQL(t *testing.T, db *sql.DB) resource {
	t.Helper()
	return resource{
		claim: func(ctx context.Context, account string, token int64) (int64, error) {
			return fencing.ClaimInSQL(ctx, db, account, token)
		},
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

func checksTokens(t *testing.T, r resource) {
	t.Helper()
	refusesLowerTokens(t, r)
	refusesWithoutClaim(t, r)

	for order, want := range map[string]int64{"AABB": 107, "ABAB": 7, "ABBA": 7, "BAAB": 7, "BABA": 7, "BBAA": 7} {
		require.Equal(t, want, deposits(t, r, order), order)
		require.Equal(t, want, r.balance(order), order)
	}
}

// deposits lets A pay 100 into an account under token 1, and B pay 7 under token 2. Each reads, and at its second turn
// writes. deposits returns the sum of what the account has accepted.
//
// In ABAB, A is paused between its read and its write: it found its lease held, and lost it meanwhile.
func deposits(t *testing.T, r resource, order string) (accepted int64) {
	t.Helper()
	type holder struct {
		token, amount, balance int64
		claimed                bool
		err                    error
	}
	r.open(order)
	holders := map[rune]*holder{'A': {token: 1, amount: 100}, 'B': {token: 2, amount: 7}}
	for _, turn := range order {
		h := holders[turn]
		switch {
		case h.err != nil:
			requireStale(t, h.err, 1, 2)
		case !h.claimed:
			h.balance, h.err = r.claim(t.Context(), order, h.token)
			h.claimed = true
		default:
			h.err = r.set(t.Context(), order, h.balance+h.amount, h.token)
			if h.err == nil {
				accepted += h.amount
			}
		}
	}
	return accepted
}

// refusesLowerTokens claims an account that does not exist, and then an account with a first token, with an equal
// token, with lower tokens and with higher tokens.
func refusesLowerTokens(t *testing.T, r resource) {
	t.Helper()
	ctx := t.Context()
	claim := func(token, balance int64) {
		t.Helper()
		read, err := r.claim(ctx, "mine", token)
		require.NoError(t, err)
		require.Equal(t, balance, read)
	}
	_, err := r.claim(ctx, "nobody's", 1)
	require.ErrorIs(t, err, fencing.ErrNoAccount)
	require.ErrorIs(t, r.set(ctx, "nobody's", 1, 1), fencing.ErrNoAccount)

	r.open("mine")
	const first = 1<<53 + 1 // no double has it
	claim(first, 0)
	require.NoError(t, r.set(ctx, "mine", 10, first))
	claim(first, 10) // an equal token: the same holder
	require.NoError(t, r.set(ctx, "mine", 20, first))
	require.NoError(t, r.set(ctx, "mine", 20, first), "a repeated write")
	for _, lower := range []int64{1, 9, first - 1} {
		_, err := r.claim(ctx, "mine", lower)
		requireStale(t, err, lower, first)
		requireStale(t, r.set(ctx, "mine", 30, lower), lower, first)
	}
	last := r.balance("mine")
	require.EqualValues(t, 20, last)
	for _, higher := range []int64{first + 1, 1_800_000_000_000_000_0, math.MaxInt64} {
		claim(higher, last) // the holder before may have crashed between its claim and its write
		claim(higher, last)
		require.NoError(t, r.set(ctx, "mine", higher, higher))
		last = higher
	}
}

// refusesWithoutClaim writes under a token that has not claimed the account.
func refusesWithoutClaim(t *testing.T, r resource) {
	t.Helper()
	ctx := t.Context()
	r.open("not claimed")
	require.ErrorIs(t, r.set(ctx, "not claimed", 1, 5), fencing.ErrNotClaimed, "nobody has")
	_, err := r.claim(ctx, "not claimed", 4)
	require.NoError(t, err)
	require.ErrorIs(t, r.set(ctx, "not claimed", 1, 5), fencing.ErrNotClaimed, "the holder before has")
	require.Zero(t, r.balance("not claimed"))
}

// changesAllOrNone pays from one account into another. A second holder has the lock of one of them.
func changesAllOrNone(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx, r := t.Context(), inSQL(t, db)
	r.open("from")
	r.open("to")
	from, to := &fencing.Row{Account: "from", Token: 1}, &fencing.Row{Account: "to", Token: 7}
	require.NoError(t, fencing.ClaimAll(ctx, db, to, from))
	from.Balance, to.Balance = -100, 100
	require.NoError(t, fencing.SetAll(ctx, db, from, to))

	later := &fencing.Row{Account: "to", Token: 8}
	require.NoError(t, fencing.ClaimAll(ctx, db, later))
	require.EqualValues(t, 100, later.Balance)
	from.Balance, to.Balance = -200, 200
	requireStale(t, fencing.SetAll(ctx, db, from, to), 7, 8)
	require.EqualValues(t, -100, r.balance("from"), "not even the account that nobody else has claimed")

	from.Token = 2
	requireStale(t, fencing.ClaimAll(ctx, db, from, to), 7, 8)
	require.ErrorIs(t, r.set(ctx, "from", 1, 2), fencing.ErrNotClaimed, "this claim was rolled back, too")
}

// addsWithoutReading writes without a claim before: the UPDATE depends on nothing that was read.
func addsWithoutReading(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx, r := t.Context(), inSQL(t, db)
	add := func(amount, token int64) (rows int64) {
		t.Helper()
		result, err := db.ExecContext(ctx, `UPDATE account SET balance = balance + $1, fence = $2
			WHERE name = 'sum' AND (fence IS NULL OR fence <= $2)`, amount, token)
		require.NoError(t, err)
		rows, err = result.RowsAffected()
		require.NoError(t, err)
		return rows
	}
	r.open("sum")
	require.EqualValues(t, 1, add(5, 1))
	read, err := r.claim(ctx, "sum", 2)
	require.NoError(t, err)
	require.Zero(t, add(5, 1), "a later holder has claimed the row")
	require.NoError(t, r.set(ctx, "sum", read+20, 2))
	require.EqualValues(t, 1, add(300, 3))
	requireStale(t, r.set(ctx, "sum", 0, 2), 2, 3)
	require.EqualValues(t, 325, r.balance("sum"))
}

func requireStale(t *testing.T, err error, token, highest int64) {
	t.Helper()
	var stale *fencing.StaleTokenError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, &fencing.StaleTokenError{Token: token, Highest: highest}, stale)
}
