package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// AtomicLong is a whole number that processes share: an int64, exact over its whole range. One that
// does not exist is 0, and the first change makes it. Each call takes one round trip and waits for
// nothing. It is safe for concurrent use.
//
// Changes that depend on the value keep the end that Expire has set; Store and Swap, which do not,
// make a new number without one, as the server's SET does.
//
// After an error that wraps [ErrIndeterminate] a change may have been made, or may still be
// made, once; nothing sends it again. A sum beyond the range of int64 is [ErrOverflow], and a key
// that holds something else [ErrConflict]; both leave the key as it was.
//
// Source: Redisson's RAtomicLong, a decimal text at the name; the comparisons of Redisson go
// through doubles and are exact up to 2^53 only.
type AtomicLong struct {
	number
}

// NewAtomicLong returns the number called name. It sends nothing. The methods return a [*FieldError]
// for an empty name.
func (c *Client) NewAtomicLong(name string) *AtomicLong {
	return &AtomicLong{number{object: c.newKey("atomic long", name, numberKind)}}
}

// Load returns the number; 0 if there is none.
func (a *AtomicLong) Load(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "load", func() (int64, error) {
		return read(script.LongGet(ctx, a.base.Runner(), a.base.Key()))
	})
}

// Store sets the number. It has no end then.
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

// LoadAndAdd adds delta, and returns what the number was before.
func (a *AtomicLong) LoadAndAdd(ctx context.Context, delta int64) (old int64, err error) {
	sum, err := a.Add(ctx, delta)
	if err != nil {
		return 0, err
	}
	return sum - delta, nil
}

// Swap sets the number, and returns what it was; 0 if there was none. It has no end then.
func (a *AtomicLong) Swap(ctx context.Context, value int64) (old int64, err error) {
	return extend.Call(ctx, &a.base, a.invalid, "swap", func() (int64, error) {
		old, _, err := script.LongSwap(ctx, a.base.Runner(), a.base.Key(), value)
		return old, err
	})
}

// LoadAndDelete deletes the number, and returns what it was; 0 if there was none.
func (a *AtomicLong) LoadAndDelete(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &a.base, a.invalid, "delete", func() (int64, error) {
		old, _, err := script.LongTake(ctx, a.base.Runner(), a.base.Key())
		return old, err
	})
}

// CompareAndSwap sets the number to value if it is old, and reports whether it was. One that does
// not exist is 0.
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

// Delete deletes the number, or any text in its place, and reports whether there was one.
func (a *AtomicLong) Delete(ctx context.Context) (bool, error) { return a.remove(ctx) }
