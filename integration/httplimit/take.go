package httplimit

import (
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
