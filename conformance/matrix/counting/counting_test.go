// Package counting has tests of counting semaphores in virtual time: clocks that disagree, and the ends of holds.
package counting

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
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

// name is that of the semaphore that the tests use.
const name = "counting"

// orders are both, by name.
var orders = map[string]primitives.CountingOrder{"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival}

// linked returns a client of a server within the process, over a link that takes up to a millisecond. It
// fails if the client sends the time of day.
func linked(t *testing.T, s *embedded.Server, o *primitives.Options) *primitives.Client {
	t.Helper()
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		for _, arg := range call.Args {
			if n, err := strconv.ParseFloat(arg, 64); err == nil && n > 1e8 {
				t.Errorf("%s sends %s", call.Script.Name, arg)
			}
		}
		time.Sleep(rand.N(time.Millisecond)) //nolint:gosec // A link.
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, o)
}

// TestEndedHoldIsNotRenewed has a holder ask for a whole lease again whose hold has ended by the server's clock,
// though not by its own: it is refused, also if nobody has taken the slot since.
func TestEndedHoldIsNotRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := embedded.NewServer()
		c := linked(t, s, nil)
		long := c.NewCountingSemaphore(name, 2, &primitives.CountingSemaphoreOptions{Lease: time.Hour})
		short := c.NewCountingSemaphore(name, 2, &primitives.CountingSemaphoreOptions{Lease: 10 * time.Second})
		kept, dropped := must.Get(long.TryAcquire(t.Context())), must.Get(short.TryAcquire(t.Context()))
		s.Advance(11 * time.Second)
		require.ErrorIs(t, short.Refresh(t.Context(), dropped), primitives.ErrLost)
		require.NoError(t, long.Refresh(t.Context(), kept))
	})
}

// TestClockSetBack sets the server's clock back by an hour while two crashed waiters are the first: they lose their
// places a waiter timeout, but at least 30 s, after the next try, and live waiters keep theirs.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := embedded.NewServer()
		of := func(c *primitives.Client, timeout time.Duration) *primitives.CountingSemaphore {
			return c.NewCountingSemaphore(name, 1,
				&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival, WaiterTimeout: timeout})
		}
		c := linked(t, s, nil)
		holder := cells.Got(of(c, time.Hour).Acquire(t.Context()))(t)
		order := make(chan int, 8)
		wait := func(c *primitives.Client, i int, timeout time.Duration) {
			go func() {
				lease, err := of(c, timeout).Acquire(t.Context())
				order <- i
				if err == nil {
					_ = lease.Release(t.Context())
				}
			}()
			time.Sleep(10 * time.Millisecond)
		}
		crashed, crash := crashing(t, s)
		for range 2 {
			wait(crashed, -1, time.Second)
		}
		crash()
		for i, timeout := range []time.Duration{10 * time.Second, time.Second, 10 * time.Hour, 2 * time.Second} {
			wait(c, i, timeout)
		}
		_, err := s.Do("EVAL", `for _, owner in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
			local by = tonumber(redis.call('zscore', KEYS[1], owner)) < 0 and -3600000 or 3600000
			redis.call('zincrby', KEYS[1], by, owner)
		end`, "1", name) // As if the clock had been set back.
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, holder.Release(t.Context()))
		for i := range 4 {
			require.Equal(t, i, <-order)
		}
		require.Less(t, time.Since(begin), 32*time.Second)
		require.GreaterOrEqual(t, time.Since(begin), 30*time.Second)
	})
}

// crashing returns a client of s, and what ends its link for good.
func crashing(t *testing.T, s *embedded.Server) (c *primitives.Client, crash func()) {
	t.Helper()
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	var crashed atomic.Bool
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if crashed.Load() {
			return backend.Reply{}, backend.ErrUnavailable
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, nil), func() { crashed.Store(true) }
}
