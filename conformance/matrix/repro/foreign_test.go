package repro

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// lockOfHash is what all locks have in common that are hashes at the name.
type lockOfHash interface {
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	IsLocked(ctx context.Context) (bool, error)
	IsHeldBy(ctx context.Context, owner string) (bool, error)
	HoldCount(ctx context.Context, owner string) (int64, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

// calls returns the calls that look at a lock's hash.
func calls(lock lockOfHash) map[string]func(context.Context) (any, error) {
	return map[string]func(context.Context) (any, error){
		"TryLock": get(lock.TryLock), "ForceUnlock": get(lock.ForceUnlock), "IsLocked": get(lock.IsLocked),
		"IsHeldBy": with(lock.IsHeldBy, "somebody"), "HoldCount": with(lock.HoldCount, "somebody"),
		"Remaining": get(lock.Remaining),
	}
}

// rateCalls returns the calls that look at a rate limiter's hash.
func rateCalls(c *primitives.Client) map[string]func(context.Context) (any, error) {
	rate := primitives.Rate{Permits: 1, Interval: time.Second}
	l, made := c.NewRateLimiter("x", nil), c.NewRateLimiter("x", &primitives.RateLimiterOptions{Rate: rate})
	return map[string]func(context.Context) (any, error){
		"TryAcquire": only(l.TryAcquire, 1), "Acquire": only(made.Acquire, 1), "Release": only(l.Release, 1),
		"AvailablePermits": get(l.AvailablePermits), "Delete": get(l.Delete),
		"SetRate": only(l.SetRate, rate), "InitRate": with(l.InitRate, rate), "UpdateRate": with(l.UpdateRate, rate),
		"Rate": get(l.Rate),
	}
}

// TestForeignHashIsAConflict has another program's hash at the name of a lock or of a rate limiter. Its fields are almost
// owners, or would take long to search. No lock or limiter takes the hash for its own, waits for it, or changes it.
func TestForeignHashIsAConflict(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		c := client(t, s.Addr())
		rw, fenced := c.NewReadWriteLock("x", nil), c.NewFencedLock("x", nil)
		all := map[string]map[string]func(context.Context) (any, error){
			"Lock": calls(c.NewLock("x", nil)), "FencedLock": calls(fenced), "SpinLock": calls(c.NewSpinLock("x", nil)),
			"FairLock": calls(c.NewFairLock("x", nil)), "ReadLock": calls(rw.ReadLock()), "WriteLock": calls(rw.WriteLock()),
			"RateLimiter": rateCalls(c), "Token": {"LastToken": get(fenced.LastToken), "Holder": get(fenced.Holder)},
			"SpinLock.Holder": {"": get(c.NewSpinLock("x", nil).Holder)}, "WriteLock.Holder": {"": get(rw.WriteLock().Holder)},
			"ReadLock.Holders": {"": get(rw.ReadLock().Holders)},
		}
		for _, fields := range [][]string{
			{"name", "bob"}, {"name", "bob", "visits", "9000000000000"}, {"mode", "dark"}, {"type", "0"}, {"a-a-a-a-a:", "1"},
			{"a-a-a-a-a:1:a", "1"}, {"a:00000000-0000-4000-8000-00000000000a:1", "1"}, {strings.Repeat("a", 1<<20), "1"},
		} {
			cells.Text(t, s, "DEL", "x")
			cells.Text(t, s, append([]string{"HSET", "x"}, fields...)...)
			for kind, calls := range all {
				for name, call := range calls {
					_, err := call(t.Context())
					require.ErrorIs(t, err, primitives.ErrConflict, "%s: %s", kind, name)
					require.ErrorContains(t, err, "holds a hash", "%s: %s", kind, name)
				}
			}
			require.ElementsMatch(t, fields, cells.Texts(t, s, "HGETALL", "x"))
			require.Equal(t, "1", cells.Text(t, s, "DBSIZE"))
		}
	})
}
