package primitives_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestRenewalsWaitForReplicas has replicas that stop after the grant: the holder loses its lock in time, although its
// primary renews it, and a lease that does not wait stays.
func TestRenewalsWaitForReplicas(t *testing.T) {
	eachLocker(t, func(t *testing.T, s *server, c *primitives.Client, l primitives.Locker) {
		other := must(c.NewLock("other", nil).Lock(t.Context()))(t)
		start := time.Now()
		lease := must(l.Lock(t.Context()))(t)
		s.set(func() {
			s.acks = func(_ int, timeout time.Duration) acks {
				require.Equal(t, time.Second, timeout)
				return acks{after: timeout}
			}
		})
		awaitEnd(t, lease.Done())
		require.Equal(t, 27*time.Second, time.Since(start))
		require.ErrorIs(t, lease.Err(), primitives.LossOutage)
		time.Sleep(time.Second)
		s.requireFree(t)
		time.Sleep(time.Hour)
		require.NoError(t, other.Err())
	})
}

// TestClientsReplicas: -1 means none, whatever the client's option, and a backend that cannot wait is refused.
func TestClientsReplicas(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c := s.client(t, &primitives.Options{Replicas: 1})
		for _, kind := range lockers {
			hold(t, construct(t, c, kind, kind, settings{"Replicas": -1}), func(*primitives.Lease) { time.Sleep(20 * time.Second) })
		}
		require.Zero(t, s.called("WAIT"))
		require.ErrorAs(t, errOf(primitives.New(struct{ backend.Backend }{s}, &primitives.Options{Replicas: 1})), new(*primitives.FieldError))
	})
}

// TestMutexOfAReleaseWaitsForReplicas has a mutex that a release grants: Lock returns it only after the replica has
// acknowledged a renewal. Without Replicas no request is sent more.
func TestMutexOfAReleaseWaitsForReplicas(t *testing.T) {
	t.Parallel()
	for _, fixed := range []time.Duration{0, 20 * time.Second} {
		for replicas := range 2 {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				m := s.client(t, nil).NewMutex("x", &primitives.MutexOptions{Replicas: replicas, Lease: fixed})
				first := must(m.Lock(t.Context()))(t)
				waits := s.called("WAIT")
				time.AfterFunc(5*time.Second, func() { require.NoError(t, first.Release(t.Context())) })
				second := must(m.Lock(t.Context()))(t)
				renewed := replicas
				if fixed > 0 {
					renewed = 1 // To its whole length.
				}
				require.Equal(t, renewed, s.called("mutex_renew"))
				require.Equal(t, waits+2*replicas, s.called("WAIT"), "of the refused try, too")
				if replicas > 0 {
					require.Greater(t, second.Remaining(), 17*time.Second)
				}
				require.NoError(t, second.Release(t.Context()))
			})
		}
	}
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
