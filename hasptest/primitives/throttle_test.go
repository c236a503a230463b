package primitives_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// throttle is a throttle called x, and its server.
type throttle struct {
	*server
	*primitives.Throttle
	client *primitives.Client
	limit  primitives.Limit
}

// throttled runs a test of a throttle in virtual time.
func throttled(t *testing.T, limit primitives.Limit, run func(t *testing.T, x *throttle)) {
	t.Helper()
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		run(t, &throttle{s, c.NewThrottle("x", limit, refuse), c, limit})
	})
}

// allows fails unless n permits are granted.
func (x *throttle) allows(t *testing.T, n int) primitives.Decision {
	t.Helper()
	d := must(x.Allow(t.Context(), n))(t)
	require.True(t, d.Allowed, "%d of %+v: %+v", n, x.limit, d)
	require.Zero(t, d.RetryAfter)
	return d
}

// refuses fails unless n permits are refused.
func (x *throttle) refuses(t *testing.T, n int) primitives.Decision {
	t.Helper()
	d := must(x.Allow(t.Context(), n))(t)
	require.False(t, d.Allowed, "%d of %+v: %+v", n, x.limit, d)
	require.Positive(t, d.RetryAfter)
	return d
}

// ttl returns the TTL of the key.
func (x *throttle) ttl(t *testing.T) time.Duration {
	t.Helper()
	return time.Duration(must(strconv.ParseInt(x.do("PTTL", "x")[0], 10, 64))(t)) * time.Millisecond
}

// TestThrottleFreesOneAfterTheOther: a burst at once, then a permit at a time.
func TestThrottleFreesOneAfterTheOther(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 3, Interval: time.Second, Burst: 5}, func(t *testing.T, x *throttle) {
		state := must(x.State(t.Context()))(t)
		require.Equal(t, primitives.Decision{Allowed: true, Remaining: 5}, state)
		require.Equal(t, primitives.Decision{Allowed: true, Remaining: 3, ResetAfter: 666_667 * time.Microsecond}, x.allows(t, 2))
		x.allows(t, 3)
		third := 333_334 * time.Microsecond
		require.Equal(t, primitives.Decision{RetryAfter: third, NextAfter: third, ResetAfter: 1_666_667 * time.Microsecond}, x.refuses(t, 1))
		require.Equal(t, 666_667*time.Microsecond, x.refuses(t, 2).RetryAfter)
		state = must(x.State(t.Context()))(t)
		require.Equal(t, primitives.Decision{RetryAfter: third, NextAfter: third, ResetAfter: 1_666_667 * time.Microsecond}, state)
		time.Sleep(third)
		x.allows(t, 1)
		x.refuses(t, 1)
		require.True(t, must(x.Delete(t.Context()))(t))
		x.allows(t, 5)
	})
}

// TestThrottleAtTheEndsOfNumbers: the key exists for as long as permits are in use, and no longer.
func TestThrottleAtTheEndsOfNumbers(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, limit := range []primitives.Limit{
		{Permits: 1, Interval: day, Burst: 1},
		{Permits: 1, Interval: time.Millisecond, Burst: 1},
		{Permits: 1_000_000, Interval: time.Second, Burst: 1},
		{Permits: 1_000_000, Interval: time.Second, Burst: 1_000_000},
		{Permits: 10_000_000, Interval: time.Millisecond, Burst: 10_000_000},
		{Permits: 9_999_991, Interval: 366 * day, Burst: 10_000_000},
		{Permits: 1, Interval: 365 * day, Burst: 3},
		{Permits: 7, Interval: 1001 * time.Microsecond, Burst: 1},
		{Permits: 600_000, Interval: time.Second, Burst: 11},
	} {
		t.Run(fmt.Sprint(limit.Permits, " in ", limit.Interval, ", ", limit.Burst), func(t *testing.T) {
			throttled(t, limit, func(t *testing.T, x *throttle) {
				full := x.allows(t, limit.Burst)
				require.Zero(t, full.Remaining)
				exact := float64(limit.Interval) / float64(limit.Permits)
				require.InEpsilon(t, max(exact*float64(limit.Burst), 1000), full.ResetAfter, 0.999)
				require.LessOrEqual(t, full.ResetAfter, x.ttl(t))
				require.LessOrEqual(t, x.ttl(t), full.ResetAfter+2*time.Millisecond)
				again := x.refuses(t, 1)
				require.InDelta(t, max(exact, 1000), again.RetryAfter, 1000)
				time.Sleep(again.RetryAfter - time.Microsecond)
				if again.RetryAfter > time.Microsecond {
					x.refuses(t, 1)
				}
				time.Sleep(time.Microsecond)
				x.allows(t, 1)
				time.Sleep(full.ResetAfter + 2*time.Millisecond)
				require.Equal(t, []string{"0"}, x.do("EXISTS", "x"))
			})
		})
	}
}

// TestThrottleIsExact: of 1 000 rates that do not divide a million, k intervals have exactly k times the permits and a
// burst, if a caller takes all that it can get.
func TestThrottleIsExact(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, r := s.client(t, nil), rand.New(rand.NewPCG(46, 1)) //nolint:gosec // It is no secret.
		for i := range 1000 {
			permits := 1 + r.IntN(1_000_000)
			for 1_000_000%permits == 0 {
				permits++
			}
			limit := primitives.Limit{
				Permits: permits, Interval: time.Duration(1000+r.IntN(10_000_000)) * time.Microsecond, Burst: 1 + permits/2 + r.IntN(permits),
			}
			x := &throttle{s, c.NewThrottle(fmt.Sprint(i), limit, refuse), c, limit}
			k := 1 + r.IntN(3)
			require.Equal(t, k*permits+limit.Burst, x.takesAll(t, r, time.Duration(k)*limit.Interval), "%d intervals of %+v", k, limit)
		}
	})
}

// takesAll takes all permits that are free at random times, at the beginning and at the end of a window, and returns
// their number. In between the throttle is never full.
func (x *throttle) takesAll(t *testing.T, r *rand.Rand, window time.Duration) int {
	t.Helper()
	taken, begin := x.limit.Burst, time.Now()
	x.allows(t, taken)
	most := max(1, int(x.limit.Interval.Microseconds())*x.limit.Burst/x.limit.Permits)
	for left := window; left > 0; left = window - time.Since(begin) {
		time.Sleep(min(left, time.Duration(most/3+r.IntN(most-most/3))*time.Microsecond+time.Microsecond))
		state := must(x.State(t.Context()))(t)
		if state.Remaining < x.limit.Burst {
			require.Equal(t, state.Remaining, x.refuses(t, state.Remaining+1).Remaining)
		}
		if state.Remaining > 0 {
			require.Zero(t, x.allows(t, state.Remaining).Remaining)
			taken += state.Remaining
		}
	}
	return taken
}

// TestThrottleWithTheClockSet: the server's clock costs at most the time of a burst, and gives at most one burst.
func TestThrottleWithTheClockSet(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Second, Burst: 10}, func(t *testing.T, x *throttle) {
		x.allows(t, 10)
		x.embedded.Advance(-time.Hour)
		require.Equal(t, time.Second, must(x.State(t.Context()))(t).RetryAfter)
		require.Equal(t, time.Second, x.refuses(t, 1).RetryAfter)
		require.LessOrEqual(t, x.ttl(t), 10*time.Second+2*time.Millisecond)
		time.Sleep(time.Second)
		x.allows(t, 1)
		x.refuses(t, 1)
		x.embedded.Advance(-time.Second)
		require.Equal(t, 10*time.Second, x.refuses(t, 10).RetryAfter)
		x.embedded.Advance(time.Hour)
		x.allows(t, 10)
		x.refuses(t, 1)
	})
}

// noThrottles are texts of other programs, for throttles of three permits.
var noThrottles = []string{
	"", " ", "7", "1 2", "x", "1 2 x", "1 2 3 x", "1 2 3 4", "1 2 3 0", "1 2 3 3 3", "1 2 3 4 3", "1 2 3 0 0", "1 2 3 1 3 1",
	"1 2 3  3", "1 2 3  5", "1 2 3 ", "1 2 3  ", "1 2 3 1 ", "1 2 3 1 3 ", " 1 2 3", "1  2 3", "1 2  3", "1 2 3   3", "1 2 3\n", "1\t2 3", "1 2 3\x00",
	"-1 2 5", "1 -2 5", "1 2 -5", "+1 2 3", "1 2 3 -1 3", "1 2 3 1 -3", "1 1.5 2", "1 2 3.0", "1 2 3 1 3.0", "1e5 2 3", "1 2 1e5", "1 2 3 1 1e5",
	"0x1 2 3", "1 2 0x3", "1 2 3 1 0x3", "nan 2 3", "1 2 nan", "1 2 3 1 nan", "inf 2 3", "1 inf 3", "1 2 inf", "1 2 3 1 inf", "1 2 94608000000001",
	nines + " 2 3", "1 " + nines + " 3", "1 2 " + nines, "1 2 3 " + nines + " 3", "1 2 3 1 " + nines, "1 2 3 " + nines + " " + nines, nines, "1 1000000 3",
}

// nines are a number beyond those that Lua has.
var nines = strings.Repeat("9", 400)

// TestThrottleOverAnotherText: a text of another program is a conflict for each method, and stays.
func TestThrottleOverAnotherText(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 3, Interval: time.Second}, func(t *testing.T, x *throttle) {
		other := x.client.NewThrottle("y", primitives.Limit{Permits: 5, Interval: time.Second}, refuse)
		both := primitives.NewMultiThrottle(nil, other.Take(1), x.Take(1))
		admission := primitives.NewAdmission(x.client.NewCountingSemaphore("z", 1, nil), x.Take(1))
		r, _, err := x.AllowEstimate(t.Context(), 2)
		require.NoError(t, err)
		for _, text := range noThrottles {
			x.do("SET", "x", text)
			_, allow := x.Allow(t.Context(), 1)
			_, state := x.State(t.Context())
			_, multi := both.Allow(t.Context())
			_, admit := admission.TryAcquire(t.Context())
			for _, err := range []error{allow, state, multi, admit} {
				require.ErrorIs(t, err, primitives.ErrConflict, text)
			}
			require.Equal(t, []string{text}, x.do("GET", "x"))
		}
		require.ErrorIs(t, r.Settle(t.Context(), 1), primitives.ErrConflict)
		require.Equal(t, "0", x.do("EXISTS", "y", "z")[0])
	})
}

// waits has a caller wait for n permits, who comes after all earlier ones. It sends its number when it was granted.
func (x *throttle) waits(ctx context.Context, granted chan<- int, number, n int) {
	go func() {
		if x.Wait(ctx, n) == nil {
			granted <- number
		}
	}()
	synctest.Wait()
}

// TestThrottleWaitersGoOnInOrder: each at its time, by one command, whatever it needs; a newcomer stands behind them.
func TestThrottleWaitersGoOnInOrder(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 10, Interval: time.Second, Burst: 5}, func(t *testing.T, x *throttle) {
		begin, granted, needs := time.Now(), make(chan int, 200), 0
		x.allows(t, 5)
		for i := range 100 {
			x.waits(t.Context(), granted, i, 1+i%5)
		}
		for i := range 100 {
			require.Equal(t, i, <-granted)
			needs += 1 + i%5
			require.Equal(t, time.Duration(needs)*100*time.Millisecond, time.Since(begin), "waiter %d", i)
			if i < 50 {
				x.waits(t.Context(), granted, 100+i, 1) // Its permit would be free before the next waiter's.
			}
		}
		for i := range 50 {
			require.Equal(t, 100+i, <-granted)
		}
		require.Equal(t, 1+1+150, x.called("throttle_take"), "only the burst, and the first refusal")
		require.Zero(t, x.subscribed())
	})
}

// TestThrottleWaitersOfALongBurst: permits that are free at once wake as many waiters at once.
func TestThrottleWaitersOfALongBurst(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 10, Interval: time.Second, Burst: 50}, func(t *testing.T, x *throttle) {
		x.allows(t, 50)
		begin, granted := time.Now(), make(chan int, 100)
		for i := range 100 {
			x.waits(t.Context(), granted, i, 1)
		}
		// In the two seconds of each answer 20 permits become free.
		x.faults(fault{before: time.Second, after: time.Second})
		for range 100 {
			<-granted
		}
		require.Less(t, time.Since(begin), 20*time.Second) // The rate takes 10 s; one waiter after the other, 200 s.
		require.Equal(t, 1+1+100, x.called("throttle_take"))
	})
}

// TestThrottleWaiterThatLeaves: it has taken nothing, and holds up nobody.
func TestThrottleWaiterThatLeaves(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Second, Burst: 10}, func(t *testing.T, x *throttle) {
		begin, granted := time.Now(), make(chan int, 2)
		x.allows(t, 10)
		ctx, cancel := context.WithCancel(t.Context())
		x.waits(ctx, granted, 1, 10)
		x.waits(t.Context(), granted, 2, 1)
		time.Sleep(500 * time.Millisecond)
		cancel()
		require.Equal(t, 2, <-granted)
		require.Equal(t, time.Second, time.Since(begin))
		require.Equal(t, 10*time.Second, must(x.State(t.Context()))(t).ResetAfter)
	})
}

// TestThrottleWaitersInAnOutage: a waiter behind a refused waiter waits through an outage, too. A waiter
// fails if the waiter before it gets no answer.
func TestThrottleWaitersInAnOutage(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Second}, func(t *testing.T, x *throttle) {
		wait := func(d time.Duration) <-chan error {
			ctx := within(t, d)
			defer synctest.Wait()
			return beside(func() error { return x.Wait(ctx, 1) })
		}
		x.allows(t, 1)
		first, second, third := wait(10*time.Second), wait(20*time.Second), wait(time.Hour)
		x.faults(down)
		for _, left := range []<-chan error{first, second} {
			wraps(t, <-left, context.DeadlineExceeded, primitives.ErrUnavailable)
		}
		x.faults(fault{})
		require.NoError(t, <-third)
		x.faults(fault{before: time.Second, after: time.Second, err: backend.ErrUnavailable})
		first, second = wait(time.Hour), wait(time.Hour)
		require.ErrorIs(t, <-first, primitives.ErrUnavailable)
		require.ErrorIs(t, <-second, primitives.ErrUnavailable)
	})
}

// TestThrottleWaiterWithoutAnAnswer: a waiter that leaves while it asks, and one whose call fails, let the next go on.
func TestThrottleWaiterWithoutAnAnswer(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Second}, func(t *testing.T, x *throttle) {
		granted := make(chan int, 2)
		x.allows(t, 1)
		ctx := within(t, 1005*time.Millisecond)
		left := beside(func() error { return x.Wait(ctx, 1) })
		synctest.Wait()
		x.waits(t.Context(), granted, 1, 1)
		x.faults(fault{before: 20 * time.Millisecond})
		err := <-left
		wraps(t, err, context.DeadlineExceeded, backend.ErrIndeterminate)
		require.Equal(t, 1, <-granted)
		failed := &backend.ServerError{Code: "ERR", Message: "ERR x"}
		x.faults(fault{})
		left = beside(func() error { return x.Wait(t.Context(), 1) })
		synctest.Wait()
		x.waits(t.Context(), granted, 2, 1)
		x.once("", fault{err: failed})
		require.ErrorIs(t, <-left, failed)
		require.Equal(t, 2, <-granted)
	})
}
