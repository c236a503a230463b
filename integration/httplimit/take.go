package httplimit

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hasp-go/hasp/primitives"
)

// limiter is a RateLimiter or a Throttle.
type limiter interface {
	Allow(ctx context.Context, n int) (primitives.Decision, error)
	Validate() error
}

// part is what a request takes of one policy, and the limiter's answer.
type part struct {
	policy  *policy
	limiter limiter
	n       int

	refused  bool // it may take more than there ever is: then there is no decision
	decision primitives.Decision
}

// answered reports whether the server has decided, or refused.
func (p *part) answered() bool {
	return p.decision.RetryAfter > 0 || p.decision.Allowed && !p.decision.Local
}

// take takes the permits of all parts or of none, and notes the answers.
func (l *Limit) take(ctx context.Context, parts []part) (err error) {
	each := make([]primitives.Decision, 1)
	if len(parts) == 1 {
		each[0], err = parts[0].limiter.Allow(ctx, parts[0].n)
	} else {
		each, err = l.takeAll(ctx, parts)
	}
	for i := range parts {
		if p := &parts[i]; err == nil {
			p.decision, p.refused = each[i], each[i].RetryAfter > 0
		} else if errors.Is(err, primitives.ErrAboveRate) {
			p.refused = len(parts) == 1 || p.n > p.policy.Limit.Burst
		}
	}
	return err
}

func (l *Limit) takeAll(ctx context.Context, parts []part) ([]primitives.Decision, error) {
	takes := make([]primitives.Take, len(parts))
	for i, p := range parts {
		takes[i] = p.limiter.(*primitives.Throttle).Take(p.n) //nolint:forcetypeassert // Only throttles are several.
	}
	d, err := primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: l.steps}, takes...).Allow(ctx)
	return d.Each, err
}

// violated returns the parts that are refused, those with the longest time first.
func violated(parts []part) []part {
	var refused []part
	for _, p := range parts {
		if p.refused {
			refused = append(refused, p)
		}
	}
	slices.SortStableFunc(refused, func(a, b part) int { return cmp.Compare(b.decision.RetryAfter, a.decision.RetryAfter) })
	return refused
}
