package mutex

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// world is a server in virtual time, and what its clients' links lose.
type world struct {
	*embedded.Server
	deaf    bool                  // messages
	halting func(beat int64) bool // which beats are not answered; nil: all are
	beats   atomic.Int64
	acquire atomic.Pointer[backend.Call]    // the last one
	renewal func(ctx context.Context) error // what happens before each; with an error it is not sent
}

// link loses all messages while its world is deaf.
type link struct {
	cells.Runner
	world *world
}

// Subscribe implements [backend.Subscriber].
func (l *link) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	return l.Runner.Subscribe(ctx, channel, func(e backend.Event) {
		if !l.world.deaf {
			handler(e)
		}
	})
}

// client returns a client of its own.
func (w *world) client(t *testing.T) *primitives.Client {
	t.Helper()
	l := &link{Runner: cells.Runner{Backend: must.Get(embedded.New(w.Server, nil))}, world: w}
	l.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		switch c.Script.Name {
		case "mutex_acquire":
			w.acquire.Store(&c)
		case "mutex_beat":
			if n := w.beats.Add(1); w.halting != nil && w.halting(n) {
				<-ctx.Done()
				return backend.Reply{}, backend.ErrUnavailable
			}
		}
		if c.Script.Name == "mutex_renew" && w.renewal != nil {
			if err := w.renewal(ctx); err != nil {
				return backend.Reply{}, err
			}
		}
		return l.Good(ctx, c)
	}
	return cells.Over(t, l, nil)
}

// waits lets one wait who comes next, for an hour, and returns what waits for its lease, once it is in the queue.
func (w *world) waits(t *testing.T, m *primitives.Mutex) (lease func() *primitives.Lease) {
	t.Helper()
	before, got := cells.Number(t, w.Server, "ZCARD", queue), make(chan *primitives.Lease, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	go func() {
		defer cancel()
		lease, err := m.Lock(ctx)
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	synctest.Wait()
	require.Equal(t, before+1, cells.Number(t, w.Server, "ZCARD", queue))
	return func() *primitives.Lease {
		lease := <-got
		require.NotNil(t, lease)
		return lease
	}
}

// flushed is a key that says that the server has lost all others.
const flushed = "flushed"

// TestWaitersKeepTheirOrder: those who wait are served in the order of their arrival, also if no message
// comes, or if the server loses the queue: then all but the first.
func TestWaitersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for title, disturb := range map[string]func(w *world){
		"Undisturbed": func(*world) {},
		"Deaf":        func(w *world) { w.deaf = true },
		"Flushed": func(w *world) {
			_, _ = w.Do("FLUSHALL")
			_, _ = w.Do("SET", flushed, "yes")
		},
	} {
		t.Run(title, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) { keepOrder(t, disturb) })
		})
	}
}

func keepOrder(t *testing.T, disturb func(w *world)) {
	t.Helper()
	w := &world{Server: embedded.NewServer()}
	held := cells.Got(w.client(t).NewMutex(name, nil).Lock(t.Context()))(t)
	clients := []*primitives.Client{w.client(t), w.client(t), w.client(t)}
	served, first := make(chan int, 30), sync.Once{}
	for i := range cap(served) {
		got := w.waits(t, clients[i%len(clients)].NewMutex(name, nil))
		go func() {
			lease := got()
			first.Do(func() { time.Sleep(10 * time.Second) }) // Meanwhile all have their places again.
			served <- i
			require.NoError(t, lease.Release(t.Context()))
		}()
		time.Sleep(time.Millisecond)
	}
	disturb(w)
	_ = held.Release(t.Context())
	var order []int
	for range cap(served) {
		order = append(order, <-served)
	}
	require.True(t, slices.IsSorted(order[1:]), "%d", order)
	if cells.Number(t, w.Server, "EXISTS", flushed) == 0 { // Otherwise the first waiter that asked again got the mutex at once.
		require.Zero(t, order[0])
	}
}

// TestLostBeatCostsNoPlace: the server never takes a waiter for dead although every second beat is lost.
func TestLostBeatCostsNoPlace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		w.halting = func(beat int64) bool { return beat%2 == 0 }
		got := w.waits(t, other)
		sign := time.Now()
		for shown := int64(0); shown < 20; {
			time.Sleep(50 * time.Millisecond)
			if w.beats.Load() > 2*shown {
				shown, sign = shown+1, time.Now()
			}
			require.Less(t, time.Since(sign), 10*time.Second*2/3)
		}
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, got().Release(t.Context()))
	})
}

// TestLockReturnsNoLostLease: a fixed lease that a release granted is renewed before Lock returns. If the
// renewal hangs, Lock returns what is left of the lease, and if it finds the lease lost, the waiter waits on.
func TestLockReturnsNoLostLease(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		renewal func(ctx context.Context, w *world) error // the first one
		bound   time.Duration                             // from the grant until Lock returns
	}{
		"Hangs": {bound: 5 * time.Second, renewal: func(ctx context.Context, _ *world) error {
			<-ctx.Done()
			return backend.ErrIndeterminate
		}},
		"FindsItLost": {bound: 3 * time.Second, renewal: func(_ context.Context, w *world) error {
			_, err := w.Do("DEL", key)
			return err
		}},
	} {
		t.Run(title, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, _ *primitives.Mutex) {
				var first sync.Once
				w.renewal = func(ctx context.Context) (err error) {
					first.Do(func() { err = c.renewal(ctx, w) })
					return err
				}
				next := w.waits(t, w.client(t).NewMutex(name, &primitives.MutexOptions{Lease: time.Minute}))
				time.Sleep(2200 * time.Millisecond)
				require.NoError(t, held.Release(t.Context()))
				start := time.Now()
				lease := next()
				require.NoError(t, lease.Err())
				require.Less(t, time.Since(start), c.bound)
				require.Greater(t, lease.Remaining(), 3*time.Second)
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

// TestGrantByAReleaseIsRenewedEarly: half a second after a grant by a release, an outage of 13 s costs nothing,
// as for a lock. A hold that ends before is not renewed.
func TestGrantByAReleaseIsRenewedEarly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		var away atomic.Bool
		var renewals atomic.Int64
		w.renewal = func(ctx context.Context) error {
			renewals.Add(1)
			if away.Load() {
				<-ctx.Done()
				return backend.ErrIndeterminate
			}
			return nil
		}
		short, long := w.waits(t, other), w.waits(t, other)
		time.Sleep(2200 * time.Millisecond)
		require.NoError(t, held.Release(t.Context()))
		lease := short()
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, lease.Release(t.Context()))
		lease = long()
		require.Zero(t, renewals.Load())
		time.Sleep(510 * time.Millisecond)
		away.Store(true)
		time.Sleep(13 * time.Second)
		away.Store(false)
		time.Sleep(5 * time.Second)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestFixedLeaseIsWhole: a lease of a fixed length that a release granted, long after the waiter's last heartbeat, has
// its whole length when Lock returns, and nobody renews it then.
func TestFixedLeaseIsWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, _ *primitives.Mutex) {
		const length, believed = 20 * time.Second, 18 * time.Second // less the clock drift
		next := w.waits(t, w.client(t).NewMutex(name, &primitives.MutexOptions{Lease: length}))
		time.Sleep(2200 * time.Millisecond) // Since then it has not beaten.
		require.NoError(t, held.Release(t.Context()))
		lease := next()
		require.GreaterOrEqual(t, lease.Remaining(), believed)
		begin := time.Now()
		<-lease.Done()
		require.InDelta(t, believed.Seconds(), time.Since(begin).Seconds(), 0.1)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	})
}

// TestMutexTakesEachDriftThatALockTakes: a waiter that gets the mutex by a release trusts it, whatever the clock drift.
func TestMutexTakesEachDriftThatALockTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ watchdog, lease, drift time.Duration }{
		{0, 0, 4 * time.Second}, {0, 0, 6 * time.Second}, {0, 0, 14900 * time.Millisecond},
		{0, 12 * time.Second, 5900 * time.Millisecond}, {10 * time.Minute, 0, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := embedded.NewServer()
			mutex := func() *primitives.Mutex {
				client := cells.Over(t, must.Get(embedded.New(server, nil)), &primitives.Options{WatchdogLease: c.watchdog, ClockDrift: c.drift, PollInterval: time.Hour})
				return client.NewMutex(name, &primitives.MutexOptions{Lease: c.lease})
			}
			held := cells.Got(mutex().Lock(t.Context()))(t)
			got := make(chan *primitives.Lease, 1)
			next := mutex()
			go func() { got <- cells.Got(next.Lock(t.Context()))(t) }()
			time.Sleep(min(held.Remaining()-100*time.Millisecond, 75*time.Second))
			require.Equal(t, 1, cells.Number(t, server, "EXISTS", queue))
			require.NoError(t, held.Release(t.Context()))
			lease := <-got
			require.Greater(t, lease.Remaining(), c.drift/3)
			time.Sleep(time.Second)
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}
