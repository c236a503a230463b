package primitives

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// AtomicDouble is a floating-point number that processes share: an [AtomicLong] for float64, with
// the same errors. Neither infinities nor NaN can be stored. If a sum is out of the range of
// float64, the error is [ErrOverflow].
//
// The server adds with more digits than a float64 has, and keeps up to 17 digits after the point:
// there 0.1 plus 0.2 is 0.3.
//
// Source: Redisson's RAtomicDouble, a decimal text at the name.
type AtomicDouble struct {
	number
}

// NewAtomicDouble returns the number called name, as [Client.NewAtomicLong] does.
func (c *Client) NewAtomicDouble(name string) *AtomicDouble {
	return &AtomicDouble{number{object: c.newKey("atomic double", name, numberKind)}}
}

// Load returns the number, or 0 if it does not exist.
func (a *AtomicDouble) Load(ctx context.Context) (float64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "load", func() (float64, error) {
		return read(script.DoubleGet(ctx, a.base.Runner(), a.base.Key()))
	})
}

// Store sets the number, and removes its expiry.
func (a *AtomicDouble) Store(ctx context.Context, value float64) error {
	_, err := extend.Call(ctx, &a.base, cmp.Or(a.invalid, finite("value", value)), "store", func() (string, error) {
		return script.DoubleSet(ctx, a.base.Runner(), a.base.Key(), value)
	})
	return err
}

// Add adds delta, and returns the sum.
func (a *AtomicDouble) Add(ctx context.Context, delta float64) (sum float64, err error) {
	return extend.Call(ctx, &a.base, cmp.Or(a.invalid, finite("delta", delta)), "add to", func() (float64, error) {
		return script.DoubleAdd(ctx, a.base.Runner(), a.base.Key(), delta)
	})
}

// Increment adds 1, and returns the sum.
func (a *AtomicDouble) Increment(ctx context.Context) (float64, error) { return a.Add(ctx, 1) }

// Decrement subtracts 1, and returns the difference.
func (a *AtomicDouble) Decrement(ctx context.Context) (float64, error) { return a.Add(ctx, -1) }

// LoadAndAdd adds delta, and returns the sum minus delta. Because of rounding, that may differ from
// the number before.
func (a *AtomicDouble) LoadAndAdd(ctx context.Context, delta float64) (old float64, err error) {
	sum, err := a.Add(ctx, delta)
	if err != nil {
		return 0, err
	}
	return sum - delta, nil
}

// Swap is [AtomicLong.Swap].
func (a *AtomicDouble) Swap(ctx context.Context, value float64) (old float64, err error) {
	return extend.Call(ctx, &a.base, cmp.Or(a.invalid, finite("value", value)), "swap", func() (float64, error) {
		old, _, err := script.DoubleSwap(ctx, a.base.Runner(), a.base.Key(), value)
		return old, err
	})
}

// LoadAndDelete deletes the number, and returns the number before, or 0 if it did not exist.
func (a *AtomicDouble) LoadAndDelete(ctx context.Context) (float64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "delete", func() (float64, error) {
		old, _, err := script.DoubleTake(ctx, a.base.Runner(), a.base.Key())
		return old, err
	})
}

// CompareAndSwap is [AtomicLong.CompareAndSwap].
func (a *AtomicDouble) CompareAndSwap(ctx context.Context, old, value float64) (bool, error) {
	invalid := cmp.Or(a.invalid, finite("old", old), finite("value", value))
	return extend.Call(ctx, &a.base, invalid, "compare and swap", func() (bool, error) {
		return script.DoubleCompareAndSet(ctx, a.base.Runner(), a.base.Key(), old, value)
	})
}

// StoreIfLess sets the number to value if it is less than bound, and reports whether it was.
func (a *AtomicDouble) StoreIfLess(ctx context.Context, bound, value float64) (bool, error) {
	invalid := cmp.Or(a.invalid, finite("bound", bound), finite("value", value))
	return extend.Call(ctx, &a.base, invalid, "compare and store", func() (bool, error) {
		return script.DoubleSetIfLess(ctx, a.base.Runner(), a.base.Key(), bound, value)
	})
}

// StoreIfGreater sets the number to value if it is greater than bound, and reports whether it was.
func (a *AtomicDouble) StoreIfGreater(ctx context.Context, bound, value float64) (bool, error) {
	invalid := cmp.Or(a.invalid, finite("bound", bound), finite("value", value))
	return extend.Call(ctx, &a.base, invalid, "compare and store", func() (bool, error) {
		return script.DoubleSetIfGreater(ctx, a.base.Runner(), a.base.Key(), bound, value)
	})
}

// Delete deletes the number, or any other text at its key, and reports whether the key existed.
func (a *AtomicDouble) Delete(ctx context.Context) (bool, error) { return a.remove(ctx) }

// finite returns a [*FieldError] if x, the argument of the given name, is infinite or NaN.
func finite(name string, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return &FieldError{Field: name, Problem: fmt.Sprintf("%v is not finite", x)}
	}
	return nil
}
