package httplimit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// part is what a request takes of one policy, and the limiter's answer.
type part struct {
	policy *policy
	name   string // of the limiter
	n      int

	answered bool // with a refusal, or by the server
	refused  bool
	free     int
	retryIn  time.Duration // until n permits are free; 0: now, or never
}

// take takes the permits of all parts or of none, and notes the answers.
type take func(ctx context.Context, parts []part) error

// rateTake returns the take of a RateLimiter, of one part.
func rateTake(client *primitives.Client, rate primitives.Rate, opts *Options) take {
	limiter := primitives.RateLimiterOptions{Rate: rate, Unavailable: opts.Unavailable, Timeout: opts.Timeout}
	return func(ctx context.Context, parts []part) error {
		p, limiter := &parts[0], limiter
		limiter.Policy = p.policy.Name
		state, err := client.NewRateLimiter(p.name, &limiter).TryAcquireState(ctx, p.n)
		var refused *primitives.RateLimitError
		switch {
		case errors.As(err, &refused):
			p.answered, p.refused, p.retryIn = true, true, refused.RetryIn
			return nil
		case err == nil:
			p.answered, p.free, p.retryIn = !state.Local, state.Free, state.RetryIn
		}
		p.refused = errors.Is(err, primitives.ErrAboveRate)
		return err
	}
}

// throttleTake returns the take of throttles.
func throttleTake(client *primitives.Client, opts *Options) take {
	each := primitives.ThrottleOptions{Unavailable: opts.Unavailable, Timeout: opts.Timeout, RefuseLocally: opts.RefuseLocally}
	throttle := func(p part) *primitives.Throttle {
		opts := each
		opts.Policy = p.policy.Name
		return client.NewThrottle(p.name, p.policy.Limit, &opts)
	}
	return func(ctx context.Context, parts []part) error {
		if len(parts) == 1 {
			d, err := throttle(parts[0]).Allow(ctx, parts[0].n)
			return note(parts, []primitives.Decision{d}, err)
		}
		takes := make([]primitives.Take, len(parts))
		for i, p := range parts {
			takes[i] = throttle(p).Take(p.n)
		}
		d, err := primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: opts.Steps}, takes...).Allow(ctx)
		return note(parts, d.Each, err)
	}
}

// note notes the throttles' answers. If a part takes more than there ever is, it is refused, without a time.
func note(parts []part, each []primitives.Decision, err error) error {
	for i := range parts {
		if p := &parts[i]; err == nil {
			p.note(each[i])
		} else if errors.Is(err, primitives.ErrAboveRate) {
			p.refused = p.n > burst(p.policy.Limit)
		}
	}
	return err
}

// note notes a throttle's answer. After a refusal it may have none.
func (p *part) note(d primitives.Decision) {
	p.refused = d.RetryAfter > 0
	p.answered = p.refused || d.Allowed && !d.Local
	p.free, p.retryIn = d.Remaining, d.RetryAfter
	if p.answered && d.Allowed && d.Remaining < p.n {
		// If n permits were free, fewer would be in use.
		p.retryIn = max(0, d.ResetAfter-timeOf(p.policy.Limit, burst(p.policy.Limit)-p.n))
	}
}

// violated returns the parts that are refused, those with the longest time first.
func violated(parts []part) []part {
	var refused []part
	for _, p := range parts {
		if p.refused {
			refused = append(refused, p)
		}
	}
	slices.SortStableFunc(refused, func(a, b part) int { return cmp.Compare(b.retryIn, a.retryIn) })
	return refused
}

// burst returns a limit's burst.
func burst(limit primitives.Limit) int { return cmp.Or(limit.Burst, limit.Permits) }

// timeOf returns how long the rate takes to free n permits, rounded down. No product overflows.
func timeOf(limit primitives.Limit, n int) time.Duration {
	permits := time.Duration(limit.Permits)
	return limit.Interval/permits*time.Duration(n) + limit.Interval%permits*time.Duration(n)/permits
}
