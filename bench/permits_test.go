package bench_test

import (
	"context"
	"testing"

	"github.com/hasp-go/hasp/primitives"
)

// BenchmarkPermitSemaphorePair is Acquire and Release of one permit, by its lease.
func BenchmarkPermitSemaphorePair(b *testing.B) { againstAll(b, permitPair) }

func permitPair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	s := c.NewPermitSemaphore(name, nil)
	_, err := s.TrySetPermits(ctx, 1)
	return func(ctx context.Context) error {
		lease, err := s.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}, err
}
