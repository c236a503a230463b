package primitives

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

// object is embedded by the primitives of this package. It hides the methods of extend.Object,
// except Name.
type object struct {
	base extend.Object
	checked
}

// checked is embedded by all primitives.
type checked struct{ invalid error }

// Validate returns the error of the arguments and options with which every method fails, such as a [*FieldError], or nil.
// It sends nothing.
func (c *checked) Validate() error { return c.invalid }

// newObject returns the object of the given kind called name, whose key holds a value of the given
// type. It is for objects that also have other keys, or channels.
func (c *Client) newObject(kind, name, valueType string) object {
	o := c.newKey(kind, name, valueType)
	o.reject(o.base.ValidateTag())
	return o
}

// newKey is newObject for an object with only one key and no channel, which may be in any slot.
func (c *Client) newKey(kind, name, valueType string) object {
	o := object{base: c.core.NewObject(kind, name, valueType).WithRights(rights[kind])}
	o.invalid = o.base.Validate()
	return o
}

// Name returns the object's name, without the client's prefix.
func (o *object) Name() string { return o.base.Name() }

// reject makes each method return err, unless there was an error before.
func (o *object) reject(err error) {
	if o.invalid == nil {
		o.invalid = err
	}
}

// validateNumber returns the error of the object's arguments, or of a number of permits.
func (o *object) validateNumber(n, least, most int) error {
	return cmp.Or(o.invalid, within("n", n, least, most))
}

// do is [extend.Call] of a call that returns an error alone.
func (o *object) do(ctx context.Context, invalid error, operation string, run func() error) error {
	_, err := extend.Call(ctx, &o.base, invalid, operation, func() (struct{}, error) { return struct{}{}, run() })
	return err
}

// ask is [extend.Call] of a script that gets the object's key alone.
func ask[T any](
	ctx context.Context, o *object, operation string,
	script func(ctx context.Context, r backend.ScriptRunner, key string) (T, error),
) (T, error) {
	return extend.Call(ctx, &o.base, o.invalid, operation, func() (T, error) { return script(ctx, o.base.Runner(), o.base.Key()) })
}

// publish returns the command with which scripts publish.
func (o *object) publish() string { return o.base.Core().Capabilities().Publish() }

// wholeMilliseconds returns a [*FieldError] if d, the value of the given field, is less than a
// millisecond, or has a fraction of one. It is for a length that the server must not cut: a rate or a
// schedule would be another one.
func wholeMilliseconds(field string, d time.Duration) error {
	if d > time.Millisecond && d%time.Millisecond != 0 {
		return &FieldError{Field: field, Problem: fmt.Sprintf("%s is no whole number of milliseconds", d)}
	}
	return extend.AtLeast(field, d, time.Millisecond)
}
