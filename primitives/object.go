package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"

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

	// tokenKey is that of a lock's fencing token; empty for other kinds.
	tokenKey string
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
	replied := errors.As(err, &server)
	switch {
	case otherKind(err):
		return fmt.Errorf("%w: %w", o.kindConflict(ctx), err)
	case errors.Is(err, backend.ErrNotANumber), replied && server.Code == "NOTANUMBER":
		return fmt.Errorf("%w: %w", o.notANumber(), err)
	case replied && server.Code == "OVERFLOW":
		return fmt.Errorf("%w: %w", ErrOverflow, err)
	}
	return err
}

// conflict is the error of an object whose key holds something else.
func (o *object) conflict(holds string) error {
	return fmt.Errorf("%w: the key of this %s holds a %s", ErrConflict, o.kind, holds)
}

// storedTimeout bounds a question that only makes an error clearer.
const storedTimeout = time.Second

// tokenConflict is the error of an object whose token key holds something else.
func (o *object) tokenConflict(holds string) error {
	return fmt.Errorf("%w: the token key %q of this %s holds a %s", ErrConflict, o.tokenKey, o.kind, holds)
}

// kindConflict is the conflict of an object one of whose keys is of another kind. It asks the server
// what that key holds, which is worth the round trips, since one name was given to two things.
func (o *object) kindConflict(ctx context.Context) error {
	holds := o.stored(ctx, o.key)
	if o.tokenKey != "" && (holds == "hash" || holds == "none") { // What a lock's key is to hold.
		return o.tokenConflict(o.stored(ctx, o.tokenKey))
	}
	return o.conflict(holds)
}

// notANumber is the conflict of an object whose number is another text.
func (o *object) notANumber() error {
	const text = "text that is no such number"
	if o.tokenKey != "" {
		return o.tokenConflict(text)
	}
	return o.conflict(text)
}

// stored asks the server what key holds. If that fails, the error has to do without.
func (o *object) stored(ctx context.Context, key string) string {
	ctx, cancel := context.WithTimeout(ctx, storedTimeout)
	defer cancel()
	stored, err := script.ObjectKind(ctx, o.client.calls, key)
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

// withCause adds to err the cause of ctx's end, if ctx has ended and err does not have the cause. A
// success stays a success: ctx may end at any time after the call.
func withCause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
