package primitives_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// lockFunc acquires a lock, and waits for it.
type lockFunc func(context.Context) (*primitives.Lease, error)

// TestSelfDeadlock waits for locks under contexts of their own leases. It fails at once, and sends nothing.
func TestSelfDeadlock(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		for pair, is := range map[string]error{
			"Lock Lock": nil, "FairLock FairLock": nil, "FencedLock FencedLock": nil, "SpinLock SpinLock": nil, "PlainLock PlainLock": nil,
			"WriteLock WriteLock": nil, "WriteLock ReadLock": nil, "ReadLock WriteLock": primitives.ErrUpgrade,
			"RedLock RedLock": nil, "RedLock Lock": nil, "MultiLock Lock": nil, "MultiLock MultiLock": nil,
			"Lock Election": nil, "Lock PeriodicJob": nil, "SpinLock Lock": nil, "MultiLock PeriodicJob": nil,
		} {
			outer, inner, _ := strings.Cut(pair, " ")
			lease, err := acquirer(t, c, outer, "x")(t.Context())
			require.NoError(t, err, pair)
			for of, ctx := range contextsOf(t, lease) {
				var sent []string
				s.set(func() { s.seen = func(script string, _, _ []string) { sent = append(sent, script) } })
				start := time.Now()
				ctx, end := context.WithTimeout(ctx, time.Minute)
				_, err := acquirer(t, c, inner, "x")(ctx)
				end()
				require.ErrorIs(t, err, cmp.Or(is, primitives.ErrSelfDeadlock), "%s: %s", pair, of)
				if inner != "MultiLock" { // It asks for all of its locks before it waits.
					require.Empty(t, sent, "%s: %s", pair, of)
					require.Zero(t, time.Since(start), "%s: %s", pair, of)
				}
				s.set(func() { s.seen = nil })
			}
			require.NoError(t, lease.Err(), pair)
			require.NoError(t, lease.Release(t.Context()), pair)
		}
	})
}

// TestSelfDeadlockOfAnotherKind calls an election, a job and a lock of one name under each other's contexts, which do not
// re-enter either.
func TestSelfDeadlockOfAnotherKind(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		kinds, tried := []string{"Lock", "Election", "PeriodicJob"}, 0
		for _, outer := range kinds {
			hold(t, construct(t, c, outer, "x", nil), func(lease *primitives.Lease) {
				for _, inner := range kinds {
					for _, ctx := range []context.Context{lease.Context(t.Context()), lease.Reenter(t.Context())} {
						if inner == outer && inner != "PeriodicJob" {
							continue // A lock re-enters, and an election never calls itself.
						}
						ctx, end := context.WithTimeout(ctx, time.Minute)
						_, err := acquirer(t, c, inner, "x")(ctx)
						end()
						require.ErrorIs(t, err, primitives.ErrSelfDeadlock, "%s in %s", inner, outer)
						tried++
					}
				}
			})
		}
		require.Equal(t, 14, tried)
	})
}

// contextsOf are contexts of a lease, or made from one.
func contextsOf(t *testing.T, l *primitives.Lease) map[string]context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute) // It bounds a call that waits for itself all the same.
	work := l.Context(ctx)
	cancelled, cancel := context.WithCancel(context.WithValue(work, valueKey{}, 1))
	limited, stop := context.WithTimeout(cancelled, time.Hour)
	t.Cleanup(func() { stop(); cancel(); end() })
	return map[string]context.Context{
		"the lease's": work, "with a value": context.WithValue(work, valueKey{}, 1),
		"cancelled": cancelled, "limited": limited, "of two": l.Context(limited), "detached": context.WithoutCancel(work),
	}
}

// TestNoSelfDeadlock waits for what its own lease does not keep from it, or not for ever.
func TestNoSelfDeadlock(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		lock, rw := c.NewLock("x", nil), c.NewReadWriteLock("rw", nil)
		lease := must(lock.Lock(t.Context()))(t)
		work := lease.Context(t.Context())
		require.ErrorIs(t, errOf(lock.TryLock(work)), primitives.ErrNotAcquired)
		for _, ctx := range []context.Context{lease.Reenter(t.Context()), lease.Reenter(work), lease.Context(lease.Reenter(work))} {
			inner, err := lock.Lock(ctx)
			require.NoError(t, err, "it re-enters")
			require.NoError(t, inner.Release(ctx))
		}
		other := must(c.NewLock("y", nil).Lock(work))(t)
		require.NoError(t, other.Release(t.Context()))
		writer := must(rw.WriteLock().Lock(t.Context()))(t)
		reader, err := rw.ReadLock().Lock(writer.Reenter(t.Context()))
		require.NoError(t, err, "a writer may read")
		require.NoError(t, writer.Release(t.Context()))
		second, err := rw.ReadLock().Lock(reader.Context(t.Context()))
		require.NoError(t, err, "readers do not exclude each other")
		require.NoError(t, second.Release(t.Context()))
		require.NoError(t, reader.Release(t.Context()))

		require.NoError(t, lease.Release(t.Context()))
		lease = must(lock.Lock(context.WithoutCancel(work)))(t)
		require.NoError(t, lease.Release(t.Context()))
		_, err = lock.Lock(work)
		wraps(t, err, context.Canceled, primitives.ErrReleased)
		require.NotErrorIs(t, err, primitives.ErrSelfDeadlock)
	})
}
