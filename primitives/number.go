package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// number is an object that is a text of digits at one key, and what all such objects can do.
type number struct {
	object
	invalid error // of the arguments; each method returns it
}

// numberKind is what the server's TYPE says of numbers.
const numberKind = "string"

// newNumber returns the object called name of one of the kinds that are a number.
func (c *Client) newNumber(kind, name string) number {
	n := number{object: c.newObject(kind, name)}
	n.invalid = n.validate()
	return n
}

// Expire gives the object a life of d from now on by the server's clock, in whole milliseconds and at
// least one, and reports whether the object exists.
func (n *number) Expire(ctx context.Context, d time.Duration) (bool, error) {
	invalid := n.invalid
	if invalid == nil {
		invalid = atLeast("d", d, time.Millisecond)
	}
	return call(ctx, &n.object, invalid, "expire", func() (bool, error) {
		return script.ObjectExpire(ctx, n.client.calls, n.key, numberKind, d)
	})
}

// ExpireAt ends the object's life at t by the server's clock, in whole milliseconds, and reports
// whether the object exists. A time that has passed deletes it.
func (n *number) ExpireAt(ctx context.Context, t time.Time) (bool, error) {
	return call(ctx, &n.object, n.invalid, "expire", func() (bool, error) {
		return script.ObjectExpireAt(ctx, n.client.calls, n.key, numberKind, t)
	})
}

// Persist takes the end from the object's life, and reports whether it had one.
func (n *number) Persist(ctx context.Context) (bool, error) {
	return call(ctx, &n.object, n.invalid, "persist", func() (bool, error) {
		return script.ObjectPersist(ctx, n.client.calls, n.key, numberKind)
	})
}

// RemainingLife returns how long the object still exists by the server's clock: 0 if it does not,
// [NoExpiry] if nothing ends it.
func (n *number) RemainingLife(ctx context.Context) (time.Duration, error) {
	return call(ctx, &n.object, n.invalid, "query", func() (time.Duration, error) {
		return remaining(script.ObjectRemaining(ctx, n.client.calls, n.key))
	})
}

// remaining turns a server's PTTL into a duration. The longest stands for no expiry alone.
func remaining(left time.Duration, err error) (time.Duration, error) {
	switch left {
	case -1 * time.Millisecond:
		return NoExpiry, err
	case -2 * time.Millisecond:
		return 0, err
	}
	return min(left, NoExpiry-1), err
}

// read returns what a script has read that is the plain command GET, 0 if there was nothing. That
// command returns any text.
func read[T int64 | float64](value T, _ bool, err error) (T, error) {
	switch {
	case errors.Is(err, backend.ErrReply):
		return 0, fmt.Errorf("%w: %w", backend.ErrNotANumber, err)
	case err == nil && value-value != 0: // Infinite, or NaN.
		return 0, backend.ErrNotANumber
	}
	return value, err
}

// Exists reports whether the object exists.
func (n *number) Exists(ctx context.Context) (bool, error) {
	return call(ctx, &n.object, n.invalid, "query", func() (bool, error) {
		kind, err := script.ObjectKind(ctx, n.client.calls, n.key)
		if err == nil && kind != "none" && kind != numberKind {
			err = n.conflict(kind)
		}
		return kind == numberKind, err
	})
}

// remove deletes the object's key.
func (n *number) remove(ctx context.Context) (bool, error) {
	return call(ctx, &n.object, n.invalid, "delete", func() (bool, error) {
		return script.ObjectDelete(ctx, n.client.calls, n.key, numberKind)
	})
}
