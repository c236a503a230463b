package primitives_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// perInterval is how many permits the limits of this file free in a second; it is their burst, too.
const perInterval = 10

// limiter limits a rate: it takes permits if they are free, and gives some back, if it can, of those taken last.
type limiter struct {
	take     func(ctx context.Context, n int) bool
	giveBack func(ctx context.Context, n int) error
}

// tenASecond is the limit of the throttles.
var tenASecond = primitives.Limit{Permits: perInterval, Interval: time.Second}

// limiters are the kinds of objects that limit a rate, by their names and by how they are asked.
var limiters = map[string]func(c *primitives.Client) limiter{
	"RateLimiter":            func(c *primitives.Client) limiter { return rateLimiter(c, primitives.RateOverall) },
	"RateLimiter per client": func(c *primitives.Client) limiter { return rateLimiter(c, primitives.RatePerClient) },
	"Throttle": func(c *primitives.Client) limiter {
		l := c.NewThrottle("throttle", tenASecond, refuse)
		return limiter{take: func(ctx context.Context, n int) bool { return allowed(l.Allow(ctx, n)) == nil }}
	},
	"Throttle estimated": func(c *primitives.Client) limiter {
		l, last := c.NewThrottle("throttle", tenASecond, refuse), (*primitives.Estimate)(nil)
		return limiter{func(ctx context.Context, n int) bool {
			e, _, err := l.AllowEstimate(ctx, n)
			last = cmp.Or(e, last)
			return err == nil && e != nil
		}, func(ctx context.Context, n int) error { return last.Settle(ctx, perInterval-n) }}
	},
	"MultiThrottle": func(c *primitives.Client) limiter {
		l := primitives.NewMultiThrottle(nil, c.NewThrottle("{x}one", tenASecond, refuse).Take(1), c.NewThrottle("{x}other", tenASecond, refuse).Take(1))
		return limiter{take: func(ctx context.Context, n int) bool {
			if n > 1 {
				return false
			}
			d, err := l.Allow(ctx)
			return err == nil && d.Allowed
		}}
	},
	"Admission": func(c *primitives.Client) limiter {
		l := primitives.NewAdmission(c.NewCountingSemaphore("slots", 1000, nil), c.NewThrottle("throttle", tenASecond, refuse).Take(1))
		return limiter{take: func(ctx context.Context, n int) bool { return n == 1 && use(ctx, l) == nil }}
	},
}

func rateLimiter(c *primitives.Client, mode primitives.RateMode) limiter {
	l := c.NewRateLimiter("rate", primitives.Rate{
		Permits: perInterval, Interval: time.Second, Mode: mode, KeepAlive: 24 * time.Hour,
	}, rateRefuse)
	return limiter{func(ctx context.Context, n int) bool { return allowed(l.Allow(ctx, n)) == nil }, l.Return}
}

// clockSteps are how far a server's clock is set: by less than an interval of a second or a lease of 30, by more, and by
// much more.
var clockSteps = []time.Duration{
	-5 * time.Minute, -31 * time.Second, -1500 * time.Millisecond, -300 * time.Millisecond,
	300 * time.Millisecond, 1500 * time.Millisecond, 31 * time.Second, 5 * time.Minute,
}

// TestLimitsWithTheClockSet: between any two calls the server's clock is set. Set back, each limit grants no more than
// without that; set forward, one burst more at most. An interval after the next call all permits are free again.
func TestLimitsWithTheClockSet(t *testing.T) {
	t.Parallel()
	virtually := func(name string, step time.Duration, before int) {
		subtest(t, fmt.Sprint(name, step, before), func(t *testing.T, s *server) {
			l := limiters[name](s.client(t, nil))
			most := perInterval
			if step > 0 {
				most += perInterval
			}
			net := takeAll(t, l)
			require.Equal(t, perInterval, net)
			for call := range 3 {
				if call == before {
					s.embedded.Advance(step)
				}
				if call == 0 && l.giveBack != nil {
					require.NoError(t, l.giveBack(t.Context(), 3))
					net -= 3
				} else {
					net += takeAll(t, l)
				}
			}
			require.LessOrEqual(t, net, most, "at once")
			require.GreaterOrEqual(t, net+3, perInterval)
			var grants []int // in each tenth of a second
			for range 30 {
				time.Sleep(100 * time.Millisecond)
				grants = append(grants, takeAll(t, l))
			}
			for i := range grants[10:] {
				require.LessOrEqual(t, sumOf(grants[i:i+10]), perInterval, "%v", grants)
			}
			require.Equal(t, 2*perInterval, sumOf(grants[10:]), "%v", grants)
			time.Sleep(time.Second + 2*time.Millisecond)
			require.Equal(t, perInterval, takeAll(t, l))
		})
	}
	for name := range limiters {
		for _, step := range clockSteps {
			for before := range 3 {
				virtually(name, step, before)
			}
		}
	}
}

func sumOf(all []int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// takeAll takes all permits that are free, in one call if all are, and returns their number.
func takeAll(t *testing.T, l limiter) (n int) {
	t.Helper()
	if l.take(t.Context(), perInterval) {
		n = perInterval
	}
	for l.take(t.Context(), 1) {
		n++
	}
	return n
}

// tryLease returns a lease of an object, nil if it has none for the caller now.
func tryLease(t *testing.T, object any) *primitives.Lease {
	t.Helper()
	lease, err := tries(object, 1)(t.Context())
	if err != nil {
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
	}
	return lease
}

// leaseless are the kinds of which no lease is tried for here: an Admission has that of its semaphore, and an Election and
// a PeriodicJob that of a lock.
var leaseless = strings.Fields(`Admission AtomicDouble AtomicLong CountDownLatch DoubleAdder Election IDGenerator LongAdder
	Memo MultiThrottle PartsLatch PeriodicJob RateLimiter Semaphore Throttle`)

// TestLeasesWithTheClockSet: the server's clock is set while a crashed process holds all of an object. Set back by d, its
// lease ends at most d later, and no earlier. Set forward, it ends at most d earlier. Tokens rise.
func TestLeasesWithTheClockSet(t *testing.T) {
	t.Parallel()
	const lease, each = 30 * time.Second, time.Second
	kinds := slices.DeleteFunc(slices.Collect(maps.Keys(constructed(t))), func(name string) bool { return slices.Contains(leaseless, name) })
	require.NotEmpty(t, kinds)
	for _, name := range kinds {
		for _, step := range clockSteps {
			subtest(t, fmt.Sprint(name, step), func(t *testing.T, s *server) {
				made := func() any { return construct(t, s.client(t, nil), name, "x", settings{"Permits": 2}) }
				token, crashed := int64(-1), made()
				for held := tryLease(t, crashed); held != nil; held = tryLease(t, crashed) {
					token = held.Token()
					held.Forget()
				}
				require.GreaterOrEqual(t, token, int64(0), "no lease")
				s.embedded.Advance(step)
				begin, next, object := time.Now(), (*primitives.Lease)(nil), made()
				for next = tryLease(t, object); next == nil; next = tryLease(t, object) {
					time.Sleep(each)
				}
				require.LessOrEqual(t, time.Since(begin), lease+max(-step, 0)+each)
				require.GreaterOrEqual(t, time.Since(begin), lease-max(step, 0))
				if token > 0 {
					require.Greater(t, next.Token(), token)
				}
				require.NoError(t, next.Release(t.Context()))
			})
		}
	}
}

// TestRateLimiterCountsGrants: of however many grants, each counts once, whether the value is kept, lost or no count of
// permits, and if the clock is set back to before some of them.
func TestRateLimiterCountsGrants(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		for _, grants := range []int{0, 1, 1000, 1001, 2500} {
			for _, value := range []string{"2", "", "x", "1.5", "2147483648"} {
				for _, future := range []int{0, grants / 3, grants * 2 / 3} {
					for _, each := range []int{1, 3} {
						l := c.NewRateLimiter(fmt.Sprint(grants, "-", value, future, each), primitives.Rate{}, rateRefuse)
						_ = must(l.Delete(t.Context()))(t) // It may be that of the turn before.
						require.NoError(t, l.SetRate(t.Context(), primitives.Rate{Permits: 2 + each*grants, Interval: time.Minute}))
						s.granted(l.Name(), grants, future, each)
						if value != "" {
							s.do("SET", "{"+l.Name()+"}:value", value)
						}
						require.Equal(t, 2, must(l.State(t.Context()))(t).Remaining, l.Name())
						require.NoError(t, allowed(l.Allow(t.Context(), 2)))
						require.ErrorIs(t, allowed(l.Allow(t.Context(), 1)), primitives.ErrNotAcquired)
					}
				}
			}
		}
	})
}

// granted makes grants of so many permits each, some of which have a time in the future.
func (s *server) granted(name string, grants, future, each int) {
	words := []string{"ZADD", "{" + name + "}:permits"}
	for i := range grants {
		at := time.Now().UnixMilli() - int64(i%2)
		if i >= grants-future {
			at += time.Hour.Milliseconds()
		}
		words = append(words, fmt.Sprint(at), fmt.Sprintf("\x10%016d%c\x00\x00\x00", i, rune(each)))
	}
	if grants > 0 {
		s.do(words...)
	}
}
