package primitives_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

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
