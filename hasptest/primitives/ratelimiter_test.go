package primitives_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/primitives"
)

// acquireRate has callers of a client acquire, each so many permits as its number says, and returns how long
// each took, in the order of their grants.
func acquireRate(ctx context.Context, c *primitives.Client, needs ...int) <-chan time.Duration {
	begin, took := time.Now(), make(chan time.Duration, len(needs))
	for _, n := range needs {
		go func() {
			if c.NewRateLimiter("x", primitives.Rate{}, rateRefuse).Wait(ctx, n) == nil {
				took <- time.Since(begin)
			}
		}()
	}
	return took
}

// ones are so many callers who need one permit.
func ones(n int) []int {
	needs := make([]int, n)
	for i := range needs {
		needs[i] = 1
	}
	return needs
}

// TestRateLimiterServesAll: of 100 callers at one permit a second all are served, each in its second, and
// none asks without need. Redisson's issues 1524, 1659 and 6959: callers blocked for ever.
func TestRateLimiterServesAll(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		l := s.limit("x", 1, time.Second)
		took := acquireRate(t.Context(), s.client(t, nil), ones(100)...)
		time.Sleep(500 * time.Millisecond) // All have looked, and wait.
		before := s.called("rate_acquire")
		for i := range 100 {
			ideal, got := time.Duration(i)*time.Second, <-took
			require.GreaterOrEqual(t, got, ideal)
			// A millisecond is the loop's own for each grant.
			require.LessOrEqual(t, got, ideal+time.Duration(2*i)*time.Millisecond)
		}
		require.Equal(t, 1, l.most())
		require.LessOrEqual(t, s.called("rate_acquire")-before, 99+20, "one for each grant, and some polls")
	})
}

// TestRateLimiterWakesFewAtOnce: of many waiters as many go on as there are permits, by not many more tries.
func TestRateLimiterWakesFewAtOnce(t *testing.T) {
	t.Parallel()
	for clients, tries := range map[int]int{1: 2, 10: 4} {
		subtest(t, fmt.Sprint(clients), func(t *testing.T, s *server) {
			const waiters, rounds = 500, 5
			s.fault = func(string) fault { return fault{after: 2 * time.Millisecond} } // They overlap.
			l := s.limit("x", waiters/rounds, time.Minute)
			var took []<-chan time.Duration
			for range clients {
				took = append(took, acquireRate(t.Context(), s.client(t, nil), ones(waiters/clients)...))
			}
			time.Sleep(time.Second) // The first are in, the others wait.
			before := s.called("rate_acquire")
			for i := range waiters {
				require.Less(t, <-took[i%clients], rounds*time.Minute)
			}
			require.Equal(t, waiters/rounds, l.most())
			again := s.called("rate_acquire") - before
			polls := clients * rounds * 15
			t.Logf("%d waiters of %d clients: %d tries again", waiters, clients, again)
			require.LessOrEqual(t, again, tries*waiters+polls)
		})
	}
}

// TestRateLimiterServesMixedNeeds: one who needs many permits holds up none who needs few, and gets them
// once nobody else takes any.
func TestRateLimiterServesMixedNeeds(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		l := s.limit("x", 10, time.Second)
		c := s.client(t, &primitives.Options{PollInterval: time.Hour})
		limiter := c.NewRateLimiter("x", primitives.Rate{}, rateRefuse)
		for range 10 { // One permit is free again each 100 ms.
			require.NoError(t, limiter.Wait(t.Context(), 1))
			time.Sleep(100 * time.Millisecond)
		}
		require.NoError(t, limiter.Wait(t.Context(), 1)) // What is free now.
		many := acquireRate(t.Context(), c, 10)
		time.Sleep(time.Millisecond)
		few := acquireRate(t.Context(), c, 1, 2)
		require.InDelta(t, 100*time.Millisecond, <-few, float64(10*time.Millisecond))
		require.InDelta(t, 300*time.Millisecond, <-few, float64(10*time.Millisecond))
		require.InDelta(t, 1300*time.Millisecond, <-many, float64(10*time.Millisecond))
		require.Equal(t, 10, l.most())
	})
}

// TestRateLimiterDecides: an answer says what is free, when as much is free again, and when all are, at most. A limiter
// without a rate of its own does not know the interval, but State asks for it.
func TestRateLimiterDecides(t *testing.T) {
	t.Parallel()
	for _, rate := range []primitives.Rate{{}, {Permits: 5, Interval: time.Second}, {Permits: 9, Interval: time.Minute}} {
		subtest(t, fmt.Sprint(rate.Permits), func(t *testing.T, s *server) {
			s.limit("x", 5, time.Second)
			limiter := s.client(t, nil).NewRateLimiter("x", rate, rateRefuse)
			allow := func(n int) primitives.Decision {
				d := must(limiter.Allow(t.Context(), n))(t)
				require.Equal(t, max(d.NextAfter, min(rate.Interval, time.Second)), d.ResetAfter)
				d.ResetAfter = 0
				return d
			}
			state := func() primitives.Decision { return must(limiter.State(t.Context()))(t) }
			require.Equal(t, primitives.Decision{Allowed: true, Remaining: 5}, state())
			require.Equal(t, primitives.Decision{Allowed: true, Remaining: 3}, allow(2))
			time.Sleep(100 * time.Millisecond)
			require.Equal(t, primitives.Decision{Allowed: true, Remaining: 1, NextAfter: 900 * time.Millisecond}, allow(2))
			time.Sleep(100 * time.Millisecond)
			in := 800 * time.Millisecond
			require.Equal(t, primitives.Decision{Remaining: 1, RetryAfter: in, NextAfter: in}, allow(2))
			require.Equal(t, primitives.Decision{Allowed: true, Remaining: 1, ResetAfter: time.Second}, state())
			require.Equal(t, primitives.Decision{Allowed: true, NextAfter: in}, allow(1))
			require.Equal(t, primitives.Decision{RetryAfter: in, NextAfter: in, ResetAfter: time.Second}, state())
		})
	}
}

// TestRateLimiterOfManyPermits: a client warns of the first rate with more than 5 000 permits.
func TestRateLimiterOfManyPermits(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		log, logged := observer.New(zap.WarnLevel)
		c := s.client(t, &primitives.Options{Logger: zap.New(log)})
		for i, permits := range []int{5000, 5001, 6000, 7000} {
			rate := primitives.Rate{Permits: permits, Interval: time.Hour}
			l := c.NewRateLimiter(fmt.Sprint(i), rate, rateRefuse)
			require.NoError(t, allowed(l.Allow(t.Context(), 1)))
			require.NoError(t, l.SetRate(t.Context(), rate))
		}
		require.Len(t, logged.All(), 1)
		require.EqualValues(t, 5001, logged.All()[0].ContextMap()["permits"])
	})
}

var update = flag.Bool("update", false, "write docs/pictures/rates.times")

// TestRatesPicture: the picture of docs/choosing.md shows which of the same arrivals each limiter of 20 in 10 s grants, in
// tenths of seconds: a client asks each 0.1 s, but for ten seconds of silence.
func TestRatesPicture(t *testing.T) {
	t.Parallel()
	const file = "../../docs/pictures/rates.times"
	var drawn strings.Builder
	synctest.Test(t, func(t *testing.T) {
		c := newServer(t).client(t, nil)
		limiter := c.NewRateLimiter("limiter", primitives.Rate{Permits: 20, Interval: 10 * time.Second}, rateRefuse)
		throttle := func(burst int) *primitives.Throttle {
			return c.NewThrottle(fmt.Sprint(burst), primitives.Limit{Permits: 20, Interval: 10 * time.Second, Burst: burst}, refuse)
		}
		allow := func(ask func(context.Context, int) (primitives.Decision, error)) func() bool {
			return func() bool { return must(ask(t.Context(), 1))(t).Allowed }
		}
		granted := make([]string, 4)
		limiters := []func() bool{
			func() bool { return true }, allow(limiter.Allow), allow(throttle(1).Allow), allow(throttle(20).Allow),
		}
		for tenth := range 300 {
			for i, limiter := range limiters {
				if (tenth < 120 || tenth >= 220) && limiter() {
					granted[i] += fmt.Sprint(" ", tenth)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		for i, name := range []string{"arrivals", "RateLimiter", "Throttle, Burst: 1", "Throttle, Burst: 20"} {
			fmt.Fprintf(&drawn, "%s|%s\n", name, strings.TrimSpace(granted[i]))
		}
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(drawn.String()), 0o600))
	}
	text := must(os.ReadFile(file))(t)
	require.Equal(t, drawn.String(), string(text), "run go test -run TestRatesPicture -update . and docs/pictures/draw all")
}

// TestGrantsOfAnotherModeDoNotCount: also not of the mode that the limiter had before.
func TestGrantsOfAnotherModeDoNotCount(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		limiter := s.client(t, nil).NewRateLimiter("x", primitives.Rate{}, rateRefuse)
		for range 2 {
			for _, mode := range []primitives.RateMode{primitives.RateOverall, primitives.RatePerClient} {
				require.NoError(t, limiter.SetRate(t.Context(), primitives.Rate{Permits: 3, Interval: time.Hour, Mode: mode}))
				require.Equal(t, 3, must(limiter.State(t.Context()))(t).Remaining)
				require.NoError(t, allowed(limiter.Allow(t.Context(), 2)))
			}
		}
	})
}

// TestRateIsSet: by InitRate if there is none, by UpdateRate if there is one, and by SetRate always.
func TestRateIsSet(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		limiter, ctx := s.client(t, nil).NewRateLimiter("x", primitives.Rate{}, rateRefuse), t.Context()
		rate := func(permits int) primitives.Rate { return primitives.Rate{Permits: permits, Interval: time.Hour} }
		require.False(t, must(limiter.UpdateRate(ctx, rate(1)))(t))
		require.ErrorIs(t, errOf(limiter.Rate(ctx)), primitives.ErrNoRate)
		require.Equal(t, []bool{true, false}, []bool{must(limiter.InitRate(ctx, rate(2)))(t), must(limiter.InitRate(ctx, rate(3)))(t)})
		require.Equal(t, 2, must(limiter.Rate(ctx))(t).Permits)
		require.True(t, must(limiter.UpdateRate(ctx, rate(4)))(t))
		require.Equal(t, 4, must(limiter.Rate(ctx))(t).Permits)
		require.NoError(t, limiter.SetRate(ctx, rate(5)))
		require.Equal(t, 5, must(limiter.Rate(ctx))(t).Permits)
	})
}

// TestRateLimiterWithAWrongNumber: each call fails if a field of the limiter's hash holds no valid number. The greatest valid
// number works.
func TestRateLimiterWithAWrongNumber(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		l := c.NewRateLimiter("x", primitives.Rate{}, rateRefuse)
		for field, most := range map[string][]string{
			"rate": {"2147483648", "2147483647"}, "interval": {"9223372036855", "9223372036854"}, "keepAliveTime": {"9223372036855", "9223372036854"},
		} {
			for i, text := range append([]string{"", "x", "-1", "1.5"}, most...) {
				s.do("HSET", "x", "rate", "1", "interval", "1000", "type", "0", "keepAliveTime", "1000", field, text)
				require.Equal(t, i < 5, errors.Is(errOf(l.State(t.Context())), primitives.ErrConflict), "%s of %q", field, text)
			}
		}
	})
}
