package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// AtomicLong is a whole number that processes share: an int64, exact over its whole range. A number
// that does not exist is 0, and the first change creates it. Each call takes one round trip, and
// waits for no other client. It is safe for concurrent use.
//
// Add and the other changes that depend on the value keep the expiry that Expire has set. Store and
// Swap remove it, like the server's SET.
//
// After an error that wraps [ErrIndeterminate] the change may have been made, or may still be made,
// once. The client does not send it again. If a sum is out of the range of int64, the error is
// [ErrOverflow]. If the key holds something else, the error is [ErrConflict]. Both leave the key as
// it was.
//
// Source: Redisson's RAtomicLong, a decimal text at the name. Redisson's comparisons use doubles,
// which are exact only up to 2^53.
type AtomicLong struct {
	number
}

// NewAtomicLong returns the number called name. It sends nothing. The methods return a [*FieldError]
// for an empty name.
func (c *Client) NewAtomicLong(name string) *AtomicLong {
	return &AtomicLong{number{object: c.newKey("atomic long", name, numberKind)}}
}

// Load returns the number, or 0 if it does not exist.
func (a *AtomicLong) Load(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "load", func() (int64, error) {
		return read(script.LongGet(ctx, a.base.Runner(), a.base.Key()))
	})
}

// Store sets the number, and removes its expiry.
func (a *AtomicLong) Store(ctx context.Context, value int64) error {
	_, err := extend.Call(ctx, &a.base, a.invalid, "store", func() (string, error) {
		return script.LongSet(ctx, a.base.Runner(), a.base.Key(), value)
	})
	return err
}

// Add adds delta, and returns the sum.
func (a *AtomicLong) Add(ctx context.Context, delta int64) (sum int64, err error) {
	return extend.Call(ctx, &a.base, a.invalid, "add to", func() (int64, error) {
		return script.LongAdd(ctx, a.base.Runner(), a.base.Key(), delta)
	})
}

// Increment adds 1, and returns the sum.
func (a *AtomicLong) Increment(ctx context.Context) (int64, error) { return a.Add(ctx, 1) }

// Decrement subtracts 1, and returns the difference.
func (a *AtomicLong) Decrement(ctx context.Context) (int64, error) { return a.Add(ctx, -1) }

// LoadAndAdd adds delta, and returns the number before.
func (a *AtomicLong) LoadAndAdd(ctx context.Context, delta int64) (old int64, err error) {
	sum, err := a.Add(ctx, delta)
	if err != nil {
		return 0, err
	}
	return sum - delta, nil
}

// Swap sets the number, removes its expiry, and returns the number before, or 0 if it did not
// exist.
func (a *AtomicLong) Swap(ctx context.Context, value int64) (old int64, err error) {
	return extend.Call(ctx, &a.base, a.invalid, "swap", func() (int64, error) {
		old, _, err := script.LongSwap(ctx, a.base.Runner(), a.base.Key(), value)
		return old, err
	})
}

// LoadAndDelete deletes the number, and returns the number before, or 0 if it did not exist.
func (a *AtomicLong) LoadAndDelete(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "delete", func() (int64, error) {
		old, _, err := script.LongTake(ctx, a.base.Runner(), a.base.Key())
		return old, err
	})
}

// CompareAndSwap sets the number to value if it equals old, and reports whether it did. A number
// that does not exist is 0.
func (a *AtomicLong) CompareAndSwap(ctx context.Context, old, value int64) (bool, error) {
	return extend.Call(ctx, &a.base, a.invalid, "compare and swap", func() (bool, error) {
		return script.LongCompareAndSet(ctx, a.base.Runner(), a.base.Key(), old, value)
	})
}

// StoreIfLess sets the number to value if it is less than bound, and reports whether it was.
func (a *AtomicLong) StoreIfLess(ctx context.Context, bound, value int64) (bool, error) {
	return extend.Call(ctx, &a.base, a.invalid, "compare and store", func() (bool, error) {
		return script.LongSetIfLess(ctx, a.base.Runner(), a.base.Key(), bound, value)
	})
}

// StoreIfGreater sets the number to value if it is greater than bound, and reports whether it was.
func (a *AtomicLong) StoreIfGreater(ctx context.Context, bound, value int64) (bool, error) {
	return extend.Call(ctx, &a.base, a.invalid, "compare and store", func() (bool, error) {
		return script.LongSetIfGreater(ctx, a.base.Runner(), a.base.Key(), bound, value)
	})
}

// Delete deletes the number, or any other text at its key, and reports whether the key existed.
func (a *AtomicLong) Delete(ctx context.Context) (bool, error) { return a.remove(ctx) }
