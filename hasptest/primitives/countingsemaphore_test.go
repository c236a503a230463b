package primitives_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// inBothOrders runs a test in virtual time for each order of a counting semaphore.
func inBothOrders(t *testing.T, test func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions)) {
	t.Helper()
	t.Parallel()
	for name, order := range map[string]primitives.CountingOrder{
		"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival,
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			test(t, s, primitives.CountingSemaphoreOptions{Order: order})
		})
	}
}

// acquired returns a lease that must be had.
func acquired(t *testing.T, s *primitives.CountingSemaphore) *primitives.Lease {
	t.Helper()
	return must(s.Acquire(t.Context()))(t)
}

// TestCountingSemaphoreFollowsTheDead lets all holders crash: those who wait are in when the leases end, of
// which no message tells, though they do not poll; and they have not tried again and again until then.
func TestCountingSemaphoreFollowsTheDead(t *testing.T) {
	inBothOrders(t, func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions) {
		o.Lease, o.WaiterTimeout = time.Minute, 1000*time.Hour
		never := &primitives.Options{PollInterval: 100 * time.Hour}
		dead := s.client(t, never).NewCountingSemaphore("x", 2, &o)
		acquired(t, dead)
		acquired(t, dead)
		s.set(func() {
			s.fault = func(script string) fault {
				if strings.Contains(script, "_release") {
					return down
				}
				return fault{}
			}
		})
		start := time.Now()
		sem := s.client(t, never).NewCountingSemaphore("x", 2, &o)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				acquired(t, sem)
				require.InDelta(t, time.Minute, time.Since(start), float64(100*time.Millisecond))
			})
		}
		all.Wait()
		require.LessOrEqual(t, s.called("counting_acquire")+s.called("arrival_acquire"), 2+2*4)
		s.faults(fault{})
	})
}

// TestCountingSemaphoreRefresh extends a lease that nobody else renews, again and again.
func TestCountingSemaphoreRefresh(t *testing.T) {
	inBothOrders(t, func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions) {
		o.Lease = 10 * time.Second
		sem := s.client(t, nil).NewCountingSemaphore("x", 1, &o)
		lease := acquired(t, sem)
		for range 20 {
			time.Sleep(8 * time.Second)
			require.NoError(t, sem.Refresh(t.Context(), lease))
			require.Equal(t, 9*time.Second, lease.Remaining())
			require.Equal(t, 1, s.holding())
		}
		time.Sleep(9 * time.Second)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		wraps(t, sem.Refresh(t.Context(), lease), primitives.ErrNotHeld, primitives.ErrLost)
		require.Equal(t, 20, s.called("counting_renew"))
	})
}

// TestCountingSemaphoreRefreshFails in each way.
func TestCountingSemaphoreRefreshFails(t *testing.T) {
	inBothOrders(t, func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions) {
		o.Lease = 10 * time.Second
		client := s.client(t, nil)
		sem := client.NewCountingSemaphore("x", 1, &o)
		lease := acquired(t, sem)
		answers := func(f fault) { s.set(func() { s.fault = func(string) fault { return f } }) }

		answers(down)
		require.ErrorIs(t, sem.Refresh(t.Context(), lease), primitives.ErrUnavailable)
		answers(fault{broken: true})
		require.Error(t, sem.Refresh(t.Context(), lease))
		answers(fault{})
		require.NoError(t, lease.Err(), "it is as it was")
		require.Equal(t, 9*time.Second, lease.Remaining())

		var wrong *primitives.FieldError
		require.ErrorAs(t, client.NewCountingSemaphore("y", 1, &o).Refresh(t.Context(), lease), &wrong)
		require.Equal(t, "lease", wrong.Field)
		for _, none := range []*primitives.Lease{nil, {}} {
			require.ErrorAs(t, sem.Refresh(t.Context(), none), &wrong)
		}

		s.lose("x")
		wraps(t, sem.Refresh(t.Context(), lease), primitives.ErrNotHeld, primitives.ErrLost)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)

		lease = acquired(t, sem)
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, sem.Refresh(t.Context(), lease), primitives.ErrReleased)
		require.Zero(t, s.holding(), "it is not back")

		lease = acquired(t, sem)
		s.lose("x")
		s.do("RPUSH", "x", "no semaphore")
		require.ErrorIs(t, sem.Refresh(t.Context(), lease), primitives.ErrConflict)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	})
}

// TestCountingSemaphoreRefreshCountsFromItsRequest: of a lease of 10 s, an answer after 4 s leaves 6 s. After an answer that
// takes longer than the lease, the lease is lost, whatever the answer says.
func TestCountingSemaphoreRefreshCountsFromItsRequest(t *testing.T) {
	inBothOrders(t, func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions) {
		o.Lease = 10 * time.Second
		sem := s.client(t, nil).NewCountingSemaphore("x", 1, &o)
		lease := acquired(t, sem)
		s.faults(fault{after: 4 * time.Second})
		require.NoError(t, sem.Refresh(t.Context(), lease))
		require.LessOrEqual(t, lease.Remaining(), 6*time.Second)
		time.Sleep(4 * time.Second)
		s.faults(fault{after: 2 * time.Second})
		require.ErrorIs(t, sem.Refresh(t.Context(), lease), primitives.ErrLost)
		s.faults(fault{})
		time.Sleep(time.Second)
		require.Zero(t, s.holding(), "it was released")
	})
}

// TestCountingSemaphoreServesInTurn ByArrival: each release wakes the next waiter alone.
func TestCountingSemaphoreServesInTurn(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		sem := s.client(t, &primitives.Options{PollInterval: 100 * time.Hour}).NewCountingSemaphore("x", 2,
			&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival, Lease: time.Hour, WaiterTimeout: 1000 * time.Hour})
		one, two := acquired(t, sem), acquired(t, sem)
		var mu sync.Mutex
		var served []int
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				lease := acquired(t, sem)
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				time.Sleep(time.Duration(i+1) * time.Minute)
				require.NoError(t, lease.Release(t.Context()))
			})
			time.Sleep(time.Second)
		}
		require.Len(t, s.queued(), 6)
		require.Equal(t, 6, s.subscribed())
		tries := s.called("arrival_acquire")
		require.NoError(t, one.Release(t.Context()))
		require.NoError(t, two.Release(t.Context()))
		all.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, served)
		require.LessOrEqual(t, s.called("arrival_acquire"), tries+2*6, "one that succeeds, one to learn when a hold ends")
		require.Zero(t, s.subscribed())
	})
}

// TestCountingSemaphoreWakesTheNextWhileThereIsRoom ByArrival: two releases come before the first waiter's try, and wake
// that waiter alone. Its grant wakes the next.
func TestCountingSemaphoreWakesTheNextWhileThereIsRoom(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		sem := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewCountingSemaphore("x", 2,
			&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival, Lease: 100 * time.Hour, WaiterTimeout: 2 * time.Hour})
		held := []*primitives.Lease{acquired(t, sem), acquired(t, sem)}
		in := make(chan *primitives.Lease, 2)
		for range 2 {
			go func() { in <- acquired(t, sem) }()
			time.Sleep(time.Second)
		}
		s.faultOf("arrival_acquire", fault{before: time.Second})
		began := time.Now()
		for _, lease := range held {
			require.NoError(t, lease.Release(t.Context()))
		}
		<-in
		<-in
		require.Less(t, time.Since(began), time.Minute)
	})
}

// TestCountingSemaphoreLeavesTogether cancels many waiters at once, of which none has a try under way, and loses
// the replies to their releases: two scripts repeat these, of at most 100 waiters each.
func TestCountingSemaphoreLeavesTogether(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lost := true
		s.fault = func(script string) fault {
			return fault{lost: lost && strings.HasPrefix(script, "arrival_release")}
		}
		sem := s.client(t, nil).NewCountingSemaphore("x", 1,
			&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
		acquired(t, sem)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		for range 150 {
			all.Go(func() { require.ErrorIs(t, errOf(sem.Acquire(ctx)), primitives.ErrNotAcquired) })
		}
		time.Sleep(time.Minute)
		synctest.Wait() // Each waiter has its answer, and is parked.
		tries := s.called("arrival_acquire")
		cancel()
		all.Wait()
		require.Equal(t, tries, s.called("arrival_acquire"), "no waiter was trying")
		time.Sleep(time.Second)
		sent := func() int { return s.called("arrival_release") + s.called("arrival_release_all") }
		before := sent()
		require.Positive(t, before)
		s.set(func() { lost = false })
		time.Sleep(10 * time.Second)
		require.Empty(t, s.queued())
		require.Equal(t, 2, sent()-before)
	})
}
