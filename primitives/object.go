package primitives

import (
	"context"
	"errors"
	"fmt"
)

// object is the identity of a primitive: values made by one client with one kind and name are the
// same object.
type object struct {
	client *Client
	kind   string // as errors name it, such as "lock"
	name   string
}

// describe wraps err with the operation and the object.
func (o object) describe(operation string, err error) error {
	return describe(operation, o.kind, o.name, err)
}

// enter begins a call on o under ctx, unless invalid says that o was made with bad arguments. After
// nil the caller must call o.client.leave.
func (o object) enter(ctx context.Context, invalid error) error {
	if invalid != nil {
		return invalid
	}
	if err := ended(ctx); err != nil {
		return err
	}
	return o.client.enter()
}

// ended returns ctx's error once it has ended, together with the cause where that is another.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return withCause(ctx, ctx.Err())
}

// withCause adds to err the cause of ctx's end, if it has ended and err does not tell.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
