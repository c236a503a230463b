// Package mutex has tests of mutexes in virtual time: the order of arrival, messages that are lost, and waiters and
// holders that die.
package mutex

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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

func numeral(n int64) string { return strconv.FormatInt(n, 10) }

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
	cells.Text(t, w, "ZADD", queue, numeral(time.Now().UnixMicro()), owner)
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
	var halted atomic.Bool
	w := &world{Server: embedded.NewServer(), halting: func(int64) bool { return halted.Load() }}
	holder, other := w.client(t), w.client(t).NewMutex(name, nil)
	held := cells.Got(holder.NewMutex(name, nil).Lock(t.Context()))(t)
	for i := range dead {
		w.ghost(t, "gone.10000:"+numeral(int64(i)))
	}
	got := w.waits(t, other)
	time.Sleep(7 * time.Second)
	go func() { _, _ = holder.NewMutex(name, nil).Lock(t.Context()) }() // Close gives two back together.
	time.Sleep(100 * time.Millisecond)
	halted.Store(true) // Or a beat would pass the rest.
	end(t, held, holder)
	time.Sleep(20 * time.Millisecond) // Release leaves the rest to the background.
	require.Equal(t, 1, cells.Number(t, w.Server, "EXISTS", key))
	halted.Store(false)
	lease := got()
	require.NoError(t, holder.Close(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
	time.Sleep(time.Second)
	require.Zero(t, cells.Number(t, w.Server, "EXISTS", key, queue, signs))
}

// TestWaiterThatComesBackIsAlive: a waiter whose place was lost returns to it, and the next release passes it at once, although
// it came long ago.
func TestWaiterThatComesBackIsAlive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		got := w.waits(t, other)
		time.Sleep(20 * time.Second)
		cells.Number(t, w, "DEL", queue, signs)
		for cells.Number(t, w, "ZCARD", queue) == 0 {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, held.Release(t.Context()))
		require.Equal(t, 1, cells.Number(t, w, "EXISTS", key), "it was granted")
		require.NoError(t, got().Release(t.Context()))
	})
}

// TestGrantOfALostCallerIsGivenBack: a grant for one of the client's owners that nobody waits with is released
// as soon as its message comes.
func TestGrantOfALostCallerIsGivenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		first := w.waits(t, other)
		group, _, _ := strings.Cut(cells.Texts(t, w, "ZRANGE", queue, "0", "-1")[0], ":")
		w.ghost(t, group+":1")
		second := w.waits(t, w.client(t).NewMutex(name, nil))
		start := time.Now()
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, first().Release(t.Context()))
		lease := second()
		require.Less(t, time.Since(start), 100*time.Millisecond)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestSecondMessageIsIgnored: a message that comes twice releases nothing.
func TestSecondMessageIsIgnored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		got := w.waits(t, other)
		require.NoError(t, held.Release(t.Context()))
		lease := got()
		group, _, _ := strings.Cut(lease.Owner(), ":")
		cells.Text(t, w, "PUBLISH", key+":granted:"+group, lease.Owner()+" "+numeral(lease.Token())+" 0")
		time.Sleep(100 * time.Millisecond)
		cells.Want(t, true)(other.IsHeldBy(t.Context(), lease.Owner()))
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLostMessageIsFound: a waiter whose message is lost has the mutex by its next beat. After two of these it
// beats twenty times as often.
func TestLostMessageIsFound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		w.deaf = true
		var waiting []func() *primitives.Lease
		for range 5 {
			waiting = append(waiting, w.waits(t, other))
		}
		for i, next := range waiting {
			bound := 3 * time.Second
			if i >= 2 {
				bound = 200 * time.Millisecond
			}
			start := time.Now()
			require.NoError(t, held.Release(t.Context()))
			held = next()
			require.Less(t, time.Since(start), bound, i)
		}
		require.NoError(t, held.Release(t.Context()))
	})
}

// TestLostTokenIsReplaced: a waiter that was granted the mutex, and whose message and token are lost, has a token all
// the same, higher than the one before: from its next beat, and from its acquire, if that comes late.
func TestLostTokenIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		w.deaf = true
		for _, lost := range [][]string{{"DEL", tokenKey}, {"SET", tokenKey, "0"}} {
			got := w.waits(t, other)
			acquire := *w.acquire.Load()
			require.NoError(t, held.Release(t.Context()))
			cells.Text(t, w, lost...)
			lease := got()
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

// TestDeadHolderIsFollowed: when the holder's lease ends on the server without a release, the next one is in
// within 50 ms.
func TestDeadHolderIsFollowed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world, _ *primitives.Lease, other *primitives.Mutex) {
		cells.Text(t, w, "SET", key, "gone.10000:1", "PX", "4321")
		start := time.Now()
		lease := w.waits(t, other)()
		took := time.Since(start)
		require.Greater(t, took, 4320*time.Millisecond)
		require.Less(t, took, 4321*time.Millisecond+55*time.Millisecond)
		require.NoError(t, lease.Release(t.Context()))
	})
}
