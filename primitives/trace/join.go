package trace

import (
	"context"
	"slices"
)

// Join returns a tracer that passes each event to all of the given tracers, in their order. Each gets the
// end of an acquire with the context that its own AcquireStart has returned. A tracer without AcquireStart gets that of
// another tracer, or the caller's. Nil tracers are left out.
func Join(tracers ...*Tracer) *Tracer {
	all := joined(slices.DeleteFunc(slices.Clone(tracers), func(t *Tracer) bool { return t == nil }))
	start, end := all.acquires()
	return &Tracer{
		AcquireStart:    start,
		AcquireEnd:      end,
		LeaseEnd:        each(all, func(t *Tracer) func(LeaseEnd) { return t.LeaseEnd }),
		Renewal:         each(all, func(t *Tracer) func(Renewal) { return t.Renewal }),
		SubscriptionGap: each(all, func(t *Tracer) func(SubscriptionGap) { return t.SubscriptionGap }),
		Mismatch:        each(all, func(t *Tracer) func(Mismatch) { return t.Mismatch }),
		JobCompleted:    each(all, func(t *Tracer) func(JobCompleted) { return t.JobCompleted }),
		Throttled:       each(all, func(t *Tracer) func(Throttled) { return t.Throttled }),
	}
}

// joined are the tracers of one Join.
type joined []*Tracer

// each returns a function that calls those functions of all that are not nil. It is nil if there is none.
func each[T any](all joined, of func(*Tracer) func(T)) func(T) {
	var calls []func(T)
	for _, t := range all {
		if call := of(t); call != nil {
			calls = append(calls, call)
		}
	}
	if calls == nil {
		return nil
	}
	return func(data T) {
		for _, call := range calls {
			call(data)
		}
	}
}

// acquires returns the functions for the starts and the ends of acquires. Only if several tracers have an
// AcquireStart, a later one hides the context of an earlier one from its AcquireEnd.
func (all joined) acquires() (
	start func(context.Context, AcquireStart) context.Context, end func(context.Context, AcquireEnd),
) {
	starters := 0
	for _, t := range all {
		if t.AcquireStart != nil {
			start = t.AcquireStart
			starters++
		}
	}
	if starters > 1 {
		return all.start, all.end
	}
	return start, func(ctx context.Context, data AcquireEnd) {
		all.endEach(data, func(int) context.Context { return ctx })
	}
}

// contextsOf is the key of the contexts of an acquire, one for each of the joined tracers.
type contextsOf struct{ first **Tracer }

// start starts an acquire for all tracers, and keeps the context of each.
func (all joined) start(ctx context.Context, data AcquireStart) context.Context {
	contexts := make([]context.Context, len(all))
	for i, t := range all {
		if t.AcquireStart != nil {
			ctx = t.AcquireStart(ctx, data)
		}
		contexts[i] = ctx
	}
	return context.WithValue(ctx, contextsOf{&all[0]}, contexts)
}

// end ends an acquire for each tracer with its context.
func (all joined) end(ctx context.Context, data AcquireEnd) {
	contexts, _ := ctx.Value(contextsOf{&all[0]}).([]context.Context)
	all.endEach(data, func(i int) context.Context { return contexts[i] })
}

// endEach ends an acquire for each tracer with the given context.
func (all joined) endEach(data AcquireEnd, context func(i int) context.Context) {
	for i, t := range all {
		if t.AcquireEnd != nil {
			t.AcquireEnd(context(i), data)
		}
	}
}
