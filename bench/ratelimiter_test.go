package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// BenchmarkRateLimiterPair is Acquire and Release of one permit, so that there are always some.
func BenchmarkRateLimiterPair(b *testing.B) { againstAll(b, rateLimiterPair) }

func rateLimiterPair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	l := c.NewRateLimiter(name, nil)
	_, err := l.TrySetRate(ctx, primitives.Rate{Permits: 100, Interval: time.Hour})
	return func(ctx context.Context) error {
		if err := l.Acquire(ctx, 1); err != nil {
			return err
		}
		return l.Release(ctx, 1)
	}, err
}
