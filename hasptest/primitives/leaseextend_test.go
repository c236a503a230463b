package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// extendable has, for each kind with leases, a kind that waits for a lease of it.
var extendable = map[string]string{
	"Lock": "Lock", "SpinLock": "Lock", "FairLock": "Lock", "MultiLock": "Lock", "Mutex": "Mutex", "PlainLock": "PlainLock", "ReadLock": "WriteLock", "WriteLock": "WriteLock",
	"CountingSemaphore": "CountingSemaphore", "PermitSemaphore": "PermitSemaphore",
}

// TestLeaseExtend makes a lease of each kind longer, and then shorter.
func TestLeaseExtend(t *testing.T) {
	t.Parallel()
	for kind, excluded := range extendable {
		subtest(t, kind, func(t *testing.T, s *server) {
			mine := construct(t, s.client(t, nil), kind, "x", settings{"Lease": 10 * time.Second, "Permits": 3})
			lease := must(tries(mine, 2)(t.Context()))(t)
			other := tries(construct(t, s.client(t, nil), excluded, "x", settings{"Permits": 3}), 2)
			time.Sleep(8 * time.Second)
			require.NoError(t, lease.Extend(t.Context(), 20*time.Second))
			require.Equal(t, 18*time.Second, lease.Remaining())
			time.Sleep(17 * time.Second)
			require.ErrorIs(t, errOf(other(t.Context())), primitives.ErrNotAcquired)
			require.NoError(t, lease.Extend(t.Context(), 500*time.Millisecond))
			require.Equal(t, 450*time.Millisecond, lease.Remaining())
			time.Sleep(450 * time.Millisecond)
			require.ErrorIs(t, lease.Err(), primitives.ErrLost)
			require.ErrorIs(t, lease.Extend(t.Context(), time.Minute), primitives.ErrLost)
			time.Sleep(time.Second)
			require.NoError(t, must(other(t.Context()))(t).Release(t.Context()))
		})
	}
}

// TestLeaseExtendRefuses a lease that the watchdog renews, alone or as a part, and a length that is too short.
func TestLeaseExtendRefuses(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		fixed := c.NewLock("fixed", &primitives.LockOptions{Lease: 10 * time.Second})
		for _, lock := range []primitives.Locker{
			c.NewLock("x", nil), primitives.NewMultiLock(fixed, c.NewLock("y", nil)),
		} {
			lease := must(lock.TryLock(t.Context()))(t)
			err := lease.Extend(t.Context(), time.Minute)
			require.ErrorContains(t, err, "lease: the watchdog renews it")
			require.ErrorAs(t, err, new(*primitives.FieldError))
			require.NoError(t, lease.Release(t.Context()))
		}
		lease := must(fixed.TryLock(t.Context()))(t)
		require.ErrorAs(t, lease.Extend(t.Context(), 99*time.Millisecond), new(*primitives.FieldError))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, lease.Extend(ended, time.Minute), context.Canceled)
		require.Zero(t, s.called("lock_renew"))
		require.Equal(t, 9*time.Second, lease.Remaining())
		require.NoError(t, lease.Release(t.Context()))
		err := lease.Extend(t.Context(), time.Minute)
		wraps(t, err, primitives.ErrNotHeld, primitives.ErrReleased)
		require.EqualError(t, err, `extend lock "fixed": not held: lease released`)
		require.Zero(t, s.called("lock_renew"))
	})
}

// fixedLease holds the lock called x for 10 s.
func fixedLease(t *testing.T, s *server) *primitives.Lease {
	t.Helper()
	return must(s.client(t, nil).NewLock("x", &primitives.LockOptions{Lease: 10 * time.Second}).TryLock(t.Context()))(t)
}

// faultOf gives one script a fault.
func (s *server) faultOf(name string, f fault) {
	s.set(func() {
		s.fault = func(script string) fault {
			if script == name {
				return f
			}
			return fault{}
		}
	})
}

// once gives the next call of one script a fault, or for "" that of any.
func (s *server) once(name string, f fault) {
	s.set(func() {
		s.fault = func(script string) (given fault) {
			if name == "" || script == name {
				s.fault, given = nil, f
			}
			return given
		}
	})
}

// TestLeaseExtendIsDenied by a server that refuses the command for this key: the lease is as before.
func TestLeaseExtendIsDenied(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := fixedLease(t, s)
		run := s.run
		s.set(func() {
			s.run = func(script *backend.Script, keys, args []string) (backend.Reply, error) {
				if script.Name == "lock_renew" {
					denied := backend.ArrayReply([]backend.Reply{backend.IntegerReply(-2)})
					return backend.ArrayReply([]backend.Reply{denied, backend.ArrayReply(nil)}), nil
				}
				return run(script, keys, args)
			}
		})
		require.ErrorIs(t, lease.Extend(t.Context(), time.Minute), backend.ErrNoPermission)
		require.Equal(t, 9*time.Second, lease.Remaining())
		s.set(func() { s.run = run })
		s.once("lock_renew", readerOnly("OOM"))
		require.ErrorIs(t, lease.Extend(t.Context(), time.Minute), backend.ScriptError("OOM"))
		require.NoError(t, lease.Extend(t.Context(), 2*time.Minute))
		require.Equal(t, 108*time.Second, lease.Remaining(), "all earlier requests were answered")
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLeaseExtendWithoutAnAnswer loses the answers: the server may have made the lease shorter, or may still do so
// after it has made it longer.
func TestLeaseExtendWithoutAnAnswer(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := fixedLease(t, s)
		s.faultOf("lock_renew", down)
		require.ErrorIs(t, lease.Extend(t.Context(), 20*time.Second), primitives.ErrUnavailable)
		require.Equal(t, 9*time.Second, lease.Remaining())
		s.faultOf("lock_renew", fault{broken: true})
		require.ErrorIs(t, lease.Extend(t.Context(), 20*time.Second), primitives.ErrIndeterminate)
		require.Equal(t, 9*time.Second, lease.Remaining())
		require.ErrorIs(t, lease.Extend(t.Context(), 5*time.Second), primitives.ErrIndeterminate)
		require.Equal(t, 4500*time.Millisecond, lease.Remaining())
		s.faultOf("lock_renew", fault{})
		time.Sleep(2 * time.Second)
		require.NoError(t, lease.Extend(t.Context(), time.Minute))
		require.Equal(t, 4500*time.Millisecond, lease.Remaining())
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLeaseExtendOvertaken has a request for 5 s arrive after a later one for a minute.
func TestLeaseExtendOvertaken(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := fixedLease(t, s)
		s.faultOf("lock_renew", fault{before: 3 * time.Second})
		slow := beside(func() error { return lease.Extend(t.Context(), 5*time.Second) })
		synctest.Wait()
		require.Equal(t, 4500*time.Millisecond, lease.Remaining(), "it may have been executed")
		time.Sleep(time.Second)
		s.faultOf("lock_renew", fault{})
		require.NoError(t, lease.Extend(t.Context(), time.Minute))
		require.Equal(t, 4500*time.Millisecond, lease.Remaining(), "the first request is still under way")
		require.NoError(t, <-slow)
		require.NoError(t, lease.Extend(t.Context(), time.Minute))
		require.Equal(t, 54*time.Second, lease.Remaining())
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLeaseExtendAnsweredLate: a lease counts from the request that extended it. It is lost if the server does not have it.
func TestLeaseExtendAnsweredLate(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := fixedLease(t, s)
		s.faultOf("lock_renew", fault{after: 3 * time.Second})
		require.NoError(t, lease.Extend(t.Context(), 20*time.Second))
		require.Equal(t, 15*time.Second, lease.Remaining())
		wraps(t, lease.Extend(t.Context(), time.Second), primitives.ErrNotHeld, primitives.ErrLost)
		lease = fixedLease(t, s)
		work := lease.Context(t.Context())
		s.lose("x")
		wraps(t, lease.Extend(t.Context(), time.Minute), primitives.ErrNotHeld, primitives.ErrLost)
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
	})
}

// TestExtendedLeaseIsReleasedAfterAnOutage that is longer than the lease was at first.
func TestExtendedLeaseIsReleasedAfterAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := fixedLease(t, s)
		require.NoError(t, lease.Extend(t.Context(), time.Hour))
		s.faults(down)
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrIndeterminate)
		time.Sleep(5 * time.Minute)
		s.faults(fault{})
		require.NotEmpty(t, s.holder("x"))
		time.Sleep(5 * time.Minute)
		require.Empty(t, s.holder("x"))
	})
}

// TestRedLockExtend needs a majority of the nodes.
func TestRedLockExtend(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		lock := primitives.NewRedLock(all.clients(t, nil), "x", &primitives.RedLockOptions{Lease: 10 * time.Second})
		all[4:].fault(down)
		lease := must(lock.TryLock(t.Context()))(t)
		all[3:4].fault(fault{before: time.Minute})
		began := time.Now()
		require.NoError(t, lease.Extend(t.Context(), 20*time.Second))
		require.Equal(t, 500*time.Millisecond, time.Since(began), "a silent node costs no more than NodeTimeout")
		require.Equal(t, 17500*time.Millisecond, lease.Remaining())
		all[2:4].fault(down)
		err := lease.Extend(t.Context(), time.Minute)
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		require.ErrorContains(t, err, `extend red lock "x": extend lock "x": `)
		require.Equal(t, 17500*time.Millisecond, lease.Remaining())
		all.fault(fault{})
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLockMaxHold bounds the leases of one lock and of one mutex, and those that re-enter them.
func TestLockMaxHold(t *testing.T) {
	t.Parallel()
	bounded := primitives.MutexOptions{MaxHold: time.Minute}
	for name, lock := range map[string]func(c *primitives.Client, o primitives.MutexOptions) primitives.Locker{
		"Lock": func(c *primitives.Client, o primitives.MutexOptions) primitives.Locker {
			return c.NewLock("x", &primitives.LockOptions{Lease: o.Lease, MaxHold: o.MaxHold})
		},
		"Mutex": func(c *primitives.Client, o primitives.MutexOptions) primitives.Locker { return c.NewMutex("x", &o) },
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			c := s.client(t, &primitives.Options{MaxHold: time.Hour})
			lease := must(lock(c, bounded).TryLock(t.Context()))(t)
			_, err := lock(c, primitives.MutexOptions{}).TryLock(lease.Reenter(t.Context()))
			require.ErrorContains(t, err, "MaxHold: 1h0m0s differs from that of the lease that is re-entered, 1m0s")
			time.Sleep(55 * time.Second)
			require.Equal(t, 5*time.Second, lease.Remaining())
			time.Sleep(5 * time.Second)
			require.ErrorIs(t, lease.Err(), primitives.ErrLost)
			for _, o := range []primitives.MutexOptions{{MaxHold: time.Second}, {MaxHold: time.Minute, Lease: time.Minute}} {
				_, err = lock(c, o).TryLock(t.Context())
				require.ErrorAs(t, err, new(*primitives.FieldError))
				require.ErrorContains(t, err, "MaxHold: ")
			}
			time.Sleep(time.Minute) // The server's lease ends later.
			renewed := must(lock(c, primitives.MutexOptions{}).TryLock(t.Context()))(t)
			time.Sleep(time.Hour)
			require.ErrorIs(t, renewed.Err(), primitives.ErrLost)
			time.Sleep(time.Minute)
			fixed := must(lock(c, primitives.MutexOptions{Lease: 3 * time.Hour}).TryLock(t.Context()))(t)
			time.Sleep(2 * time.Hour) // The client's MaxHold is not for what nobody renews.
			require.NoError(t, fixed.Release(t.Context()))
		})
	}
}
