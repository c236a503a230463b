package primitives

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// object is the identity of a primitive: values made by one client with one kind and name are the
// same object.
type object struct {
	client *Client
	kind   string // as errors name it, such as "lock"
	name   string
	key    string
}

// newObject returns the object of a kind called name.
func (c *Client) newObject(kind, name string) object {
	return object{client: c, kind: kind, name: name, key: c.key(name)}
}

// Name returns the object's name, without the client's prefix.
func (o *object) Name() string { return o.name }

// validate checks what all objects are made of.
func (o *object) validate() error {
	if o.name == "" {
		return &FieldError{"name", "empty"}
	}
	return nil
}

// enter begins a call on o under ctx, unless invalid says that o was made with bad arguments. After
// nil the caller must call o.client.leave.
func (o *object) enter(ctx context.Context, invalid error) error {
	if invalid != nil {
		return invalid
	}
	if err := ended(ctx); err != nil {
		return err
	}
	return o.client.enter()
}

// call makes one call on o, and describes its error with the operation. invalid is as for enter.
func call[T any](
	ctx context.Context, o *object, invalid error, operation string, run func() (T, error),
) (value T, err error) {
	if err = o.enter(ctx, invalid); err == nil {
		defer o.client.leave()
		value, err = run()
	}
	if err != nil {
		var none T
		return none, o.describe(ctx, operation, err)
	}
	return value, nil
}

// describe wraps err with the operation and the object, and with what the server's reply means.
func (o *object) describe(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %q: %w", operation, o.kind, o.name, o.explain(ctx, err))
}

// explain adds [ErrConflict] or [ErrOverflow] to a server's error that means one.
func (o *object) explain(ctx context.Context, err error) error {
	var server *backend.ServerError
	if !errors.As(err, &server) {
		return err
	}
	switch {
	case otherKind(err):
		return fmt.Errorf("%w: %w", o.conflict(o.stored(ctx)), err)
	case server.Code == "NOTANUMBER", errors.Is(err, backend.ErrNotANumber):
		return fmt.Errorf("%w: %w", o.conflict("text that is no such number"), err)
	case server.Code == "OVERFLOW":
		return fmt.Errorf("%w: %w", ErrOverflow, err)
	}
	return err
}

// conflict is the error of an object whose key holds something else.
func (o *object) conflict(holds string) error {
	return fmt.Errorf("%w: the key of this %s holds a %s", ErrConflict, o.kind, holds)
}

// stored asks the server what o's key holds. It is worth a round trip, since one name was given to
// two things; if that fails, the error has to do without.
func (o *object) stored(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	stored, err := script.ObjectKind(ctx, o.client.backend, o.key)
	if err != nil {
		return "value of another kind"
	}
	return stored
}

// ended returns ctx's error once it has ended, together with the cause where that is another.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return withCause(ctx, ctx.Err())
}

// withCause adds to err the cause of ctx's end, if it has ended and err does not tell. Success stays
// one: ctx may end after anybody looked.
func withCause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
