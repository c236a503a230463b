package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// number is an object that is a decimal text at one key. It has the methods that all such objects
// share.
type number struct {
	object
	beside []string // further keys, which expire with the first
}

// numberKind is the server's TYPE of numbers.
const numberKind = "string"

func (c *Client) newNumber(kind, name string) number {
	return number{object: c.newObject(kind, name, numberKind)}
}

// Expire sets the object's expiry to d from now by the server's clock, in whole milliseconds and at
// least one. It reports whether the object exists.
func (o *number) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return extend.Call(ctx, &o.base, cmp.Or(o.invalid, extend.AtLeast("d", d, time.Millisecond)), "expire", func() (bool, error) {
		return script.ObjectExpire(ctx, o.base.Runner(), o.base.Key(), o.beside, numberKind, d)
	})
}

// ExpireAt sets the object's expiry to t by the server's clock, in whole milliseconds. It reports
// whether the object exists. A time in the past deletes the object.
func (o *number) ExpireAt(ctx context.Context, t time.Time) (bool, error) {
	return extend.Call(ctx, &o.base, o.invalid, "expire", func() (bool, error) {
		return script.ObjectExpireAt(ctx, o.base.Runner(), o.base.Key(), o.beside, numberKind, t)
	})
}

// Persist removes the object's expiry, and reports whether it had one.
func (o *number) Persist(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &o.base, o.invalid, "persist", func() (bool, error) {
		return script.ObjectPersist(ctx, o.base.Runner(), o.base.Key(), o.beside, numberKind)
	})
}

// TTL returns the time until the object expires, by the server's clock: 0 if it does not exist,
// [NoExpiry] if it has no expiry.
func (o *number) TTL(ctx context.Context) (time.Duration, error) {
	return remaining(ask(ctx, &o.object, "query", script.ObjectRemaining))
}

// remaining turns a server's PTTL into a duration. It is NoExpiry only for a key without an expiry.
func remaining(left time.Duration, err error) (time.Duration, error) {
	switch left {
	case -1 * time.Millisecond:
		return NoExpiry, err
	case -2 * time.Millisecond:
		return 0, err
	}
	return min(left, NoExpiry-1), err
}

// read returns the number that GET has read, or 0 if there is none. GET returns any text: a text
// that is no number is an error.
func read[T int64 | float64](value T, _ bool, err error) (T, error) {
	switch {
	case errors.Is(err, backend.ErrReply):
		return 0, fmt.Errorf("%w: %w", backend.ErrNotANumber, err)
	case err == nil && value-value != 0: // Infinite, or NaN.
		return 0, backend.ErrNotANumber
	}
	return value, err
}

// queryError returns err, of a query whose script also writes, without [ErrIndeterminate]: the caller
// asked for an answer, and may ask again.
func queryError(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, ErrIndeterminate):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, strings.Replace(err.Error(), ErrIndeterminate.Error(), "no answer", 1))
}

// Exists reports whether the object exists.
func (o *number) Exists(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &o.base, o.invalid, "query", func() (bool, error) {
		kind, err := script.ObjectKind(ctx, o.base.Runner(), o.base.Key())
		if err == nil && kind != "none" && kind != numberKind {
			err = o.base.Conflict(kind)
		}
		return kind == numberKind, err
	})
}

func (o *number) remove(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &o.base, o.invalid, "delete", func() (bool, error) {
		return script.ObjectDelete(ctx, o.base.Runner(), o.base.Key(), o.beside, numberKind)
	})
}
