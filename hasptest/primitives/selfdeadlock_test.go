package primitives_test

import (
	"context"
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
		rw := c.NewReadWriteLock("rw", nil)
		red := primitives.NewRedLock([]*primitives.Client{c, newServer(t).client(t, nil)}, "red", nil)
		multi := primitives.NewMultiLock(c.NewLock("a", nil), c.NewLock("b", nil))
		for name, test := range map[string]struct {
			outer, inner lockFunc
			is           error
		}{
			"Lock":       {c.NewLock("x", nil).Lock, c.NewLock("x", nil).Lock, primitives.ErrSelfDeadlock},
			"FairLock":   {c.NewFairLock("fair", nil).Lock, c.NewFairLock("fair", nil).Lock, primitives.ErrSelfDeadlock},
			"FencedLock": {c.NewFencedLock("f", nil).Lock, c.NewFencedLock("f", nil).Lock, primitives.ErrSelfDeadlock},
			"SpinLock":   {c.NewSpinLock("spin", nil).Lock, c.NewSpinLock("spin", nil).Lock, primitives.ErrSelfDeadlock},
			"PlainLock":  {c.NewPlainLock("plain", nil).Lock, c.NewPlainLock("plain", nil).Lock, primitives.ErrSelfDeadlock},
			"Writer":     {rw.WriteLock().Lock, rw.WriteLock().Lock, primitives.ErrSelfDeadlock},
			"Reader":     {rw.WriteLock().Lock, rw.ReadLock().Lock, primitives.ErrSelfDeadlock},
			"Upgrade":    {rw.ReadLock().Lock, rw.WriteLock().Lock, primitives.ErrUpgrade},
			"RedLock":    {red.Lock, red.Lock, primitives.ErrSelfDeadlock},
			"Node":       {red.Lock, c.NewLock("red", nil).Lock, primitives.ErrSelfDeadlock},
			"Part":       {multi.Lock, c.NewLock("b", nil).Lock, primitives.ErrSelfDeadlock},
			"MultiLock":  {multi.Lock, multi.Lock, primitives.ErrSelfDeadlock},
			"Election":   {c.NewLock("x", nil).Lock, electing(c, "x"), primitives.ErrSelfDeadlock},
			"Job":        {c.NewLock("x", nil).Lock, periodically(c, "x"), primitives.ErrSelfDeadlock},
			"LockOfSpin": {c.NewSpinLock("spin", nil).Lock, c.NewLock("spin", nil).Lock, primitives.ErrSelfDeadlock},
			"PartJob":    {multi.Lock, periodically(c, "b"), primitives.ErrSelfDeadlock},
		} {
			lease, err := test.outer(t.Context())
			require.NoError(t, err, name)
			for of, ctx := range contextsOf(t, lease) {
				var sent []string
				s.set(func() { s.seen = func(script string, _, _ []string) { sent = append(sent, script) } })
				start := time.Now()
				ctx, end := context.WithTimeout(ctx, time.Minute)
				_, err := test.inner(ctx)
				end()
				require.ErrorIs(t, err, test.is, "%s: %s", name, of)
				if name != "MultiLock" { // It asks for all of its locks before it waits.
					require.Empty(t, sent, "%s: %s", name, of)
					require.Zero(t, time.Since(start), "%s: %s", name, of)
				}
				s.set(func() { s.seen = nil })
			}
			require.NoError(t, lease.Err(), name)
			require.NoError(t, lease.Release(t.Context()), name)
		}
	})
}

// electing takes part in the election called name.
func electing(c *primitives.Client, name string) lockFunc {
	return func(ctx context.Context) (*primitives.Lease, error) {
		return nil, c.NewElection(name, nil).Run(ctx, nil)
	}
}

// periodically runs the job called name.
func periodically(c *primitives.Client, name string) lockFunc {
	return func(ctx context.Context) (*primitives.Lease, error) {
		_, err := c.NewPeriodicJob(name, time.Hour, nil).Do(ctx, time.Now(), nil)
		return nil, err
	}
}

// TestSelfDeadlockOfAnotherKind calls an election, a job and a lock of one name under each other's contexts, which do not
// re-enter either.
func TestSelfDeadlockOfAnotherKind(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		calls := map[string]lockFunc{"Lock": c.NewLock("x", nil).Lock, "Election": electing(c, "x"), "PeriodicJob": periodically(c, "x")}
		tried := 0
		for outer := range calls {
			hold(t, construct(t, c, outer, "x", nil), func(lease *primitives.Lease) {
				for inner, call := range calls {
					for _, ctx := range []context.Context{lease.Context(t.Context()), lease.Reenter(t.Context())} {
						if inner == outer && inner != "PeriodicJob" {
							continue // A lock re-enters, and an election never calls itself.
						}
						ctx, end := context.WithTimeout(ctx, time.Minute)
						_, err := call(ctx)
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
