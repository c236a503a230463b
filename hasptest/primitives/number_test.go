package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// number is what both kinds of numbers offer to change one.
type number[T int64 | float64] interface {
	Add(ctx context.Context, delta T) (T, error)
	CompareAndSwap(ctx context.Context, old, value T) (bool, error)
	StoreIfGreater(ctx context.Context, bound, value T) (bool, error)
	StoreIfLess(ctx context.Context, bound, value T) (bool, error)
	Swap(ctx context.Context, value T) (T, error)
	Store(ctx context.Context, value T) error
	Expire(ctx context.Context, d time.Duration) (bool, error)
	TTL(ctx context.Context) (time.Duration, error)
}

// TestNumbersKeepTheirExpiry: changes that depend on the value do, whatever the value; the others remove it.
func TestNumbersKeepTheirExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newServer(t).client(t, nil)
		keepExpiry[int64](t, c.NewAtomicLong("long"), 0, -7, 1<<60, -1<<62)
		keepExpiry[float64](t, c.NewAtomicDouble("double"), 0, -1.5, 0.1, 1e21, -1e299, 1e300, -5e307)
	})
}

func keepExpiry[T int64 | float64](t *testing.T, n number[T], values ...T) {
	t.Helper()
	for _, x := range values {
		for name, c := range map[string]struct {
			change func(ctx context.Context) error
			want   time.Duration
		}{
			"Add":            {func(ctx context.Context) error { return errOf(n.Add(ctx, 1)) }, time.Hour},
			"CompareAndSwap": {func(ctx context.Context) error { return errOf(n.CompareAndSwap(ctx, x, 3)) }, time.Hour},
			"StoreIfGreater": {func(ctx context.Context) error { return errOf(n.StoreIfGreater(ctx, x/2-1, 3)) }, time.Hour},
			"StoreIfLess":    {func(ctx context.Context) error { return errOf(n.StoreIfLess(ctx, x/2+1, 3)) }, time.Hour},
			"Swap":           {func(ctx context.Context) error { return errOf(n.Swap(ctx, 3)) }, primitives.NoExpiry},
			"Store":          {func(ctx context.Context) error { return n.Store(ctx, 3) }, primitives.NoExpiry},
		} {
			require.NoError(t, n.Store(t.Context(), x))
			require.True(t, must(n.Expire(t.Context(), time.Hour))(t))
			require.NoError(t, c.change(t.Context()), "%s of %v", name, x)
			require.Equal(t, c.want, must(n.TTL(t.Context()))(t), "%s of %v", name, x)
		}
	}
}
