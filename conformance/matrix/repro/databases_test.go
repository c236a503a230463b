package repro

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestAddersInTwoDatabases have one name and one channel, but no sum in common: each database has its own, a reset of
// one leaves the other as it is, and no request leaves a key.
func TestAddersInTwoDatabases(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience/4)
		defer cancel()
		var adders []*primitives.LongAdder
		for _, database := range []int{1, 2, 1, 2} {
			a := cells.Got(inDatabase(t, s, database).OpenLongAdder(ctx, "x"))(t)
			adders = append(adders, a)
			a.Add(int64(1) << (4 * len(adders)))
		}
		requireSums(ctx, t, adders, 0x1010, 0x10100)
		require.NoError(t, adders[0].Reset(ctx))
		requireSums(ctx, t, adders, 0, 0x10100)
		require.NoError(t, adders[3].Reset(ctx))
		adders[2].Increment()
		requireSums(ctx, t, adders, 1, 0)
		for database := range 3 {
			require.Empty(t, cells.Text(t, s, "EVAL",
				"redis.call('select', ARGV[1]) return table.concat(redis.call('keys', '*'), ' ')", "0", strconv.Itoa(database)))
		}
	})
}

// inDatabase returns a client of a logical database.
func inDatabase(t *testing.T, s *servers.Server, database int) *primitives.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), DB: database})
	t.Cleanup(func() { _ = c.Close() })
	b := cells.Got(goredisbackend.New(c, nil))(t)
	return cells.Over(t, b, nil)
}

// requireSums requires a sum of every other adder, and one of the rest.
func requireSums(ctx context.Context, t *testing.T, adders []*primitives.LongAdder, sums ...int64) {
	t.Helper()
	for i, a := range adders {
		sum := cells.Got(a.Sum(ctx))(t)
		require.Equal(t, sums[i%2], sum, "adder %d", i)
	}
}
