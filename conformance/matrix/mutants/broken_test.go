package mutants

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
)

// broken is a backend whose methods can be replaced.
type broken struct {
	backend.Backend
	instance *conformance.Instance
	harness  *conformance.Harness
	events   *events

	run       runFunc
	subscribe subscribeFunc
	batch     changeFunc                                // of RunBatch; nil: the good one
	before    func(calls []backend.Call) []backend.Call // of a good batch; nil: nothing
	wait      changeFunc                                // of RunThenWait; nil: the good one
	node      func(key string) string                   // nil: the good one
	scan      scanFunc
	can       func(c backend.Capabilities) backend.Capabilities
	close     func() error
}

// events are what a case has done to the servers.
type events struct{ restarted, moving atomic.Bool }

// watch notes what is done by h.
func (e *events) watch(h *conformance.Harness) {
	if restart := h.Restart; restart != nil {
		h.Restart = func(ctx context.Context, keep bool) error {
			e.restarted.Store(true)
			return restart(ctx, keep)
		}
	}
	if migrate := h.Migrate; migrate != nil {
		h.Migrate = func(ctx context.Context, key string) (func(context.Context) error, error) {
			e.moving.Store(true)
			finish, err := migrate(ctx, key)
			return func(ctx context.Context) error { e.moving.Store(false); return finish(ctx) }, err
		}
	}
}

// The types of what a mutant replaces.
type (
	runFunc       = func(ctx context.Context, c backend.Call) (backend.Reply, error)
	subscribeFunc = func(context.Context, string, backend.Handler) (backend.Subscription, error)
	scanFunc      = func(context.Context, string, int) iter.Seq2[[]string, error]
	batchFunc     = func(ctx context.Context, calls []backend.Call) []backend.Outcome

	// A changeFunc returns the outcomes when all are known.
	changeFunc = func(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome
)

func newBroken(in *conformance.Instance, h *conformance.Harness) *broken {
	good := in.Backend
	return &broken{
		Backend: good, instance: in, harness: h,
		run: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			return good.Run(ctx, c.Script, c.Keys, c.Args)
		},
		subscribe: good.Subscribe,
		can:       func(c backend.Capabilities) backend.Capabilities { return c },
		close:     good.Close,
	}
}

func (b *broken) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	return b.run(ctx, backend.Call{Script: s, Keys: keys, Args: args})
}

func (b *broken) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	return b.subscribe(ctx, channel, handler)
}

func (b *broken) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	if b.before != nil {
		calls = b.before(calls)
	}
	if b.batch == nil {
		b.Backend.(backend.Batcher).RunBatch(ctx, calls, report)
		return
	}
	for place, outcome := range b.batch(ctx, calls, b.runAll) {
		report(place, outcome)
	}
}

func (b *broken) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	good := b.Backend.(backend.ReplicaWaiter)
	if b.wait == nil {
		good.RunThenWait(ctx, calls, replicas, timeout, report)
		return
	}
	for place, outcome := range b.wait(ctx, calls, func(ctx context.Context, calls []backend.Call) []backend.Outcome {
		outcomes := make([]backend.Outcome, len(calls))
		good.RunThenWait(ctx, calls, replicas, timeout, func(place int, o backend.Outcome) { outcomes[place] = o })
		return outcomes
	}) {
		report(place, outcome)
	}
}

func (b *broken) NodeOf(key string) string {
	if b.node != nil {
		return b.node(key)
	}
	if good, ok := b.Backend.(backend.Locator); ok {
		return good.NodeOf(key)
	}
	return ""
}

func (b *broken) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	if b.scan != nil {
		return b.scan(ctx, pattern, step)
	}
	return b.Backend.(backend.Scanner).Scan(ctx, pattern, step)
}

func (b *broken) Capabilities() backend.Capabilities { return b.can(b.Backend.Capabilities()) }
func (b *broken) Close() error                       { return b.close() }

// These break one method of each backend. What they get is called once for a backend, and may keep what it needs.

func onRun(change func(good runFunc) runFunc) func(*broken) {
	return func(b *broken) { b.run = change(b.run) }
}

func onSubscribe(change func(good subscribeFunc) subscribeFunc) func(*broken) {
	return func(b *broken) { b.subscribe = change(b.subscribe) }
}

func onBatch(change changeFunc) func(*broken) { return func(b *broken) { b.batch = change } }
func onWait(change changeFunc) func(*broken)  { return func(b *broken) { b.wait = change } }

// runAll is the good RunBatch.
func (b *broken) runAll(ctx context.Context, calls []backend.Call) []backend.Outcome {
	return backend.RunAll(ctx, b.Backend.(backend.Batcher), calls)
}

// onCall changes what is sent.
func onCall(change func(c *backend.Call)) func(*broken) {
	return onContext(func(ctx context.Context, c *backend.Call) context.Context { change(c); return ctx })
}

// onContext changes what is sent, and the context under which.
func onContext(change func(ctx context.Context, c *backend.Call) context.Context) func(*broken) {
	return onRun(func(good runFunc) runFunc {
		return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			ctx = change(ctx, &c)
			return good(ctx, c)
		}
	})
}

// onReply changes the outcome of each run.
func onReply(change func(c backend.Call, r backend.Reply, err error) (backend.Reply, error)) func(*broken) {
	return onRun(func(good runFunc) runFunc {
		return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			reply, err := good(ctx, c)
			return change(c, reply, err)
		}
	})
}

// onError changes what runs fail with, if they do.
func onError(change func(err error) error) func(*broken) {
	return onReply(func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if err != nil {
			err = change(err)
		}
		return r, err
	})
}

// again runs a call a second time when its error is as described.
func again(when func(ctx context.Context, c backend.Call, err error) bool) func(*broken) {
	return onRun(func(good runFunc) runFunc {
		return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			reply, err := good(ctx, c)
			if err != nil && when(ctx, c, err) {
				_, _ = good(context.WithoutCancel(ctx), c)
			}
			return reply, err
		}
	})
}

// deaf makes some calls go on when their context ends.
func deaf(when func(ctx context.Context, c backend.Call) bool) func(*broken) {
	return onContext(func(ctx context.Context, c *backend.Call) context.Context {
		if ctx.Err() == nil && when(ctx, *c) {
			return context.WithoutCancel(ctx)
		}
		return ctx
	})
}

// onEvents puts change between each subscription and its handler.
func onEvents(change func(h backend.Handler) backend.Handler) func(*broken) {
	return onSubscribe(func(good subscribeFunc) subscribeFunc {
		return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
			return good(ctx, channel, change(h))
		}
	})
}

// onSubscription changes what Subscribe has returned.
func onSubscription(
	change func(ctx context.Context, channel string, sub backend.Subscription) backend.Subscription,
) func(*broken) {
	return onSubscribe(func(good subscribeFunc) subscribeFunc {
		return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
			sub, err := good(ctx, channel, h)
			if err != nil {
				return nil, err
			}
			return change(ctx, channel, sub), nil
		}
	})
}

// canceler is a subscription that is cancelled by a function.
type canceler func()

func (f canceler) Cancel() { f() }
