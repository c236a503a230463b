package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// refuse are the options of most throttles, which wait for slow answers.
var refuse = &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Minute}

// rateRefuse are those of most rate limiters.
var rateRefuse = &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Minute}

// allowed returns the error of an Allow, or for a refusal ErrNotAcquired.
func allowed(d primitives.Decision, err error) error {
	if err == nil && !d.Allowed {
		return primitives.ErrNotAcquired
	}
	return err
}

// tenAMinute is a rate.
var tenAMinute = primitives.Rate{Permits: 10, Interval: time.Minute}

// by returns the options of a limiter.
func by(unavailable primitives.Fallback) *primitives.RateLimiterOptions {
	return &primitives.RateLimiterOptions{Unavailable: unavailable}
}

// acquire returns the decision of a limiter of ten permits a minute, the error, and how long it takes: a minute at most.
func acquire(c *primitives.Client, name string, opts *primitives.RateLimiterOptions) (
	primitives.Decision, time.Duration, error,
) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	d, err := c.NewRateLimiter(name, tenAMinute, opts).Allow(ctx, 1)
	return d, time.Since(began), err
}

// back lets a link work again, and returns when the server has answered the probe beside a call.
func (l *dialing) back(call func()) {
	l.down.Store(false)
	l.silent.Store(false)
	time.Sleep(2 * time.Second)
	call()
	synctest.Wait()
}

// TestFallbacks has a server that refuses connections, and one that is silent: only the first call waits for that. No call
// waits for a probe, and the server decides again as soon as it has answered one.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fall   primitives.Fallback
		silent bool
		first  time.Duration
		target error // of the first call
		next   error
	}{
		"RefuseRefused": {primitives.Refuse(), false, 0, primitives.ErrUnavailable, primitives.ErrUnavailable},
		"RefuseSilent":  {primitives.Refuse(), true, time.Second, primitives.ErrIndeterminate, primitives.ErrUnavailable},
		"AdmitRefused":  {primitives.Admit(), false, 0, nil, nil},
		"AdmitSilent":   {primitives.Admit(), true, time.Second, nil, nil},
		"LocalRefused":  {primitives.LocalShare(0.5), false, 0, nil, nil},
		"LocalSilent":   {primitives.LocalShare(0.5), true, time.Second, nil, nil},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			link := newDialing(t, s.embedded)
			client, opts := link.client(t, nil), by(c.fall)
			state, _, err := acquire(client, "x", opts)
			require.NoError(t, err)
			require.Equal(t, primitives.Decision{Allowed: true, Remaining: 9, ResetAfter: time.Minute}, state)

			link.down.Store(!c.silent)
			link.silent.Store(c.silent)
			state, took, err := acquire(client, "x", opts)
			require.ErrorIs(t, err, c.target)
			require.Equal(t, c.first, took)
			require.Equal(t, err == nil, state.Local)
			next := func() {
				state, took, err = acquire(client, "x", opts)
				require.ErrorIs(t, err, c.next)
				require.Zero(t, took)
				require.Equal(t, err == nil, state.Local)
			}
			for range 3 {
				next()
				time.Sleep(75 * time.Millisecond)
			}
			link.back(next)
			state, _, err = acquire(client, "x", opts)
			require.NoError(t, err)
			require.False(t, state.Local)
		})
	}
}

// TestLocalShare has 5 permits a minute: a burst of 5, and then one in 12 seconds. The server's answer ends the local
// limit.
func TestLocalShare(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := newDialing(t, s.embedded)
		client, opts := link.client(t, nil), by(primitives.LocalShare(0.5))
		limiter := client.NewRateLimiter("x", tenAMinute, opts)
		requireRetryIn := func(n int, want time.Duration) {
			t.Helper()
			d := must(limiter.Allow(t.Context(), n))(t)
			require.Equal(t, primitives.Decision{RetryAfter: want, NextAfter: want, Local: true}, d)
		}
		link.down.Store(true)
		for range 2 {
			require.NoError(t, allowed(limiter.Allow(t.Context(), 5)))
			requireRetryIn(1, 12*time.Second)
			requireRetryIn(5, time.Minute)
			requireRetryIn(6, time.Minute)
			time.Sleep(12 * time.Second)
			require.NoError(t, allowed(limiter.Allow(t.Context(), 1)))
			requireRetryIn(1, 12*time.Second)
			link.back(func() {
				_, _, err := acquire(client, "another", opts)
				require.NoError(t, err)
			})
			require.NoError(t, allowed(limiter.Allow(t.Context(), 1)))
			link.down.Store(true)
		}
		small := client.NewRateLimiter("small", tenAMinute, by(primitives.LocalShare(0.01)))
		require.NoError(t, allowed(small.Allow(t.Context(), 1)), "at least one")
		require.ErrorIs(t, allowed(small.Allow(t.Context(), 1)), primitives.ErrNotAcquired)
		for i := range 5000 { // No more limits are remembered than that.
			_, _, err := acquire(client, fmt.Sprint(i), opts)
			require.NoError(t, err)
		}
		require.NoError(t, allowed(small.Allow(t.Context(), 1)))
	})
}

// TestFallbackKeepsErrors: of callers that leave, and of data of another program.
func TestFallbackKeepsErrors(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := newDialing(t, s.embedded)
		client := link.client(t, nil)
		s.do("SET", "x", "text")
		_, _, err := acquire(client, "x", by(primitives.Admit()))
		require.ErrorIs(t, err, primitives.ErrConflict)

		link.silent.Store(true)
		ctx := within(t, 100*time.Millisecond)
		require.ErrorIs(t, errOf(client.NewRateLimiter("y", tenAMinute, by(primitives.Admit())).Allow(ctx, 1)),
			context.DeadlineExceeded)

		slow := by(primitives.Admit())
		slow.Timeout = 3 * time.Second
		state, took, err := acquire(client, "y", slow)
		require.NoError(t, err)
		require.True(t, state.Local)
		require.Equal(t, 3*time.Second, took)
	})
}

// TestThrottleFallsBack has a burst of 4 and a share of a half: 2, and then one in 12 seconds.
func TestThrottleFallsBack(t *testing.T) {
	t.Parallel()
	limit := primitives.Limit{Permits: 10, Interval: time.Minute, Burst: 4}
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			link := newDialing(t, embedded.NewServer())
			client, ctx := link.client(t, nil), t.Context()
			link.down.Store(!silent)
			link.silent.Store(silent)
			throttle := func(unavailable primitives.Fallback) *primitives.Throttle {
				return client.NewThrottle("x", limit, &primitives.ThrottleOptions{Unavailable: unavailable})
			}
			require.Error(t, errOf(throttle(primitives.Refuse()).Allow(ctx, 1)))
			began := time.Now()
			require.ErrorIs(t, errOf(throttle(primitives.Refuse()).Allow(ctx, 1)), primitives.ErrUnavailable)
			require.ErrorIs(t, throttle(primitives.Refuse()).Wait(ctx, 1), primitives.ErrUnavailable)
			require.ErrorIs(t, errOf(throttle(primitives.Refuse()).State(ctx)), primitives.ErrUnavailable)

			for range 9 {
				got := must(throttle(primitives.Admit()).Allow(ctx, 1))(t)
				require.Equal(t, primitives.Decision{Allowed: true, Local: true}, got)
				require.NoError(t, throttle(primitives.Admit()).Wait(ctx, 1))
			}
			for _, used := range []int{0, 2} {
				work, got, err := throttle(primitives.Admit()).AllowEstimate(ctx, 1)
				require.NoError(t, err)
				require.True(t, got.Local)
				require.NoError(t, work.Settle(ctx, used))
			}

			local := throttle(primitives.LocalShare(0.5))
			got := must(local.Allow(ctx, 2))(t)
			require.Equal(t, primitives.Decision{Allowed: true, Local: true}, got)
			got = must(local.Allow(ctx, 1))(t)
			require.Equal(t, primitives.Decision{RetryAfter: 12 * time.Second, NextAfter: 12 * time.Second, Local: true}, got)
			require.Less(t, time.Since(began), 10*time.Millisecond)
			require.NoError(t, local.Wait(ctx, 1))
			require.InDelta(t, 12*time.Second, time.Since(began), float64(2*time.Second))

			link.back(func() { _, _ = local.Allow(ctx, 1) })
			got = must(local.Allow(ctx, 1))(t)
			require.False(t, got.Local)
		})
	}
}

// TestRateLimiterWaitFallsBack: a share has Wait wait until it frees permits, and only the server's refusal has it wait
// through an outage.
func TestRateLimiterWaitFallsBack(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := newDialing(t, s.embedded)
		client, ctx := link.client(t, nil), t.Context()
		wait := func(unavailable primitives.Fallback, n int) error {
			return client.NewRateLimiter("x", tenAMinute, by(unavailable)).Wait(ctx, n)
		}
		require.NoError(t, wait(primitives.Refuse(), 10))
		waits := beside(func() error { return wait(primitives.Refuse(), 1) })
		time.Sleep(time.Second)
		link.down.Store(true)
		require.ErrorIs(t, wait(primitives.Refuse(), 1), primitives.ErrUnavailable)
		began := time.Now()
		for range 9 {
			require.NoError(t, wait(primitives.Admit(), 10))
		}
		require.Zero(t, time.Since(began))
		for range 7 {
			require.NoError(t, wait(primitives.LocalShare(0.5), 1))
		}
		require.InDelta(t, 24*time.Second, time.Since(began), float64(2*time.Second))
		above := client.NewRateLimiter("above", tenAMinute, by(primitives.LocalShare(0.5))) // more than the share ever has
		require.Equal(t, 12*time.Second, must(above.Allow(ctx, 6))(t).RetryAfter)
		waitsAbove := beside(func() error { return above.Wait(ctx, 6) })
		require.Empty(t, waits)
		time.Sleep(time.Minute)
		link.down.Store(false)
		require.NoError(t, <-waits)
		require.NoError(t, <-waitsAbove)
	})
}

// TestMultiThrottleFallsBack: a refusal of one throttle takes nothing of another, also locally.
func TestMultiThrottleFallsBack(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			link := newDialing(t, embedded.NewServer())
			client, ctx := link.client(t, nil), t.Context()
			link.down.Store(true)
			both := func(unavailable primitives.Fallback, user, all int) *primitives.MultiThrottle {
				opts := &primitives.ThrottleOptions{Unavailable: unavailable}
				return primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: steps},
					client.NewThrottle("user", primitives.Limit{Permits: 10, Interval: time.Minute}, opts).Take(user),
					client.NewThrottle("all", primitives.Limit{Permits: 4, Interval: time.Minute}, opts).Take(all))
			}
			require.ErrorIs(t, errOf(both(primitives.Refuse(), 1, 1).Allow(ctx)), primitives.ErrUnavailable)
			require.ErrorIs(t, both(primitives.Refuse(), 1, 1).Wait(ctx), primitives.ErrUnavailable)
			admitted := primitives.Decision{Allowed: true, Local: true}
			d := must(both(primitives.Admit(), 10, 4).Allow(ctx))(t)
			require.Equal(t, []primitives.Decision{admitted, admitted}, d.Each)

			began, half := time.Now(), primitives.LocalShare(0.5)
			d = must(both(half, 1, 2).Allow(ctx))(t)
			require.Equal(t, admitted, d.Decision)
			for range 2 { // The first refusal takes nothing.
				d = must(both(half, 4, 1).Allow(ctx))(t)
				in := time.Until(began.Add(30 * time.Second))
				refused := primitives.Decision{RetryAfter: in, NextAfter: in, Local: true}
				require.Equal(t, []primitives.Decision{admitted, refused}, d.Each)
				require.Equal(t, "all", d.Throttle.Name())
				require.Equal(t, refused, d.Decision)
			}
			require.NoError(t, both(half, 4, 1).Wait(ctx))
			require.InDelta(t, 30*time.Second, time.Since(began), float64(time.Second))

			link.back(func() { _, _ = both(half, 1, 1).Allow(ctx) })
			d = must(both(half, 1, 1).Allow(ctx))(t)
			require.False(t, d.Local)
		})
	}
}
