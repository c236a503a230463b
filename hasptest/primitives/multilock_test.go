package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

func TestMultiLockIsAllOrNothing(t *testing.T) {
	onNodes(t, 2, func(t *testing.T, all nodes) {
		one, two := all[0], all[1]
		c, d := one.client(t, nil), two.client(t, nil)
		locks := []primitives.Locker{c.NewLock("a", nil), c.NewFairLock("b", nil), d.NewFencedLock("c", nil)}
		multi := primitives.NewMultiLock(locks...)
		lease := must(multi.Lock(t.Context()))(t)
		parts := lease.Parts()
		require.Len(t, parts, 3)
		require.Equal(t, []string{parts[0].Owner(), parts[1].Owner(), parts[2].Owner()},
			[]string{one.holder("a"), one.holder("b"), two.holder("c")})
		require.Zero(t, lease.Token())
		require.Positive(t, parts[2].Token())
		require.Empty(t, lease.Owner())
		require.InDelta(t, 27*time.Second, lease.Remaining(), float64(time.Second))

		require.ErrorIs(t, errOf(primitives.NewMultiLock(locks[2], locks[1]).TryLock(t.Context())), primitives.ErrNotAcquired)
		time.Sleep(time.Hour) // Each part is renewed.
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrReleased)
		require.Empty(t, one.holder("a")+one.holder("b")+two.holder("c"))
	})
}

// TestMultiLockHasOneDeadline waits for one of its locks, and holds none meanwhile, nor after a try.
func TestMultiLockHasOneDeadline(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		multi := primitives.NewMultiLock(c.NewLock("a", nil), c.NewLock("b", nil))
		others := must(c.NewLock("b", nil).Lock(t.Context()))(t)
		require.EqualError(t, errOf(multi.TryLock(t.Context())), `acquire multi lock: acquire lock "b": held by another owner`)
		require.Empty(t, s.holder("a"))
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("no time"))
		defer cancel()
		meanwhile := make(chan string, 1)
		time.AfterFunc(2*time.Second, func() { meanwhile <- s.holder("a") })
		start := time.Now()
		_, err := multi.Lock(ctx)
		require.Equal(t, 3*time.Second, time.Since(start))
		wraps(t, err, context.DeadlineExceeded, primitives.ErrNotAcquired)
		require.ErrorContains(t, err, "no time")
		require.Empty(t, <-meanwhile)
		time.AfterFunc(time.Second, func() { require.NoError(t, others.Release(t.Context())) })
		start = time.Now()
		lease := must(multi.Lock(t.Context()))(t)
		require.Less(t, time.Since(start), 1100*time.Millisecond, "it was not woken")
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestMultiLocksWaitForTheSameLock counts the scripts of two waiters that name the same locks in different orders: both
// wait for one of the locks, and the caller that gets that one also gets the other.
func TestMultiLocksWaitForTheSameLock(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, d := s.client(t, nil), s.client(t, nil)
		pair := func(c *primitives.Client, one, two string) *primitives.MultiLock {
			return primitives.NewMultiLock(c.NewLock(one, nil), c.NewLock(two, nil))
		}
		held := must(pair(c, "a", "b").Lock(t.Context()))(t)
		hold := func(_ context.Context, lease *primitives.Lease) error {
			time.Sleep(time.Second)
			return nil
		}
		one := beside(func() error { return pair(c, "a", "b").Do(t.Context(), hold) })
		two := beside(func() error { return pair(d, "b", "a").Do(t.Context(), hold) })
		time.Sleep(time.Second)
		s.set(func() {
			require.NotContains(t, slices.Collect(maps.Values(s.handlers)), "redisson_lock__channel:{b}", "both wait for the first lock")
		})
		tries, releases := s.called("lock_acquire"), s.called("lock_release")
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, <-one)
		require.NoError(t, <-two)
		require.Equal(t, 5, s.called("lock_acquire")-tries, "each waiter tries for the first lock; then each tries for both")
		require.Equal(t, 6, s.called("lock_release")-releases)
	})
}

// TestMultiLockIsLostWithAPart releases the others then, at the latest when it is released itself.
func TestMultiLockIsLostWithAPart(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		multi := primitives.NewMultiLock(c.NewLock("a", nil), c.NewLock("b", nil))
		lease := must(multi.Lock(t.Context()))(t)
		work := lease.Context(t.Context())
		s.steal("b")
		awaitEnd(t, work.Done())
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		require.Zero(t, lease.Remaining())
		synctest.Wait()
		require.Empty(t, s.holder("a"))
		require.Equal(t, another, s.holder("b"))
		err := lease.Release(t.Context())
		wraps(t, err, primitives.ErrNotHeld, primitives.ErrLost)
		require.ErrorContains(t, err, "release multi lock: ")

		s.lose("b")
		lease = must(multi.Lock(t.Context()))(t)
		s.lose("b")
		require.NoError(t, lease.Err(), "nobody has noticed")
		wraps(t, lease.Release(t.Context()), primitives.ErrNotHeld, primitives.ErrLost)
		require.Empty(t, s.holder("a"))
	})
}

// awaitEnd waits until a lease has ended, for up to its length.
func awaitEnd(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		require.Fail(t, "it has not ended")
	}
}

// TestMultiLockInOutages has one of two servers fail for 10 s, before the first attempt or after a refusal. The lock
// on the other server is free most of the time.
func TestMultiLockInOutages(t *testing.T) {
	t.Parallel()
	const outage, tick = 10 * time.Second, 50 * time.Millisecond
	for name, c := range map[string]struct {
		fault fault
		err   error // of a first attempt; nil: it is granted
	}{
		"silent":        {fault{before: outage}, nil},
		"hangs up":      {fault{before: 5 * time.Second, broken: true}, backend.ErrIndeterminate},
		"takes no link": {fault{err: backend.ErrUnavailable}, backend.ErrUnavailable},
		"no route":      {fault{err: backend.ErrUnavailable, before: 5 * time.Second}, backend.ErrUnavailable},
	} {
		for _, refused := range []bool{false, true} {
			t.Run(fmt.Sprint(name, refused), func(t *testing.T) {
				onNodes(t, 2, func(t *testing.T, all nodes) {
					clients := all.clients(t, nil)
					a, b := clients[0].NewLock("a", nil), clients[1].NewLock("b", nil)
					held := must(a.Lock(t.Context()))(t)
					if !refused {
						require.NoError(t, held.Release(t.Context()))
						all[1:].fault(c.fault)
					}
					result := beside(func() error {
						return primitives.NewMultiLock(a, b).Do(t.Context(), func(context.Context, *primitives.Lease) error { return nil })
					})
					synctest.Wait()
					if refused {
						all[1:].fault(c.fault)
						require.NoError(t, held.Release(t.Context()))
					}
					streak, longest, sum := time.Duration(0), time.Duration(0), time.Duration(0)
					for range outage / tick {
						streak += tick
						if time.Sleep(tick); all.held("a") == 0 {
							streak = 0
						}
						longest, sum = max(longest, streak), sum+min(streak, tick)
					}
					require.LessOrEqual(t, longest, 2*time.Second)
					require.LessOrEqual(t, sum, outage/4)
					all.fault(fault{})
					if refused || c.err == nil {
						require.NoError(t, <-result)
					} else {
						require.ErrorIs(t, <-result, c.err)
					}
					time.Sleep(time.Minute)
					require.Zero(t, all.held("a")+all.held("b"))
				})
			})
		}
	}
}

// TestMultiLockReleasesWhatIsInDoubt loses the answer of one part, whose driver then panics, and whose server then says
// nothing: the lock on the other is free again after 2 s.
func TestMultiLockReleasesWhatIsInDoubt(t *testing.T) {
	onNodes(t, 2, func(t *testing.T, all nodes) {
		one, two := all[0], all[1]
		multi := primitives.NewMultiLock(one.client(t, nil).NewLock("a", nil), two.client(t, nil).NewLock("b", nil))
		two.fault = func(script string) fault { return fault{broken: script == "lock_acquire"} }
		require.ErrorIs(t, errOf(multi.TryLock(t.Context())), backend.ErrIndeterminate)
		time.Sleep(time.Second)
		require.Empty(t, one.holder("a")+two.holder("b"))
		two.faults(fault{panics: true})
		require.ErrorContains(t, errOf(multi.TryLock(t.Context())), "panic in the driver: hook")
		time.Sleep(time.Second)
		require.Empty(t, one.holder("a"))
		two.faults(fault{before: 20 * time.Second})
		start := time.Now()
		_, err := multi.TryLock(t.Context())
		require.EqualError(t, err, "acquire multi lock: outcome unknown: lock 2 gave no answer within 2s")
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.Empty(t, one.holder("a"))
		require.ErrorIs(t, errOf(multi.Lock(within(t, time.Second))), context.DeadlineExceeded)
		time.Sleep(time.Minute)
		require.Empty(t, one.holder("a")+two.holder("b"))
		two.faults(fault{})
	})
}

func TestMultiLockReenters(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		a, b := c.NewLock("a", nil), c.NewLock("b", nil)
		outer := must(primitives.NewMultiLock(a, b).Lock(t.Context()))(t)
		inside := outer.Reenter(t.Context())
		sent := s.called("lock_acquire")
		inner := must(primitives.NewMultiLock(b, a).TryLock(inside))(t)
		one := must(b.Lock(inside))(t)
		require.Equal(t, sent, s.called("lock_acquire"))
		require.Equal(t, outer.Parts()[1].Owner(), one.Owner())
		require.NoError(t, inner.Release(t.Context()))
		require.NoError(t, outer.Err())
		require.NoError(t, outer.Release(t.Context()))
		require.ErrorIs(t, inside.Err(), context.Canceled)
		require.Equal(t, one.Owner(), s.holder("b"))
		require.Empty(t, s.holder("a"))
		require.NoError(t, one.Release(t.Context()))
		require.Empty(t, s.holder("b"))
	})
}

// TestMultiLockEndsWithAClient by the cause of that.
func TestMultiLockEndsWithAClient(t *testing.T) {
	onNodes(t, 2, func(t *testing.T, all nodes) {
		one, two := all[0], all[1]
		c, d := one.client(t, nil), two.client(t, nil)
		lease := must(primitives.NewMultiLock(c.NewLock("a", nil), d.NewLock("b", nil)).Lock(t.Context()))(t)
		require.NoError(t, d.Close(t.Context()))
		require.ErrorIs(t, lease.Err(), primitives.ErrClosed)
		synctest.Wait()
		require.Empty(t, one.holder("a")+two.holder("b"))
		require.ErrorIs(t, errOf(primitives.NewMultiLock(c.NewLock("a", nil), d.NewLock("b", nil)).Lock(t.Context())), primitives.ErrClosed)
		synctest.Wait()
		require.Empty(t, one.holder("a"))
	})
}

func TestMultiLockRefusesBadLocks(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		x, rw := c.NewLock("x", nil), c.NewReadWriteLock("rw", nil)
		for problem, locks := range map[string][]primitives.Locker{
			"locks: none":                  nil,
			"locks: number 2 is nil":       {x, nil},
			"locks: number 1 is nil":       {(*primitives.Lock)(nil), x},
			"locks: number 3 is nil":       {x, rw.ReadLock(), (*primitives.MultiLock)(nil)},
			`locks: two have the key "x"`:  {x, primitives.NewMultiLock(c.NewFairLock("x", nil))},
			`locks: two have the key "rw"`: {rw.ReadLock(), x, rw.WriteLock()},
		} {
			_, err := primitives.NewMultiLock(locks...).TryLock(t.Context())
			require.ErrorAs(t, err, new(*primitives.FieldError))
			require.EqualError(t, err, "acquire multi lock: "+problem)
		}
		_, err := primitives.NewMultiLock(x, primitives.NewMultiLock((*primitives.RedLock)(nil))).TryLock(t.Context())
		require.ErrorContains(t, err, "number 1 is nil")
		none := primitives.NewRedLock(nil, "x", nil)
		require.ErrorContains(t, errOf(primitives.NewMultiLock(none, none).TryLock(t.Context())), "clients: none")
		require.ErrorAs(t, errOf(primitives.NewMultiLock(c.NewLock("", nil)).TryLock(t.Context())), new(*primitives.FieldError))
	})
}

// TestMultiLockFailsBeforeItIsRefused: one lock is held and another one fails, and the caller gets the failure.
func TestMultiLockFailsBeforeItIsRefused(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		s.hold("held", another, time.Hour)
		s.do("SET", "wrong", "text")
		for _, names := range [][]string{{"held", "wrong"}, {"wrong", "held"}} {
			both := primitives.NewMultiLock(c.NewLock(names[0], nil), c.NewLock(names[1], nil))
			require.ErrorIs(t, errOf(both.TryLock(t.Context())), primitives.ErrConflict)
			require.ErrorIs(t, errOf(both.Lock(within(t, time.Minute))), primitives.ErrConflict)
		}
	})
}
