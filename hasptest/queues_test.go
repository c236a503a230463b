package hasptest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
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
