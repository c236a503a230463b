// Package semaphores has tests of counting and permit semaphores in virtual time: clocks that disagree, the ends of holds,
// names that share leases, and more permits than there are.
package semaphores

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
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

// name is that of the counting semaphore that the tests use.
const name = "counting"

// orders are both, by name.
var orders = map[string]primitives.CountingOrder{"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival}

// linked returns a client of a server within the process, over a link that takes up to a millisecond. It
// fails if the client sends the time of day.
func linked(t *testing.T, s *embedded.Server) *primitives.Client {
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
	return cells.Over(t, r, nil)
}

// TestEndedHoldIsNotRenewed has a holder ask for a whole lease again whose hold has ended by the server's clock,
// though not by its own: it is refused, also if nobody has taken the slot since.
func TestEndedHoldIsNotRenewed(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		s := embedded.NewServer()
		c := linked(t, s)
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
	for timeout, after := range map[time.Duration]time.Duration{time.Second: 30 * time.Second, time.Minute: time.Minute} {
		t.Run(timeout.String(), func(t *testing.T) { clockSetBack(t, timeout, after) })
	}
}

// clockSetBack has the two have that timeout, after which they lose their places.
func clockSetBack(t *testing.T, dead, after time.Duration) {
	t.Helper()
	cells.Bubble(t, func(t *testing.T) {
		s := embedded.NewServer()
		of := func(c *primitives.Client, timeout time.Duration) *primitives.CountingSemaphore {
			return c.NewCountingSemaphore(name, 1,
				&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival, WaiterTimeout: timeout})
		}
		c := linked(t, s)
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
			wait(crashed, -1, dead)
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
		require.Less(t, time.Since(begin), after*102/100+time.Second)
		require.GreaterOrEqual(t, time.Since(begin), after)
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

// TestHoldLastsItsLastMillisecond sets the server's clock to the very millisecond in which the holds end, just before a
// script asks for them: they are held still, whether one is released, or several by one script, or one is refreshed.
func TestHoldLastsItsLastMillisecond(t *testing.T) {
	t.Parallel()
	for title, order := range orders {
		for _, what := range []string{"Release", "ReleaseAll", "Refresh"} {
			t.Run(title+what, func(t *testing.T) {
				cells.Bubble(t, func(t *testing.T) {
					server, released := embedded.NewServer(), backend.Reply{}
					of := func(c *primitives.Client, lease time.Duration) *primitives.CountingSemaphore {
						return c.NewCountingSemaphore(name, 3, &primitives.CountingSemaphoreOptions{Order: order, Lease: lease})
					}
					must.Get(of(linked(t, server), time.Hour).TryAcquire(t.Context())) // The key ends later.
					r := &cells.Runner{Backend: must.Get(embedded.New(server, nil))}
					r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
						reply, err := r.Good(ctx, call)
						if strings.HasSuffix(call.Script.Name, "_release_all") {
							released = reply
						}
						return reply, err
					}
					c := cells.Over(t, r, nil)
					s := of(c, 10*time.Second)
					must.Get(s.TryAcquire(t.Context()))
					lease := must.Get(s.TryAcquire(t.Context()))
					server.Advance(time.Microsecond * time.Duration(cells.Number(t, server, "EVAL", `local t = redis.call('time')
						return redis.call('zrange', KEYS[1], 0, 0, 'withscores')[2] * 1000 - t[1] * 1000000 - t[2]`, "1", name)))
					switch what {
					case "Release":
						require.NoError(t, lease.Release(t.Context()))
					case "Refresh":
						require.NoError(t, s.Refresh(t.Context(), lease))
					default:
						require.NoError(t, c.Close(t.Context()))
						one := backend.IntegerReply(1)
						require.Equal(t, backend.ArrayReply([]backend.Reply{one, one}), released)
					}
				})
			})
		}
	}
}

// client returns a client of a server of its own.
func client(t *testing.T) *primitives.Client {
	t.Helper()
	return cells.Over(t, must.Get(embedded.New(embedded.NewServer(), nil)), nil)
}

// TestNamesInBracesTakeNoLeases: a name and the same in braces have one set of leases. Nothing that would make the one
// touches what the other has lent.
func TestNamesInBracesTakeNoLeases(t *testing.T) {
	t.Parallel()
	o := &primitives.PermitSemaphoreOptions{Permits: 2}
	for name, other := range map[string]string{"p": "{p}", "{p}": "p"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			s, twin := c.NewPermitSemaphore(name, o), c.NewPermitSemaphore(other, o)
			lease := cells.Got(s.Acquire(t.Context(), 2))(t)
			require.ErrorIs(t, cells.Err(twin.TryAcquire(t.Context(), 1)), primitives.ErrConflict)
			require.ErrorIs(t, cells.Err(twin.InitPermits(t.Context(), 5)), primitives.ErrConflict)
			require.ErrorIs(t, twin.SetPermits(t.Context(), 5), primitives.ErrConflict)
			require.ErrorIs(t, twin.AddPermits(t.Context(), 5), primitives.ErrConflict)
			require.NoError(t, lease.Release(t.Context()))
			cells.Want(t, 2)(s.AvailablePermits(t.Context()))
			cells.Want(t, 2)(s.TotalPermits(t.Context()))
			cells.Want(t, true)(s.Delete(t.Context()))
			require.NoError(t, cells.Err(twin.TryAcquire(t.Context(), 1)), "the other is gone")
		})
	}
	c := client(t)
	for _, name := range []string{"a{p}", "{p}b", "{a}{p}", "b{p}"} {
		require.NoError(t, cells.Err(c.NewPermitSemaphore(name, o).TryAcquire(t.Context(), 1)), name)
	}
}

// TestMorePermitsThanThereAre: to acquire more permits than a semaphore has is an error, and for who waits already,
// when its number is made smaller. It waits for as many as the option says, and where there are none at all.
func TestMorePermitsThanThereAre(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		c := client(t)
		plain, of3 := c.NewPermitSemaphore("x", nil), c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 3})
		_, err := of3.TryAcquire(t.Context(), 4)
		require.ErrorIs(t, err, primitives.ErrAboveTotal, "of a semaphore that it would make")
		cells.Want(t, 0)(plain.TotalPermits(t.Context()))

		cells.Want(t, true)(plain.InitPermits(t.Context(), 3))
		lease := cells.Got(plain.Acquire(t.Context(), 2))(t)
		require.ErrorIs(t, cells.Err(plain.Acquire(t.Context(), 4)), primitives.ErrAboveTotal)
		_, err = plain.TryAcquire(t.Context(), 3)
		require.ErrorIs(t, err, primitives.ErrNotAcquired, "there will be as many")

		waits := func(s *primitives.PermitSemaphore) <-chan error {
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			t.Cleanup(cancel)
			go func() {
				l, err := s.Acquire(ctx, 3)
				if err == nil {
					err = l.Release(ctx)
				}
				done <- err
			}()
			synctest.Wait()
			return done
		}
		gaveUp, stays := waits(plain), waits(of3)
		require.NoError(t, plain.SetPermits(t.Context(), 2))
		require.ErrorIs(t, <-gaveUp, primitives.ErrAboveTotal)
		require.NoError(t, plain.SetPermits(t.Context(), 0))
		paused := waits(plain)
		time.Sleep(time.Minute)
		require.Empty(t, stays)
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, plain.SetPermits(t.Context(), 3))
		require.NoError(t, <-stays)
		require.NoError(t, <-paused)
	})
}
