package primitives

import "github.com/hasp-go/hasp/primitives/extend"

// object is embedded by the primitives of this package. Of the methods of extend.Object their users see
// Name alone.
type object struct {
	base    extend.Object
	invalid error // of the arguments; each method returns it
}

// newObject returns the object of a kind called name, whose key holds a value of the given type. It has other keys,
// or channels.
func (c *Client) newObject(kind, name, valueType string) object {
	o := c.newKey(kind, name, valueType)
	o.reject(o.base.ValidateTag())
	return o
}

// newKey is newObject for an object of one key alone, which may be in any slot.
func (c *Client) newKey(kind, name, valueType string) object {
	o := object{base: c.core.NewObject(kind, name, valueType)}
	o.invalid = o.base.Validate()
	return o
}

// Name returns the object's name, without the client's prefix.
func (o *object) Name() string { return o.base.Name() }

// reject makes each method return err, unless something else was wrong before.
func (o *object) reject(err error) {
	if o.invalid == nil {
		o.invalid = err
	}
}

// publish returns the command by which scripts publish.
func (o *object) publish() string { return o.base.Core().Capabilities().Publish() }
