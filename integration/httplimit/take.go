package httplimit

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// answer is a limiter's answer to a request.
type answer struct {
	refused bool
	local   bool // the server has not decided
	free    int
	retryIn time.Duration // until as many permits are free as the request takes; 0: now
}

// take takes n permits of the limiter called name.
type take func(ctx context.Context, name string, n int) (answer, error)

// rateTake returns the take of a RateLimiter.
func rateTake(client *primitives.Client, rate primitives.Rate, opts *Options) take {
	limiter := primitives.RateLimiterOptions{Rate: rate, Unavailable: opts.Unavailable, Timeout: opts.Timeout}
	return func(ctx context.Context, name string, n int) (answer, error) {
		state, err := client.NewRateLimiter(name, &limiter).TryAcquireState(ctx, n)
		var refused *primitives.RateLimitError
		if errors.As(err, &refused) {
			return answer{refused: true, retryIn: refused.RetryIn}, nil
		}
		return answer{local: state.Local, free: state.Free, retryIn: state.RetryIn}, err
	}
}

// throttleTake returns the take of a Throttle.
func throttleTake(client *primitives.Client, limit primitives.Limit, opts *Options) take {
	throttle := primitives.ThrottleOptions{Unavailable: opts.Unavailable, Timeout: opts.Timeout}
	return func(ctx context.Context, name string, n int) (answer, error) {
		d, err := client.NewThrottle(name, limit, &throttle).Allow(ctx, n)
		if err != nil {
			return answer{}, err
		}
		got := answer{refused: !d.Allowed, local: d.Local, free: d.Remaining, retryIn: d.RetryAfter}
		if d.Allowed && !d.Local && d.Remaining < n {
			// If n permits were free, fewer would be in use.
			got.retryIn = max(0, d.ResetAfter-timeOf(limit, cmp.Or(limit.Burst, limit.Permits)-n))
		}
		return got, nil
	}
}

// timeOf returns how long the rate takes to free n permits, rounded down. No product overflows.
func timeOf(limit primitives.Limit, n int) time.Duration {
	permits := time.Duration(limit.Permits)
	return limit.Interval/permits*time.Duration(n) + limit.Interval%permits*time.Duration(n)/permits
}
