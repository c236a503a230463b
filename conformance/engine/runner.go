package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// runner runs crowds on a harness, one after the other or side by side, and makes faults among them: that is what
// histories, fault cases and soaks consist of.
type runner struct {
	h       *harness.Harness
	reached *Coverage
	soaks   bool // undecided histories are counted; else each is a failure

	// gate is held by a crowd while it starts, and by a fault while it lasts: a driver's
	// constructor may well fail under a fault.
	gate    sync.RWMutex
	lasting atomic.Bool // a fault lasts

	mu     sync.Mutex
	crowds []*running
}

// run runs a crowd, and returns what is wrong.
func (r *runner) run(ctx context.Context, c crowd) error {
	e := harness.NewEnv(r.h)
	defer e.Close()
	return must.Catch(func() {
		one := r.enter(ctx, c, e)
		defer r.leave(one)
		one.run(ctx)
	})
}

func (r *runner) enter(ctx context.Context, c crowd, e *harness.Env) *running {
	r.gate.RLock()
	defer r.gate.RUnlock()
	one := r.start(ctx, c, e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds = append(r.crowds, one)
	return one
}

func (r *runner) leave(one *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crowds = slices.DeleteFunc(r.crowds, func(other *running) bool { return other == one })
}

// strike makes a fault among all crowds, at links of one of them, which choose chooses. It returns when the fault has
// ended, even if ctx ends before. Without a crowd it does nothing.
func (r *runner) strike(ctx context.Context, f fault, choose func(crowds []*running) *scene) {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.mu.Lock()
	crowds := slices.Clone(r.crowds)
	r.mu.Unlock()
	if len(crowds) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.lasting.Store(true)
	defer r.lasting.Store(false)
	for _, c := range crowds {
		c.suffers(f)
	}
	var heal func(ctx context.Context)
	must.In("making the fault "+f.name, func() { heal = f.inject(ctx, choose(crowds)) })
	time.Sleep(f.lasts)
	if heal != nil {
		must.In("ending the fault "+f.name, func() { heal(ctx) })
	}
	r.reached.add("fault " + f.name)
}

// The names of what becomes of histories.
const (
	checkedHistories   = "checked histories"
	undecidedHistories = "undecided histories"
)

// judge counts a history. It returns what a check of it found, but for what is not a failure.
func (r *runner) judge(found error) error {
	switch {
	case found == nil:
		r.reached.add(checkedHistories)
	case r.soaks && errors.Is(found, history.ErrUndecided):
		r.reached.add(undecidedHistories)
		return nil
	}
	return found
}

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
