package hasptest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// acquireFunc waits for an object whose waiters have a queue on the server.
type acquireFunc func(context.Context) (*primitives.Lease, error)

// queued are the kinds with queues, whose waiters' places last for up to ten seconds.
var queued = map[string]func(*primitives.Client) acquireFunc{
	"Mutex": func(c *primitives.Client) acquireFunc { return c.NewMutex("x", nil).Lock },
	"FairLock": func(c *primitives.Client) acquireFunc {
		return c.NewFairLock("x", &primitives.FairLockOptions{WaiterTimeout: placeLasts}).Lock
	},
	"CountingSemaphore": func(c *primitives.Client) acquireFunc {
		return c.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{
			Order: primitives.ByArrival, WaiterTimeout: placeLasts,
		}).Acquire
	},
	"ReadWriteLock": func(c *primitives.Client) acquireFunc {
		return c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true}).WriteLock().Lock
	},
}

const placeLasts = 10 * time.Second

// queue is an object in virtual time that is held, and two waiters of other clients.
type queue struct {
	*testing.T
	*hasptest.Server
	held  *primitives.Lease
	order chan string // of the waiters that have acquired
}

// eachQueue runs a test for each kind with queues.
func eachQueue(t *testing.T, test func(q *queue, kind func(*primitives.Client) acquireFunc)) {
	t.Helper()
	t.Parallel()
	for name, kind := range queued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(newQueue(t, kind), kind) })
		})
	}
}

func newQueue(t *testing.T, kind func(*primitives.Client) acquireFunc) *queue {
	t.Helper()
	q := &queue{t, hasptest.New(t), nil, make(chan string, 2)}
	var err error
	q.held, err = kind(q.Client(nil))(t.Context())
	require.NoError(t, err)
	return q
}

// wait has a waiter join the queue. It holds for a moment.
func (q *queue) wait(name string, acquire acquireFunc) {
	go func() {
		if lease, err := acquire(q.Context()); err == nil {
			q.order <- name
			_ = lease.Release(q.Context())
		}
	}()
	time.Sleep(100 * time.Millisecond)
}

// next returns the next waiter that has acquired.
func (q *queue) next() string {
	select {
	case name := <-q.order:
		return name
	case <-time.After(24 * time.Hour):
		return "nobody"
	}
}

// do runs a command on the server.
func (q *queue) do(args ...string) backend.Reply {
	q.Helper()
	reply := must(q.Embedded().Do(args...))(q)
	return reply
}

// TestClockSetBackInAQueue sets the server's clock back by an hour when the first waiter has crashed: the next one
// acquires the object when the place of the crashed one has ended, and not an hour later.
func TestClockSetBackInAQueue(t *testing.T) {
	eachQueue(t, func(q *queue, kind func(*primitives.Client) acquireFunc) {
		crashing := q.Backend()
		client := must(primitives.New(crashing, nil))(q)
		q.wait("crashed", kind(client))
		require.NoError(q, crashing.Close())
		q.wait("next", kind(q.Client(nil)))
		q.Embedded().Advance(-time.Hour)
		time.Sleep(time.Second)
		require.NoError(q, q.held.Release(q.Context()))
		released := time.Now()
		require.Equal(q, "next", q.next())
		require.Less(q, time.Since(released), 35*time.Second) // A counting semaphore's lasts for 30 s then, at least.
	})
}

// TestLostQueue deletes everything but the holder's key while two callers wait: both acquire the object after the release.
func TestLostQueue(t *testing.T) {
	eachQueue(t, func(q *queue, kind func(*primitives.Client) acquireFunc) {
		q.wait("one", kind(q.Client(nil)))
		q.wait("other", kind(q.Client(nil)))
		keys := must(q.do("KEYS", "*").Items())(q)
		for _, item := range keys {
			if key, _ := item.Text(); key != "x" && key != "hasp_mutex:{x}" {
				q.do("DEL", key)
			}
		}
		time.Sleep(time.Second)
		require.NoError(q, q.held.Release(q.Context()))
		released := time.Now()
		require.ElementsMatch(q, []string{"one", "other"}, []string{q.next(), q.next()})
		require.Less(q, time.Since(released), placeLasts+5*time.Second)
	})
}

// TestWaiterReturnsToItsPlace deletes the queue of a mutex while its first waiter reaches no server, and the holder right
// before that waiter asks for its place again. The second waiter has returned to the queue before. The first one
// acquires the free mutex all the same.
func TestWaiterReturnsToItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, queued["Mutex"])
		link := &freeing{faulty: faulty{Backend: q.Backend()}, free: func() { q.do("DEL", "hasp_mutex:{x}") }}
		first := must(primitives.New(link, nil))(t)
		q.wait("first", queued["Mutex"](first))
		q.wait("second", queued["Mutex"](q.Client(nil)))
		link.fail(backend.ErrUnavailable)
		q.do("DEL", "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs")
		for q.count("ZCARD", "hasp_mutex:{x}:queue") == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		link.armed.Store(true)
		link.fail(nil)
		require.Equal(t, "first", q.next())
		require.Equal(t, "second", q.next())
		require.NoError(t, first.Close(t.Context()))
	})
}

// freeing is a backend that calls free right before the next request for a mutex, once it is armed.
type freeing struct {
	faulty
	armed atomic.Bool
	free  func()
}

func (f *freeing) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	if s.Name == "mutex_acquire" && f.armed.CompareAndSwap(true, false) {
		f.free()
	}
	return f.faulty.Run(ctx, s, keys, args)
}

// count returns the number that a command returns.
func (q *queue) count(args ...string) int64 {
	q.Helper()
	n := must(q.do(args...).Int())(q)
	return n
}

// recorded is a test that keeps what fails it, and goes on.
type recorded struct {
	testing.TB
	failures []string
}

func (r *recorded) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorded) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestLoseWhatNobodyHolds(t *testing.T) {
	t.Parallel()
	test := &recorded{TB: t}
	s := hasptest.New(test)
	s.Lose("orders:42")
	require.Equal(t, []string{`hasptest: lose "orders:42": nobody holds it`}, test.failures)
	client := s.Client(&primitives.Options{KeyPrefix: "app:"})
	require.NoError(t, errOf(client.NewLock("orders:42", nil).Lock(t.Context())))
	s.Lose("app:orders:42")
	require.Len(t, test.failures, 1)
}

// TestCleanup ends a test in an outage, with a lock held: the lock is free after.
func TestCleanup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		inner := &cleanups{TB: t}
		s := hasptest.New(inner)
		lease := must(s.Client(nil).NewLock("x", nil).Lock(t.Context()))(t)
		s.Away(time.Hour)
		inner.run()
		require.ErrorIs(t, lease.Err(), primitives.ErrClosed)
		require.Zero(t, must(must(s.Embedded().Do("EXISTS", "x"))(t).Int())(t), "the lock was released")
		require.Zero(t, time.Since(start), "without waiting")
	})
}

// cleanups is a test whose cleanup is run by hand.
type cleanups struct {
	testing.TB
	list []func()
}

func (c *cleanups) Cleanup(f func()) { c.list = append(c.list, f) }

func (c *cleanups) run() {
	for i := range c.list {
		c.list[len(c.list)-1-i]()
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	require.Panics(t, func() { s.FailAcquires(0) })
	require.Panics(t, func() { s.LoseAnswers(-1) })
	require.Panics(t, func() { s.Away(0) })
}

// TestWaiterBehindACrashedWaiter has a caller pass a crashed waiter of a full semaphore. The waiter behind, which does
// not poll, hears of it: it enters when the crashed holder's lease ends.
func TestWaiterBehindACrashedWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		start := time.Now()
		byArrival := func() *primitives.CountingSemaphore {
			client := s.Client(&primitives.Options{PollInterval: 100 * time.Hour})
			return client.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{
				Order: primitives.ByArrival, Lease: time.Minute, WaiterTimeout: 1000 * time.Hour,
			})
		}
		at := func(after time.Duration) string { return strconv.FormatInt(start.Add(after).UnixMilli(), 10) }
		for _, command := range [][]string{
			{"ZADD", "x", at(time.Minute), "holder", "-" + at(5*time.Second), "waiter"}, {"ZADD", "{x}:owner", "1", "waiter"},
		} {
			require.NoError(t, errOf(s.Embedded().Do(command...)))
		}
		entered := make(chan error)
		go func() {
			_, err := byArrival().Acquire(t.Context())
			entered <- err
		}()
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, errOf(byArrival().TryAcquire(t.Context())), primitives.ErrNotAcquired)
		require.NoError(t, <-entered)
		require.InDelta(t, time.Minute, time.Since(start), float64(100*time.Millisecond))
	})
}

// TestRestartWithoutDataIsNoticed: a client that only holds leases learns that its server has lost them as soon as the
// server is back. A client whose leases the server still has goes on.
func TestRestartWithoutDataIsNoticed(t *testing.T) {
	t.Parallel()
	for kind := range leased(hasptest.New(t).Client(nil), "x") {
		if slices.Contains([]string{"SpinLock", "PlainLock"}, kind) {
			continue // They have no channel.
		}
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", kind, lost), func(t *testing.T) {
				virtual(t, func(t *testing.T, s *hasptest.Server) {
					client := s.Client(nil)
					var leases []*primitives.Lease
					for i := range 5 {
						leases = append(leases, must(leased(client, fmt.Sprint("x", i))[kind](t.Context()))(t))
						time.Sleep(1500 * time.Millisecond)
					}
					s.Away(time.Second)
					if lost {
						require.NoError(t, errOf(s.Embedded().Do("FLUSHALL")))
					}
					time.Sleep(time.Second + 100*time.Millisecond)
					for _, lease := range leases {
						if lost {
							require.ErrorIs(t, lease.Err(), primitives.ErrLost)
						} else {
							require.NoError(t, lease.Err())
						}
					}
				})
			})
		}
	}
}

// mismatches keeps the mismatches of one client, whose calls come one after the other.
type mismatches struct{ all []trace.Mismatch }

func (m *mismatches) tracer() *trace.Tracer {
	return &trace.Tracer{Mismatch: func(data trace.Mismatch) { m.all = append(m.all, data) }}
}

// deployments are those of a limiter or a semaphore with so many permits, by its kind.
var deployments = map[string]struct {
	mismatch trace.Mismatch // that of 9 permits where there are 5

	// try acquires n permits of x without waiting, by an option of so many.
	try func(ctx context.Context, c *primitives.Client, permits, n int) error
}{
	"RateLimiter": {
		trace.Mismatch{Object: trace.Object{Kind: "rate limiter", Name: "x"}, Option: "Rate", Want: "9 in 1h0m0s", Have: "5 in 1h0m0s"},
		func(ctx context.Context, c *primitives.Client, permits, n int) error {
			d, err := c.NewRateLimiter("x", primitives.Rate{Permits: permits, Interval: time.Hour}, rateRefuse).Allow(ctx, n)
			if err == nil && !d.Allowed {
				err = primitives.ErrNotAcquired
			}
			return err
		},
	},
	"PermitSemaphore": {
		trace.Mismatch{Object: trace.Object{Kind: "permit semaphore", Name: "x"}, Option: "Permits", Want: "9", Have: "5"},
		func(ctx context.Context, c *primitives.Client, permits, n int) error {
			return errOf(c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: permits}).TryAcquire(ctx, n))
		},
	},
}

// TestMismatch deploys another number of permits: the server's applies, and the mismatch is reported, once.
func TestMismatch(t *testing.T) {
	t.Parallel()
	for name, l := range deployments {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, s *hasptest.Server) {
				m := &mismatches{}
				old, deployed := s.Client(nil), s.Client(&primitives.Options{Tracer: m.tracer()})
				require.NoError(t, l.try(t.Context(), deployed, 5, 1))
				require.Empty(t, m.all, "it has made what the option says")
				require.NoError(t, l.try(t.Context(), old, 5, 1))
				for range 3 {
					require.NoError(t, l.try(t.Context(), deployed, 9, 1))
				}
				require.ErrorIs(t, l.try(t.Context(), deployed, 9, 1), primitives.ErrNotAcquired)
				require.Equal(t, []trace.Mismatch{l.mismatch}, m.all)
			})
		})
	}
}

// TestMismatchOfMoreThanThereAre: the rate has fewer permits than a caller needs, whose option has them.
func TestMismatchOfMoreThanThereAre(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		m, try := &mismatches{}, deployments["RateLimiter"].try
		require.NoError(t, try(t.Context(), s.Client(nil), 5, 1))
		err := try(t.Context(), s.Client(&primitives.Options{Tracer: m.tracer()}), 9, 7)
		require.ErrorIs(t, err, primitives.ErrAboveRate)
		require.Len(t, m.all, 1)
		require.Equal(t, "fewer than 7 permits", m.all[0].Have)
	})
}

// virtual runs a test in virtual time, on a server of its own.
func virtual(t *testing.T, test func(t *testing.T, s *hasptest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, hasptest.New(t)) })
}
