// Package redis_rate gives redis_rate's API by a Throttle, on servers in the process.
package redis_rate

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

type Limit struct {
	Rate, Burst int
	Period      time.Duration
}

func PerSecond(n int) Limit    { return Limit{n, n, time.Second} }
func (l Limit) IsZero() bool   { return l == Limit{} }
func (l Limit) String() string { return fmt.Sprintf("%d req/s (burst %d)", l.Rate, l.Burst) }

type Result struct {
	Allowed, Remaining     int
	RetryAfter, ResetAfter time.Duration
}

type Limiter struct{ *primitives.Client }

// NewLimiter ignores the connection: each limiter has a server of its own, for virtual time.
func NewLimiter(any) *Limiter {
	return &Limiter{shared.Got(embedded.NewClient(embedded.NewServer(), nil))}
}

func (l *Limiter) throttle(key string, limit Limit) *primitives.Throttle {
	return shared.Throttle(l.Client, key,
		primitives.Limit{Permits: limit.Rate, Interval: limit.Period, Burst: limit.Burst})
}

func (l *Limiter) Allow(ctx context.Context, key string, limit Limit) (*Result, error) {
	return l.AllowN(ctx, key, limit, 1)
}

// AllowN of more than the burst says when the rate would have freed as many.
func (l *Limiter) AllowN(ctx context.Context, key string, limit Limit, n int) (*Result, error) {
	decision, err := shared.Allow(ctx, l.throttle(key, limit), n, limit.Burst)
	if err != nil {
		return nil, err
	}
	result := &Result{Remaining: decision.Remaining, RetryAfter: -1, ResetAfter: decision.ResetAfter}
	switch {
	case decision.Allowed:
		result.Allowed = n
	case n > limit.Burst:
		result.RetryAfter = decision.ResetAfter + time.Duration(n-limit.Burst)*limit.Period/time.Duration(limit.Rate)
	default:
		result.RetryAfter = decision.RetryAfter
	}
	return result, nil
}

// AllowAtMost takes what the State has free: two round trips, and another caller may be between them.
func (l *Limiter) AllowAtMost(ctx context.Context, key string, limit Limit, n int) (*Result, error) {
	state, err := l.throttle(key, limit).State(ctx)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		n = max(1, min(n, state.Remaining))
	}
	return l.AllowN(ctx, key, limit, n)
}

func (l *Limiter) Reset(ctx context.Context, key string) error {
	_, err := l.throttle(key, PerSecond(1)).Delete(ctx)
	return err
}
