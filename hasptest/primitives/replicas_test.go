package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// lockers are the kinds of locks.
var lockers = strings.Fields("Lock FencedLock SpinLock FairLock ReadLock WriteLock Mutex PlainLock")

// eachLocker runs test with a lock of each kind, which waits for one replica, on a server of its own.
func eachLocker(t *testing.T, test func(t *testing.T, s *server, c *primitives.Client, l primitives.Locker)) {
	t.Helper()
	t.Parallel()
	for _, kind := range lockers {
		subtest(t, kind, func(t *testing.T, s *server) {
			c := s.client(t, nil)
			test(t, s, c, construct(t, c, kind, "x", settings{"Replicas": 1}).(primitives.Locker))
		})
	}
}

// requireFree requires that nobody holds x nor waits for it, whatever kind of lock it is.
func (s *server) requireFree(t *testing.T) {
	t.Helper()
	require.Empty(t, s.holder("x"))
	require.Empty(t, s.waiting())
}

func TestReplicasAcknowledge(t *testing.T) {
	eachLocker(t, func(t *testing.T, s *server, _ *primitives.Client, l primitives.Locker) {
		s.acks = func(replicas int, timeout time.Duration) acks {
			require.Equal(t, 1, replicas)
			require.Equal(t, time.Second, timeout)
			return acks{n: 5}
		}
		for i, lock := range []func(context.Context) (*primitives.Lease, error){l.Lock, l.TryLock} {
			lease := must(lock(t.Context()))(t)
			require.Equal(t, i+1, s.called("WAIT"))

			require.NoError(t, must(l.Lock(lease.Reenter(t.Context())))(t).Release(t.Context()))
			require.NoError(t, lease.Release(t.Context()))
			require.Equal(t, i+1, s.called("WAIT"), "re-entry sends nothing, and no release is waited for")
			s.requireFree(t)
		}
	})
}

func TestTryLockWithTooFewReplicas(t *testing.T) {
	eachLocker(t, func(t *testing.T, s *server, _ *primitives.Client, l primitives.Locker) {
		s.acks = noneAcks
		start := time.Now()
		_, err := l.TryLock(t.Context())
		require.ErrorIs(t, err, primitives.ErrReplicas)
		require.NotErrorIs(t, err, primitives.ErrNotAcquired)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.Regexp(t, `^acquire ([a-z]+ )?(lock|mutex) "x": .*: 0 of 1 acknowledged within 1s$`, err.Error())
		require.Equal(t, time.Second, time.Since(start))
		s.requireFree(t)

		s.set(func() { s.fault = func(string) fault { return fault{before: 10 * time.Millisecond} } })
		ctx := within(t, 400*time.Millisecond) // It ends before the timeout of replicas.
		err = errOf(l.TryLock(ctx))
		require.ErrorIs(t, err, primitives.ErrReplicas)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.NoError(t, ctx.Err())
		s.requireFree(t)
		wraps(t, errOf(l.Lock(within(t, 400*time.Millisecond))), primitives.ErrReplicas, context.DeadlineExceeded)
		time.Sleep(time.Second) // A second try may have been under way.
		s.requireFree(t)
		s.set(func() { s.acks = allAck })
		require.NoError(t, errOf(l.TryLock(t.Context())))
	})
}

// TestLockWithTooFewReplicas tries again and again, with pauses, until its context ends, or the replica is back.
func TestLockWithTooFewReplicas(t *testing.T) {
	eachLocker(t, func(t *testing.T, s *server, _ *primitives.Client, l primitives.Locker) {
		s.acks = func(int, time.Duration) acks { return acks{} } // At once: only pauses take time.
		s.fault = func(string) fault { return fault{before: time.Millisecond} }
		start := time.Now()
		ctx := within(t, time.Minute)
		_, err := l.Lock(ctx)
		wraps(t, err, primitives.ErrReplicas, context.DeadlineExceeded)
		require.NotErrorIs(t, err, primitives.ErrNotAcquired)
		require.ErrorContains(t, err, "0 of 1 acknowledged")
		require.Equal(t, time.Minute, time.Since(start))
		time.Sleep(time.Second) // A try may have been under way.
		s.requireFree(t)
		// Pauses of 50, 100, 200 ... ms come first, and later ones are between half a second and one; of a Mutex all
		// are of a quarter of a second.
		require.Greater(t, s.called("WAIT"), 60)
		require.Less(t, s.called("WAIT"), 280)
		time.AfterFunc(time.Second, func() { s.set(func() { s.acks = allAck }) })
		require.NoError(t, must(l.Lock(t.Context()))(t).Release(t.Context()))
	})
}

// TestWaitFails has a WAIT that gets an error: nothing stays held, and it is tried again where that may
// help.
func TestWaitFails(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("%w: %w", backend.ErrNotSupported, &backend.ServerError{Code: "ERR"})
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"ConnectionBroke": {errors.New("EOF"), true},
		"Demoted":         {&backend.ServerError{Code: "ERR", Message: "cannot be used with replica instances"}, true},
		"NotExecuted":     {&backend.ServerError{Code: "READONLY"}, true},
		"Unavailable":     {backend.ErrUnavailable, true},
		"Unknown":         {unknown, false},
		"Denied":          {&backend.ServerError{Code: "NOPERM"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachLocker(t, func(t *testing.T, s *server, _ *primitives.Client, l primitives.Locker) {
				fail := func(int, time.Duration) acks {
					s.acks = allAck
					return acks{err: c.err}
				}
				s.acks = fail
				wraps(t, errOf(l.TryLock(t.Context())), primitives.ErrReplicas, c.err)
				s.requireFree(t)

				s.set(func() { s.acks = fail })
				start := time.Now()
				_, err := l.Lock(t.Context())
				if c.again {
					require.NoError(t, err)
					require.GreaterOrEqual(t, time.Since(start), 25*time.Millisecond, "a pause")
					return
				}
				require.ErrorIs(t, err, primitives.ErrReplicas)
				require.Equal(t, 2, s.called("WAIT"))
				s.requireFree(t)
			})
		})
	}
}

// TestLeavesWhileReplicasAreWaitedFor, at once. What was granted is released once, when WAIT has ended.
func TestLeavesWhileReplicasAreWaitedFor(t *testing.T) {
	eachLocker(t, func(t *testing.T, s *server, c *primitives.Client, l primitives.Locker) {
		s.acks = func(_ int, timeout time.Duration) acks { return acks{n: 1, after: timeout / 2} }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		start := time.Now()
		wraps(t, errOf(l.Lock(ctx)), context.Canceled, primitives.ErrIndeterminate)
		require.Equal(t, 100*time.Millisecond, time.Since(start))
		time.Sleep(401 * time.Millisecond)
		s.requireFree(t)
		require.Len(t, s.calls, 3, "one acquire, one WAIT, one release: %v", s.calls)
		time.AfterFunc(100*time.Millisecond, func() { require.NoError(t, c.Close(context.Background())) })
		require.ErrorIs(t, errOf(l.Lock(t.Context())), primitives.ErrClosed)
		time.Sleep(time.Second)
		s.requireFree(t)
	})
}

// TestUndoneGrantIsSearchedFor: for a moment, amid a failover, releases go to another server than the one
// that has granted the lock.
func TestUndoneGrantIsSearchedFor(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		s.acks = func(int, time.Duration) acks {
			owner := s.holder("x")
			s.lose("x")
			time.AfterFunc(200*time.Millisecond, func() { s.hold("x", owner, 30*time.Second) })
			return acks{}
		}
		lock := s.client(t, nil).NewLock("x", &primitives.LockOptions{Replicas: 1})
		require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrReplicas)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.NotEmpty(t, s.holder("x"))
		time.Sleep(time.Second)
		require.Empty(t, s.holder("x"))
		releases := s.called("lock_release")
		time.Sleep(time.Hour)
		require.Equal(t, releases, s.called("lock_release"))
	})
}

// TestFairLockWithTooFewReplicas: who has to give up its turn goes to the end of the queue.
func TestFairLockWithTooFewReplicas(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		holder := must(c.NewFairLock("x", nil).Lock(t.Context()))(t)
		var served []int
		var all sync.WaitGroup
		for i, replicas := range []int{1, 0, 1} {
			all.Go(func() {
				lease := must(c.NewFairLock("x", &primitives.FairLockOptions{Replicas: replicas}).Lock(t.Context()))(t)
				served = append(served, i) // One has the lock at a time.
				time.Sleep(time.Second)
				require.NoError(t, lease.Release(t.Context()))
			})
			time.Sleep(time.Second)
		}
		short := true
		s.set(func() {
			s.acks = func(n int, _ time.Duration) acks {
				defer func() { short = false }()
				if short {
					n = 0
				}
				return acks{n: n}
			}
		})
		require.NoError(t, holder.Release(t.Context()))
		all.Wait()
		require.Equal(t, []int{1, 2, 0}, served)
		s.requireFree(t)
	})
}

// TestClientsReplicas: -1 means none, whatever the client's option, and a backend that cannot wait is refused.
func TestClientsReplicas(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, none := s.client(t, &primitives.Options{Replicas: 1}), struct{ backend.Backend }{s}
		for _, kind := range append(lockers, "PermitSemaphore") {
			hold(t, construct(t, c, kind, kind, settings{"Replicas": -1}), func(*primitives.Lease) { time.Sleep(20 * time.Second) })
			err := use(t.Context(), construct(t, s.over(t, none, nil), kind, kind, settings{"Replicas": 1}))
			require.ErrorAs(t, err, new(*primitives.FieldError), kind)
		}
		require.Zero(t, s.called("WAIT"))
		require.ErrorAs(t, errOf(primitives.New(none, &primitives.Options{Replicas: 1})), new(*primitives.FieldError))
	})
}

// TestMutexPassesAWaiterWithoutReplicas grants a mutex, by releases, to a caller whose replicas do not acknowledge it: that
// caller does not get it before they do, and another caller, which does not wait for them, gets it at once.
func TestMutexPassesAWaiterWithoutReplicas(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var tracer trace.Tracer
		ends := 0
		tracer.LeaseEnd = func(trace.LeaseEnd) { ends++ }
		c := s.client(t, &primitives.Options{Tracer: &tracer})
		waiting, plain := c.NewMutex("x", &primitives.MutexOptions{Replicas: 1}), c.NewMutex("x", nil)
		first := must(plain.Lock(t.Context()))(t)
		s.acks = noneAcks
		start, served := time.Now(), map[string]time.Duration{}
		var all sync.WaitGroup
		lock := func(name string, m *primitives.Mutex) {
			all.Go(func() {
				lease := must(m.Lock(t.Context()))(t)
				served[name] = time.Since(start).Truncate(time.Second)
				time.Sleep(time.Second)
				require.NoError(t, lease.Release(t.Context()))
			})
			time.Sleep(time.Second)
		}
		lock("waiting", waiting)
		lock("plain", plain)
		require.NoError(t, first.Release(t.Context()))
		time.Sleep(28 * time.Second)
		s.set(func() { s.acks = allAck })
		all.Wait()
		require.Equal(t, 3*time.Second, served["plain"])
		require.GreaterOrEqual(t, served["waiting"], 30*time.Second)
		require.Less(t, served["waiting"], 32*time.Second)
		require.Equal(t, 3, ends, "only leases that Lock has returned")
		s.requireFree(t)
	})
}

// TestMutexOfAReleaseThatCannotBeRenewed has a server that does not know WAIT, and a driver that panics, while Lock renews a
// mutex that a release has granted: the client releases the mutex.
func TestMutexOfAReleaseThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		subtest(t, fmt.Sprint("panics ", panics), func(t *testing.T, s *server) {
			c := s.client(t, nil)
			m, first := c.NewMutex("x", &primitives.MutexOptions{Replicas: 1}), must(c.NewMutex("x", nil).Lock(t.Context()))(t)
			time.AfterFunc(time.Second, func() {
				if panics {
					s.faultOf("mutex_renew", fault{panics: true})
				} else {
					s.set(func() { s.acks = func(int, time.Duration) acks { return acks{err: backend.ErrNotSupported} } })
				}
				require.NoError(t, first.Release(t.Context()))
			})
			if panics {
				require.PanicsWithValue(t, "hook", func() { _, _ = m.Lock(t.Context()) })
			} else {
				wraps(t, errOf(m.Lock(t.Context())), primitives.ErrReplicas, backend.ErrNotSupported)
			}
			s.faults(fault{})
			time.Sleep(time.Second)
			s.requireFree(t)
		})
	}
}
