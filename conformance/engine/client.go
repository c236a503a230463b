package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Never is a poll interval that no case waits for: waiting ends by messages, or by the end of a lease.
const Never = time.Hour

// Named is an object as one client sees it.
type Named struct {
	Client *primitives.Client
	Name   string
}

// NewClient makes a client of primitives, over a backend of its own, that ends with the case.
func NewClient(ctx context.Context, e *harness.Env, o *primitives.Options) (*primitives.Client, *harness.Instance) {
	return ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return b })
}

// ClientOver makes a client over what wrap makes of an instance's backend.
func ClientOver(
	ctx context.Context, e *harness.Env, o *primitives.Options, wrap func(backend.Backend) backend.Backend,
) (*primitives.Client, *harness.Instance) {
	in := e.Open(ctx)
	c := must.Get(primitives.New(wrap(in.Backend), o))
	e.AtEnd(func(ctx context.Context) { _ = c.Close(ctx) })
	return c, in
}

// Clients makes n clients whose waiters are woken by messages alone, if there are messages: the watchdog
// does not come in time to find that something is over.
func Clients(ctx context.Context, e *harness.Env, n int) []*primitives.Client {
	o := &primitives.Options{PollInterval: Never, WatchdogLease: endlessLease}
	if !e.Capabilities.PubSub {
		o.PollInterval = 100 * time.Millisecond
	}
	all := make([]*primitives.Client, n)
	for i := range all {
		all[i], _ = NewClient(ctx, e, o)
	}
	return all
}

// Prefixed returns the object of that whole name as a client sees it whose prefix is a part of that.
func Prefixed(ctx context.Context, e *harness.Env, whole string) Named {
	const length = 5
	c, _ := NewClient(ctx, e, &primitives.Options{
		KeyPrefix: whole[:length], PollInterval: Never, WatchdogLease: endlessLease,
	})
	return Named{c, whole[length:]}
}

// WantField fails unless err is a FieldError of that field.
func WantField(err error, field string) {
	var bad *primitives.FieldError
	must.Not(!errors.As(err, &bad) || bad.Field != field, "returned %w, want a FieldError of %s", err, field)
}

// Counter counts what a client asks of its backend, which takes no batches, and the runs that have
// ended.
type Counter struct {
	backend.Backend
	Calls, Ended atomic.Int64
}

// CountedClient makes a client whose calls of the backend are counted.
func CountedClient(
	ctx context.Context, e *harness.Env, o *primitives.Options,
) (*primitives.Client, *Counter) {
	var counted *Counter
	c, _ := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend {
		counted = &Counter{Backend: b}
		return counted
	})
	return c, counted
}

// Run implements [backend.ScriptRunner].
func (c *Counter) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	c.Calls.Add(1)
	defer c.Ended.Add(1)
	return c.Backend.Run(ctx, s, keys, args)
}

// Subscribe implements [backend.Subscriber].
func (c *Counter) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	c.Calls.Add(1)
	return c.Backend.Subscribe(ctx, channel, handler)
}

// SideName returns the name of what belongs to a key, in the key's slot, as Redisson makes it.
func SideName(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + key
	}
	return prefix + "{" + key + "}"
}
