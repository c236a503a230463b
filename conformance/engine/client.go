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

// CountedClient makes a client over a backend that takes no batches, and counts its runs that have ended.
func CountedClient(ctx context.Context, e *harness.Env, o *primitives.Options) (*primitives.Client, *atomic.Int64) {
	ended := new(atomic.Int64)
	c, _ := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend {
		r := &harness.Runner{Backend: b}
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			defer ended.Add(1)
			return r.Good(ctx, c)
		}
		return r
	})
	return c, ended
}

// SideName returns the name of what belongs to a key, in the key's slot, as Redisson makes it.
func SideName(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + key
	}
	return prefix + "{" + key + "}"
}
