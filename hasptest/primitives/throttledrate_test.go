package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestThrottledByRateLimiter: a tracer gets each decision of a rate limiter that has a policy.
func TestThrottledByRateLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		var events []string
		c := s.client(t, &primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			events = append(events, fmt.Sprint(d.Policy, " ", d.Object.Name, " ", d.Outcome(), " ", d.Local))
			require.Equal(t, d.Outcome() == "failed", d.Err != nil)
		}}})
		rate := primitives.Rate{Permits: 2, Interval: time.Minute}
		limiter := func(name, policy string) *primitives.RateLimiter {
			return c.NewRateLimiter(name, &primitives.RateLimiterOptions{Rate: rate, Unavailable: primitives.LocalShare(1), Policy: policy})
		}
		for _, policy := range []string{"", "all"} {
			l := limiter("x"+policy, policy)
			require.NoError(t, l.TryAcquire(t.Context(), 2))
			_, err := l.TryAcquireState(t.Context(), 1)
			require.ErrorIs(t, err, primitives.ErrNotAcquired)
			require.NoError(t, l.Acquire(t.Context(), 2))
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, l.Acquire(short, 2), context.DeadlineExceeded)
			cancel()
		}
		s.do("SET", "text", "another program's")
		require.ErrorIs(t, limiter("text", "a").Acquire(t.Context(), 1), primitives.ErrConflict)
		s.set(func() { s.fault = func(string) fault { return fault{err: primitives.ErrUnavailable} } })
		require.NoError(t, limiter("y", "a").TryAcquire(t.Context(), 2))
		require.ErrorIs(t, limiter("y", "a").TryAcquire(t.Context(), 1), primitives.ErrNotAcquired)
		require.Equal(t, []string{
			"all xall allowed false", "all xall refused false", "all xall allowed false",
			"a text failed false", "a y allowed true", "a y refused true",
		}, events)
	})
}
