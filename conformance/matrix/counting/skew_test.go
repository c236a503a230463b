package counting

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// What [TestLimitHoldsOverSkewedClocks] has: so many clients, each with a clock of its own, which is wrong by
// up to a skew.
const (
	skewedClients = 64
	skew          = 10 * time.Second
	limit         = 4
	timeout       = 10 * time.Second
	playFor       = 10 * time.Second
)

// acquireFunc waits until one client holds the semaphore. release ends the hold.
type acquireFunc func(t *testing.T) (release func())

// makeFunc makes one client of a semaphore whose clock is that.
type makeFunc func(t *testing.T, s *embedded.Server, clock func() time.Time) acquireFunc

// TestLimitHoldsOverSkewedClocks lets 64 clients whose clocks are wrong by up to 10 s, each by its own skew,
// contend for four slots. Ours never have more than four holders. The same play finds that the textbook's do,
// in both orders. It is in virtual time, in which links take up to a millisecond.
func TestLimitHoldsOverSkewedClocks(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for title, c := range map[string]struct {
		make makeFunc
		ours bool
	}{
		"ByTime":        {ours(primitives.ByTime), true},
		"ByArrival":     {ours(primitives.ByArrival), true},
		"Textbook":      {textbook(false), false},
		"TextbooksFair": {textbook(true), false},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				grants, most := play(t, c.make)
				t.Logf("%d grants, up to %d holders at a time", grants, most)
				require.Greater(t, grants, skewedClients)
				if c.ours {
					require.Equal(t, limit, most)
				} else {
					require.Greater(t, most, limit)
				}
			})
		})
	}
}

// play lets all clients come and go, and returns how often one was in, and how many were at a time.
func play(t *testing.T, make makeFunc) (grants, most int) {
	t.Helper()
	s := embedded.NewServer()
	var all sync.WaitGroup
	var mu sync.Mutex
	inside, end := 0, time.Now().Add(playFor)
	for range skewedClients {
		wrong := rand.N(2*skew) - skew //nolint:gosec // A schedule.
		acquire := make(t, s, func() time.Time { return time.Now().Add(wrong) })
		all.Go(func() {
			for time.Now().Before(end) {
				release := acquire(t)
				mu.Lock()
				inside++
				grants, most = grants+1, max(most, inside)
				mu.Unlock()
				time.Sleep(rand.N(time.Second)) //nolint:gosec // A schedule; far less than the timeout.
				mu.Lock()
				inside--
				mu.Unlock()
				release()
			}
		})
	}
	all.Wait()
	return grants, most
}

// textbook makes clients of the literature's semaphore.
func textbook(fair bool) makeFunc {
	return func(_ *testing.T, s *embedded.Server, clock func() time.Time) acquireFunc {
		n := &naive{server: s, limit: limit, timeout: timeout, clock: clock, fair: fair}
		return func(t *testing.T) func() {
			t.Helper()
			id := strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // A name.
			for !n.try(t, id) {
				time.Sleep(rand.N(500 * time.Millisecond)) //nolint:gosec // A schedule.
			}
			return func() { n.release(t, id) }
		}
	}
}

// ours makes clients of ours. They have no use for a clock: what they send says no time of day, so that
// nothing on the server can go by it.
func ours(order primitives.CountingOrder) makeFunc {
	return func(t *testing.T, s *embedded.Server, _ func() time.Time) acquireFunc {
		t.Helper()
		o := &primitives.CountingSemaphoreOptions{Order: order, Lease: timeout}
		sem := linked(t, s, nil).NewCountingSemaphore(name, limit, o)
		return func(t *testing.T) func() {
			t.Helper()
			lease, err := sem.Acquire(t.Context())
			if err != nil {
				t.Error(err)
				return func() {}
			}
			return func() {
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// linked returns a client of a server within the process, over a link that takes up to a millisecond. It
// fails if the client sends the time of day.
func linked(t *testing.T, s *embedded.Server, o *primitives.Options) *primitives.Client {
	t.Helper()
	b, err := embedded.New(s, nil)
	require.NoError(t, err)
	r := &cells.Runner{Backend: b}
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

// TestEachHasItsOwnTimeout has two holders with timeouts of their own: one who has a short one does not drop
// one who has a long one, as it does where scores are times of acquisition.
func TestEachHasItsOwnTimeout(t *testing.T) {
	t.Parallel()
	for title, order := range orders {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := linked(t, embedded.NewServer(), nil)
				of := func(lease time.Duration) *primitives.CountingSemaphore {
					return c.NewCountingSemaphore(name, 2, &primitives.CountingSemaphoreOptions{Order: order, Lease: lease})
				}
				_, err := of(time.Hour).TryAcquire(t.Context())
				require.NoError(t, err)
				_, err = of(time.Second).TryAcquire(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Minute)
				_, err = of(time.Second).TryAcquire(t.Context())
				require.NoError(t, err, "the short one has ended")
				_, err = of(time.Second).TryAcquire(t.Context())
				require.ErrorIs(t, err, primitives.ErrNotAcquired, "the long one has not")
			})
		})
	}
	t.Run("Textbook", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := embedded.NewServer()
			long := &naive{server: s, limit: 1, timeout: time.Hour, clock: time.Now}
			short := &naive{server: s, limit: 1, timeout: time.Second, clock: time.Now}
			require.True(t, long.try(t, "long"))
			time.Sleep(time.Minute)
			require.True(t, short.try(t, "short"), "that drops one who holds it for an hour")
		})
	})
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
		kept, err := long.TryAcquire(t.Context())
		require.NoError(t, err)
		dropped, err := short.TryAcquire(t.Context())
		require.NoError(t, err)
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
		holder, err := of(c, time.Hour).Acquire(t.Context())
		require.NoError(t, err)
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
		_, err = s.Do("EVAL", `for _, owner in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
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
	b, err := embedded.New(s, nil)
	require.NoError(t, err)
	r := &cells.Runner{Backend: b}
	var crashed atomic.Bool
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if crashed.Load() {
			return backend.Reply{}, backend.ErrUnavailable
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, nil), func() { crashed.Store(true) }
}
