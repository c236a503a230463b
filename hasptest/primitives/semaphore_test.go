package primitives_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestSemaphoreGrantRacesWithContext: a caller whose context ends in the instant of the grant gets an error that says that
// permits may have been taken, and they are released. If it ends only after the grant was seen, the caller has them.
func TestSemaphoreGrantRacesWithContext(t *testing.T) {
	t.Parallel()
	for left, looks := range map[string]int64{"3": 0, "1": 1} {
		subtest(t, left, func(t *testing.T, s *server) {
			s.do("SET", "x", "3")
			ctx := &endingContext{Context: t.Context()}
			ctx.looks.Store(looks)
			s.seen = func(string, []string, []string) { ctx.ending.Store(true) }
			err := s.client(t, nil).NewSemaphore("x", nil).Acquire(ctx, 2)
			if looks > 0 {
				require.NoError(t, err)
			} else {
				wraps(t, err, context.Canceled, backend.ErrIndeterminate)
			}
			time.Sleep(time.Minute)
			s.set(func() { require.Equal(t, left, s.permits("x")) })
			require.Equal(t, 1-int(looks), s.called("semaphore_add"))
		})
	}
}

// TestSemaphoreWarnsOfLostPermits: no caller is left to return an error to, so the logger gets
// it, after five seconds at most. A request that was certainly not sent has taken nothing.
func TestSemaphoreWarnsOfLostPermits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault, back fault // of the acquire, and of the release of what it took
		warnings    int
	}{
		"NotSent":   {fault{before: time.Second, err: errors.New("no connection")}, fault{}, 0},
		"Broken":    {fault{before: time.Second, broken: true}, fault{}, 1},
		"Delivered": {fault{before: time.Second}, fault{}, 0},
		"Silent":    {fault{lost: true}, fault{}, 1},
		"NotBack":   {fault{before: time.Second}, fault{broken: true}, 1},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			s.do("SET", "x", "3")
			core, logs := observer.New(zap.WarnLevel)
			semaphore := s.client(t, &primitives.Options{Logger: zap.New(core)}).NewSemaphore("x", nil)
			s.fault = func(script string) fault {
				return map[bool]fault{false: c.fault, true: c.back}[script == "semaphore_add"]
			}
			require.ErrorIs(t, semaphore.Acquire(within(t, time.Millisecond), 2), backend.ErrIndeterminate)
			time.Sleep(6 * time.Second)
			require.Equal(t, c.warnings, logs.Len())
		})
	}
}

// endingContext ends after so many more calls of Err, but its Done is never closed.
type endingContext struct {
	context.Context //nolint:containedctx // It is one.

	ending atomic.Bool
	looks  atomic.Int64
}

func (c *endingContext) Err() error {
	if c.ending.Load() && c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// withPermits is virtual with a permit semaphore called x, of 3 permits.
func withPermits(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		s.do("SET", "x", "3")
		test(t, s)
	})
}

// TestPermitWaiterForManyHoldsUpNoneForFew: of two who wait on one client the second gets what is too few for
// the first.
func TestPermitWaiterForManyHoldsUpNoneForFew(t *testing.T) {
	withPermits(t, func(t *testing.T, s *server) {
		holder := s.client(t, nil).NewPermitSemaphore("x", nil)
		first := must(holder.Acquire(t.Context(), 1))(t)
		rest := must(holder.Acquire(t.Context(), 2))(t)
		waiter := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewPermitSemaphore("x", nil)
		many, few := make(chan *primitives.Lease, 1), make(chan *primitives.Lease, 1)
		for n, got := range map[int]chan *primitives.Lease{3: many, 1: few} {
			time.AfterFunc(time.Duration(4-n)*time.Second, func() {
				got <- must(waiter.Acquire(t.Context(), n))(t)
			})
		}
		time.Sleep(5 * time.Second)
		require.NoError(t, first.Release(t.Context()))
		time.Sleep(10 * time.Millisecond)
		require.Len(t, few, 1)
		require.Empty(t, many)
		require.NoError(t, (<-few).Release(t.Context()))
		require.NoError(t, rest.Release(t.Context()))
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, (<-many).Release(t.Context()))
	})
}

// TestPermitsReenter: no more permits than a lease has share it; more are a hold of their own.
func TestPermitsReenter(t *testing.T) {
	withPermits(t, func(t *testing.T, s *server) {
		semaphore := s.client(t, nil).NewPermitSemaphore("x", nil)
		outer := must(semaphore.Acquire(t.Context(), 1))(t)
		inside := outer.Reenter(t.Context())
		same := must(semaphore.TryAcquire(inside, 1))(t)
		require.Equal(t, semaphore.IDs(outer), semaphore.IDs(same))
		more := must(semaphore.TryAcquire(inside, 2))(t)
		require.Equal(t, 3, s.takenPermits())
		for _, lease := range []*primitives.Lease{outer, more, same} {
			require.NoError(t, lease.Release(t.Context()))
		}
		require.Zero(t, s.takenPermits())
	})
}

// TestPermitIsPassedOn: who forgets its lease leaves the permit to whom it gave the id, until its end.
func TestPermitIsPassedOn(t *testing.T) {
	withPermits(t, func(t *testing.T, s *server) {
		c := must(primitives.New(s, nil))(t)
		semaphore := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Lease: time.Minute})
		lease := must(semaphore.Acquire(t.Context(), 1))(t)
		require.Empty(t, c.NewPermitSemaphore("y", nil).IDs(lease), "it is of another one")
		id := semaphore.IDs(lease)[0]
		lease.Forget()
		require.ErrorIs(t, lease.Err(), primitives.ErrReleased)
		require.NoError(t, c.Close(t.Context()))
		require.Equal(t, 1, s.takenPermits())
		require.NoError(t, s.client(t, nil).NewPermitSemaphore("x", nil).Release(t.Context(), id))
		require.Zero(t, s.takenPermits())
	})
}

func TestPermitIDsAreTexts(t *testing.T) {
	t.Parallel()
	id := primitives.PermitID{0: 0x86, 1: 0xb1, 15: 0x91}
	require.Equal(t, "86b10000000000000000000000000091", id.String())
	require.Equal(t, id, must(primitives.ParsePermitID(id.String()))(t))
	var read primitives.PermitID
	require.NoError(t, json.Unmarshal(must(json.Marshal(id))(t), &read))
	require.Equal(t, id, read)
	for _, bad := range []string{"", "86", "86b1000000000000000000000000009x", id.String() + "00"} {
		require.ErrorAs(t, errOf(primitives.ParsePermitID(bad)), new(*primitives.FieldError), bad)
	}
}

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
		s.faults(down)
		require.ErrorIs(t, sem.Refresh(t.Context(), lease), primitives.ErrUnavailable)
		s.faults(fault{broken: true})
		require.Error(t, sem.Refresh(t.Context(), lease))
		s.faults(fault{})
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

// TestCountingSemaphoreWakesTheNextWhileThereIsRoom: two releases come before the first waiter's try, and ByArrival wake
// that waiter alone. Its grant wakes the next.
func TestCountingSemaphoreWakesTheNextWhileThereIsRoom(t *testing.T) {
	inBothOrders(t, func(t *testing.T, s *server, o primitives.CountingSemaphoreOptions) {
		o.Lease, o.WaiterTimeout = 100*time.Hour, 2*time.Hour
		sem := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewCountingSemaphore("x", 2, &o)
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

// TestPermitsWaitForReplicas: a grant that no replica has is undone (Redisson's 4977, 4097).
func TestPermitsWaitForReplicas(t *testing.T) {
	withPermits(t, func(t *testing.T, s *server) {
		s.acks = noneAcks
		semaphore := s.client(t, nil).NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Replicas: 1})
		require.ErrorIs(t, errOf(semaphore.TryAcquire(t.Context(), 2)), primitives.ErrReplicas)
		require.Zero(t, s.takenPermits())
		s.set(func() { s.acks = allAck })
		lease := must(semaphore.TryAcquire(t.Context(), 2))(t)
		require.Equal(t, 2, s.takenPermits())
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestEndedLeasesOfPermits: a call that changes the total counts permits as free whose leases have ended, even if no call has
// collected them.
func TestEndedLeasesOfPermits(t *testing.T) {
	withPermits(t, func(t *testing.T, s *server) {
		semaphore := s.client(t, nil).NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Lease: time.Second})
		for i, change := range []func() error{
			func() error { return semaphore.AddPermits(t.Context(), 1) },
			func() error { return semaphore.SetPermits(t.Context(), 5) },
		} {
			must(semaphore.Acquire(t.Context(), 2))(t).Forget()
			time.Sleep(2 * time.Second)
			require.NoError(t, change())
			require.Equal(t, 4+i, must(semaphore.AvailablePermits(t.Context()))(t))
		}
	})
}

// TestSemaphoreBelowZero: a waiter is woken when the number of free permits rises from below 0 to above 0.
func TestSemaphoreBelowZero(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		semaphore := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewSemaphore("x", nil)
		for _, more := range []func(context.Context, int) error{semaphore.AddPermits, semaphore.Release} {
			s.do("SET", "x", "-1")
			got := beside(func() error { return semaphore.Acquire(t.Context(), 1) })
			synctest.Wait()
			begin := time.Now()
			require.NoError(t, more(t.Context(), 2))
			require.NoError(t, <-got)
			require.Less(t, time.Since(begin), time.Second)
		}
	})
}
