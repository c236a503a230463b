package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/trace"
)

// Object is the identity of a primitive. Objects of one core with the same kind, name and key are
// the same object. A primitive keeps its Object in a field, and makes all its calls with it. It is a
// value: a copy is the same object. Of the zero Object only Wait can be used.
type Object struct {
	core *Core
	id   leases.ID

	valueType string // of the key, as the server's TYPE names it

	// A second key of the object, and its name in errors.
	sideKey, sideKeyName string

	typedKey *typedKey // the last of further keys; nil: there is none

	rights *Rights // nil: unknown
}

// typedKey is a key of an object whose value has a type.
type typedKey struct {
	key, name, valueType string
	before               *typedKey
}

// NewObject returns the object of a kind, such as "lock", called name. Its key is the client's
// prefix followed by the name. valueType is the type of the key's value, as the server's TYPE names
// it: "hash", "string", "zset" and so on. It sends nothing.
func (c *Core) NewObject(kind, name, valueType string) Object {
	named := trace.Object{Kind: kind, Name: name}
	return Object{core: c, id: leases.ID{Client: &c.id, Object: named, Key: c.opts.KeyPrefix + name}, valueType: valueType}
}

// WithKey returns o with another key, which does not follow from its name.
func (o Object) WithKey(key string) Object {
	o.id.Key = key
	return o
}

// WithSideKey returns o with a second key, called keyName in errors, such as "token key". [Call]
// then finds out which of the two keys is in conflict. It reports an error NOTANUMBER for the
// second key.
func (o Object) WithSideKey(keyName, key string) Object {
	o.sideKey, o.sideKeyName = key, keyName
	return o
}

// WithTypedKey returns o with a further key, called keyName in errors, whose value has the given
// type. An object can have many such keys: [Call] finds out which key is in conflict.
func (o Object) WithTypedKey(keyName, key, valueType string) Object {
	o.typedKey = &typedKey{key, keyName, valueType, o.typedKey}
	return o
}

// Name returns the object's name, without the client's prefix.
func (o *Object) Name() string { return o.id.Object.Name }

// Key returns the object's key: the client's prefix followed by the name.
func (o *Object) Key() string { return o.id.Key }

// ID returns what identifies the object: two objects are the same if their ids are equal.
func (o *Object) ID() *leases.ID { return &o.id }

// Holder returns the owner of a lease of the object that ctx re-enters ([lease.Lease.Reenter]), or "" if there is
// no such lease that is still held. It is for an object whose owners may also hold a related
// object, and must not wait for themselves there.
func (o *Object) Holder(ctx context.Context) string { return leases.Holder(ctx, &o.id) }

// CheckSelfDeadlock returns [lease.ErrSelfDeadlock] if ctx has the values of a context of a lease of the object
// that is held ([lease.Lease.Context]), and does not re-enter the lease. A call that waits under such a context until
// no lease of the object is left waits for itself. A lease of another object counts, too, if it excludes owners of this
// one. CheckSelfDeadlock sends nothing.
func (o *Object) CheckSelfDeadlock(ctx context.Context) error {
	return leases.CheckSelfDeadlock(ctx, &o.id)
}

// Core returns the core that made the object.
func (o *Object) Core() *Core { return o.core }

// Runner returns the runner of the object's scripts. Use it within [Call]. If ctx ends before the
// script is sent, the script is not sent. If ctx ends later, the outcome is dropped. If the outcome
// must not be lost, use a [Request].
func (o *Object) Runner() backend.ScriptRunner { return o.core.calls }

// Insistent is Runner for scripts that keep or give back what a caller has. Other scripts fail at once, with
// [backend.ErrUnavailable], while the object's node is away: after a script was tried for at least half a second,
// for as long as the backend tries, and no server could be reached. Then one is sent each 100 ms, and any answer of
// the node ends that. Further tries of waiters, and requests that are sent always, need no Insistent.
func (o *Object) Insistent() backend.ScriptRunner { return o.core.insistentCalls }

// Hasty is Runner for scripts whose callers have another answer at hand if the server gives none. They are
// offered to the server once, and wait for the answer for timeout at most. After a failure, or without an answer in
// time, the object's node is away for all such scripts: they fail at once with [backend.ErrUnavailable], as with
// [Object.Insistent] the others do, but none is sent: a TYPE of the script's first key is, next to it. Without an answer, and without an error of ctx, a script that may have been
// executed fails with [backend.ErrIndeterminate]. A cancelled context may end it only after timeout.
func (o *Object) Hasty(timeout time.Duration) backend.ScriptRunner {
	return &dispatch.Runner{Dispatcher: o.core.calls, Hasty: true, Limit: timeout}
}

// Logger returns the client's logger, with the object's kind and name. It is for failures that no
// call returns. It may block.
func (o *Object) Logger() *zap.Logger { return o.core.opts.Logger.With(o.fields()...) }

func (o *Object) fields() []zap.Field {
	return []zap.Field{zap.String("kind", o.id.Object.Kind), zap.String("name", o.id.Object.Name)}
}

// Go runs work in a goroutine. Close of the client waits for it. work runs its scripts with r,
// which returns a panic of the driver as an error, since there is no caller in which to raise it.
// ctx ends when Close gives up. After Close, Go does not run work.
func (o *Object) Go(work func(ctx context.Context, r backend.ScriptRunner)) {
	o.core.background(func(ctx context.Context) { work(ctx, o.core.backgroundCalls) })
}

// Validate returns a [*FieldError] if the name is empty. A primitive passes it to each [Call].
func (o *Object) Validate() error {
	if o.id.Object.Name == "" {
		return &FieldError{"name", "empty"}
	}
	return nil
}

// ValidateTag returns a [*FieldError] if the backend is a cluster, and the key has braces without a
// hash tag in them: then [SideName] and [Tagged] of the key are in other slots. A primitive with
// further keys, or with a channel, passes the error to each [Call]: otherwise a call might acquire
// the object, and another call could not release it.
func (o *Object) ValidateTag() error {
	open := strings.IndexByte(o.id.Key, '{')
	sound := strings.IndexByte(o.id.Key[open+1:], '}') > 0
	if open < 0 {
		sound = !strings.Contains(o.id.Key, "}")
	}
	if sound || !o.core.can.Cluster {
		return nil
	}
	return &FieldError{"name", fmt.Sprintf("%q has no hash tag in its braces", o.id.Key)}
}

// Call makes one call on o: it calls run, and Close of the client waits until run has returned. In
// three cases it does not call run, so nothing is sent:
//
//   - invalid, the error of the object or of the arguments, is not nil: Call returns it;
//   - ctx has ended: Call returns ctx's error;
//   - Close was called: Call returns [backend.ErrClosed].
//
// Call adds to an error the operation, the kind and the name, the cause of ctx's end, and the error
// that a server's reply stands for: [ErrConflict] for WRONGTYPE, and for the codes OTHERKIND and
// NOTANUMBER that scripts declare, and [backend.ErrOverflow] for OVERFLOW. For a conflict it asks
// the server for the type of the key's value, for up to a second. If err is not nil, the value is
// zero.
func Call[T any](
	ctx context.Context, o *Object, invalid error, operation string, run func() (T, error),
) (value T, err error) {
	if err = o.enter(ctx, invalid); err == nil {
		defer o.core.work.leave()
		value, err = run()
		err = o.reason(ctx, err)
	}
	if err != nil {
		var none T
		return none, o.describe(operation, err)
	}
	return value, nil
}

// reason explains err, and adds the cause of ctx's end.
func (o *Object) reason(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return worded.WithCause(ctx, o.explain(ctx, err))
}

// enter begins a call on o under ctx. It returns invalid if that is not nil. If it returns nil, the
// caller must call o.core.work.leave.
func (o *Object) enter(ctx context.Context, invalid error) error {
	if invalid != nil {
		return invalid
	}
	if err := worded.WithCause(ctx, ctx.Err()); err != nil {
		return err
	}
	return o.core.work.enter()
}

func (o *Object) describe(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %q: %w", operation, o.id.Object.Kind, o.id.Object.Name, err)
}

// explain returns the error that a server's error code stands for, such as [ErrConflict] or
// [backend.ErrOverflow]. Where its text says the same as the server's text, it replaces that text.
func (o *Object) explain(ctx context.Context, err error) error {
	var server *backend.ServerError
	replied := errors.As(err, &server)
	switch {
	case errors.Is(err, ErrConflict): // It says so already.
	case otherKind(err):
		conflict := o.kindConflict(ctx)
		return worded.New(conflict.Error(), conflict, err)
	case replied && server.Code == "NOTANUMBER" && server.Message != "" && o.sideKey == "":
		return worded.New(ErrConflict.Error()+": "+server.Message, ErrConflict, err)
	case errors.Is(err, backend.ErrNotANumber), replied && server.Code == "NOTANUMBER":
		conflict := o.notANumber()
		return worded.New(conflict.Error(), conflict, err)
	case replied && server.Code == "OVERFLOW":
		return worded.New(cmp.Or(server.Message, backend.ErrOverflow.Error()), backend.ErrOverflow, err)
	case replied && errors.Is(server, backend.ErrOverflow):
		return worded.New(backend.ErrOverflow.Error(), err)
	case replied && errors.Is(server, backend.ErrNotSupported):
		return fmt.Errorf("%w: the server is older than Redis 7.0, or lacks a command: %w", backend.ErrNotSupported, err)
	case replied && errors.Is(server, backend.ErrNoPermission):
		return o.lackOfRight(ctx, server, err)
	}
	return err
}

// Conflict returns the [ErrConflict] of an object whose key holds a value of the given type, as the
// server's TYPE names it.
func (o *Object) Conflict(valueType string) error {
	return o.otherKeyConflict("key", o.id.Key, valueType)
}

// questionTimeout bounds a question that only makes an error clearer.
const questionTimeout = time.Second

// otherKeyConflict is the conflict of an object one of whose further keys holds a value of the given
// type.
func (o *Object) otherKeyConflict(name, key, valueType string) error {
	return fmt.Errorf("%w: the %s %q of this %s holds a %s", ErrConflict, name, key, o.id.Object.Kind, valueType)
}

// kindConflict is the conflict of an object one of whose keys has a value of another type. It asks
// the server for the types, so the error names the key and the type of its value.
func (o *Object) kindConflict(ctx context.Context) error {
	valueType := o.storedType(ctx, o.id.Key)
	if valueType != o.valueType && valueType != "none" {
		return o.Conflict(valueType)
	}
	for k := o.typedKey; k != nil; k = k.before {
		if found := o.storedType(ctx, k.key); found != k.valueType && found != "none" {
			return o.otherKeyConflict(k.name, k.key, found)
		}
	}
	if o.sideKey != "" {
		if found := o.storedType(ctx, o.sideKey); found != "string" && found != "none" {
			return o.otherKeyConflict(o.sideKeyName, o.sideKey, found)
		}
	}
	if valueType == o.valueType {
		return o.Conflict(valueType + " of another kind")
	}
	return o.Conflict("value of another kind")
}

// notANumber is the conflict of an object whose number is another text.
func (o *Object) notANumber() error {
	const text = "text that is no such number"
	if o.sideKey != "" {
		return o.otherKeyConflict(o.sideKeyName, o.sideKey, text)
	}
	return o.Conflict(text)
}

// storedType asks the server for the type of the key's value. If that fails, it returns a text
// without a type.
func (o *Object) storedType(ctx context.Context, key string) string {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	stored, err := script.ObjectKind(ctx, o.core.calls, key)
	if err != nil {
		return "value of another kind"
	}
	return stored
}

// SideName returns the name of a second key, or of a channel, of the object with the given key. It
// is in the same slot of a cluster: the key becomes its hash tag, unless the key has a hash tag.
// The form is Redisson's.
func SideName(prefix, key string) string { return prefix + ":" + Tagged(key) }

// Tagged returns the key with itself as its hash tag, unless it has braces. Names that begin with
// the result are in the same slot of a cluster as the key, if the braces have a hash tag in them.
// The form is Redisson's.
func Tagged(key string) string {
	if strings.Contains(key, "{") {
		return key
	}
	return "{" + key + "}"
}

// Scan yields the keys that match pattern, as [backend.Scanner] does, one element for each step. An error ends it:
// [backend.ErrNotSupported] if the backend is no Scanner, [backend.ErrClosed] after Close, or one of the backend. While
// the caller has an element, Close does not wait for the caller.
func (c *Core) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		b, can := c.backend.(backend.Scanner)
		if !can {
			yield(nil, fmt.Errorf("the backend lists no keys: %w", backend.ErrNotSupported))
			return
		}
		next, stop := iter.Pull2(b.Scan(ctx, pattern, step))
		defer stop()
		for {
			if err := c.work.enter(); err != nil {
				yield(nil, err)
				return
			}
			keys, err, more := next()
			c.work.leave()
			if !more || !yield(keys, err) {
				return
			}
		}
	}
}
