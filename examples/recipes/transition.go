package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// OldLock waits for a lock of the library that is to be replaced. It returns a context that ends if that lock
// is lost, as far as the library knows, and what releases it.
type OldLock func(ctx context.Context) (held context.Context, release func(context.Context) error, err error)

// HoldBoth does work under a lock of either library, while some processes know the old one alone, or the new
// one alone. The order is always this: hasp's lock is renewed while it waits for the old one, which is held
// no longer than the work takes. The two locks must have different names.
func HoldBoth(
	ctx context.Context, lock *primitives.Lock, old OldLock,
	work func(ctx context.Context, lease *primitives.Lease) error,
) error {
	return lock.Do(ctx, func(ctx context.Context, lease *primitives.Lease) (err error) {
		held, release, err := old(ctx)
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			err = errors.Join(err, release(ctx))
		}()
		return work(held, lease)
	})
}
