// Package mutex has tests of mutexes in virtual time: dead waiters, however many, lost tokens, and leases of a fixed length.
package mutex

import (
	"context"
	"fmt"
	"os"
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

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The mutex that the tests use, and its keys.
const (
	name     = "shared"
	key      = "hasp_mutex:{shared}"
	queue    = key + ":queue"
	signs    = key + ":signs"
	tokenKey = key + ":token"
)

// world is a server in virtual time, and what its clients' links lose.
type world struct {
	*embedded.Server
	deaf    bool                         // messages
	halted  atomic.Bool                  // beats
	acquire atomic.Pointer[backend.Call] // the last one
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
			if w.halted.Load() {
				<-ctx.Done()
				return backend.Reply{}, backend.ErrUnavailable
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

// inWorld runs a test in virtual time, with a mutex of one client that holds it, and one of another client.
func inWorld(t *testing.T, run func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex)) {
	t.Helper()
	cells.Bubble(t, func(t *testing.T) {
		w := &world{Server: embedded.NewServer()}
		held := cells.Got(w.client(t).NewMutex(name, nil).Lock(t.Context()))(t)
		run(t, w, held, w.client(t).NewMutex(name, nil))
	})
}

// ghost puts one into the queue of whom nobody hears again, as of a process that was killed.
func (w *world) ghost(t *testing.T, owner string) {
	t.Helper()
	cells.Text(t, w, "ZADD", queue, fmt.Sprint(time.Now().UnixMicro()), owner)
}

// TestDeadWaitersArePassed: who was silent for two thirds of ten seconds is not granted the mutex, nor are 1 500
// others, by a release, by force, or if a closed client's hold and waiter are given back together.
func TestDeadWaitersArePassed(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, held *primitives.Lease, holder *primitives.Client){
		"Release": func(t *testing.T, held *primitives.Lease, _ *primitives.Client) {
			require.NoError(t, held.Release(t.Context()))
		},
		"Force": func(t *testing.T, _ *primitives.Lease, holder *primitives.Client) {
			cells.Want(t, true)(holder.NewMutex(name, nil).ForceUnlock(t.Context()))
		},
		"Close": func(t *testing.T, _ *primitives.Lease, holder *primitives.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, cells.Err(holder.NewMutex(name, nil).Lock(ctx)), context.DeadlineExceeded)
			time.Sleep(time.Millisecond) // It has been given back: what follows within 2 ms waits, to go together.
			require.NoError(t, holder.Close(t.Context()))
		},
	}
	for title, end := range ends {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for _, dead := range []int{1, 2500} {
				synctest.Test(t, func(t *testing.T) { passDead(t, dead, end) })
			}
		})
	}
}

func passDead(t *testing.T, dead int, end func(*testing.T, *primitives.Lease, *primitives.Client)) {
	t.Helper()
	w := &world{Server: embedded.NewServer()}
	holder, other := w.client(t), w.client(t).NewMutex(name, nil)
	held := cells.Got(holder.NewMutex(name, nil).Lock(t.Context()))(t)
	for i := range dead {
		w.ghost(t, "gone.10000:"+fmt.Sprint(i))
	}
	got := w.waits(t, other)
	time.Sleep(7 * time.Second)
	go func() { _, _ = holder.NewMutex(name, nil).Lock(t.Context()) }() // Close gives two back together.
	time.Sleep(100 * time.Millisecond)
	w.halted.Store(true) // Or a beat would pass the rest.
	end(t, held, holder)
	time.Sleep(20 * time.Millisecond) // Release leaves the rest to the background.
	require.Equal(t, 1, cells.Number(t, w.Server, "EXISTS", key))
	w.halted.Store(false)
	lease := got()
	require.NoError(t, holder.Close(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
	time.Sleep(time.Second)
	require.Zero(t, cells.Number(t, w.Server, "EXISTS", key, queue, signs))
}

// TestLostTokenIsReplaced: a waiter that was granted the mutex, and whose message and token are lost, has a token all
// the same, higher than the one before: from its next beat, and from its acquire, if that comes late. After two lost
// messages it beats twenty times as often.
func TestLostTokenIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		w.deaf = true
		for i, lost := range [][]string{{"DEL", tokenKey}, {"SET", tokenKey, "0"}, {"DEL", tokenKey}} {
			got := w.waits(t, other)
			acquire := *w.acquire.Load()
			require.NoError(t, held.Release(t.Context()))
			cells.Text(t, w, lost...)
			start := time.Now()
			lease := got()
			require.Less(t, time.Since(start), []time.Duration{3000, 3000, 200}[i]*time.Millisecond)
			require.Greater(t, lease.Token(), held.Token())
			cells.Text(t, w, lost...)
			time.Sleep(time.Millisecond)
			b := must.Get(embedded.New(w.Server, nil))
			late := must.Get(b.Run(t.Context(), acquire.Script, acquire.Keys, acquire.Args))
			require.Greater(t, must.Get(late.Int()), lease.Token())
			held = lease
		}
		require.NoError(t, held.Release(t.Context()))
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
