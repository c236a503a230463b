package throttle

import (
	"context"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about what takes permits of several throttles, which the model does not have.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "ThrottlesOfSeveralSlots", "Throttle.Refusals", nil, severalSlots),
		harness.NewCase(Promises, "ThrottlesOfAnAdmission", "Throttle.Refusals", nil, admission),
	}
}

// three returns throttles with a burst of three, and what fails unless so many permits of each are free.
func three(ctx context.Context, c *primitives.Client, names ...string) (all []*primitives.Throttle, wants func(free ...int)) {
	for _, name := range names {
		all = append(all, c.NewThrottle(name, limit(1, season, 3), &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}))
	}
	return all, func(free ...int) {
		for i, d := range must.Get(c.ThrottleStates(ctx, all...)) {
			must.Not(d.Remaining != free[i], "%q has %d permits, want %d", all[i].Name(), d.Remaining, free[i])
		}
	}
}

// severalSlots takes slot by slot. A refusal of the last gives back what the others granted.
func severalSlots(ctx context.Context, e *harness.Env) {
	r, wants := three(ctx, engine.Clients(ctx, e, 1)[0], append(e.Slots(), e.Key("third"))...)
	all := primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: true}, r[0].Take(1), r[1].Take(1), r[2].Take(2))
	for _, allowed := range []bool{true, false} {
		d := must.Get(all.Allow(ctx))
		must.Not(d.Allowed != allowed || d.Throttle != r[2], "the decision is %+v", d)
		wants(2, 2, 1)
	}
}

// admission waits for a slot, which another client releases, and takes permits with it.
func admission(ctx context.Context, e *harness.Env) {
	clients, name := engine.Clients(ctx, e, 2), e.Key("slots")
	r, wants := three(ctx, clients[0], e.Key("one"), e.Key("other"))
	a := primitives.NewAdmission(clients[0].NewCountingSemaphore(name, 1, nil), r[0].Take(1), r[1].Take(2))
	held := must.Get(clients[1].NewCountingSemaphore(name, 1, nil).TryAcquire(ctx))
	must.Refuse[*primitives.Lease]("trying", primitives.ErrNotAcquired)(a.TryAcquire(ctx))
	waiter := must.Start(func() { must.Do(must.Get(a.Acquire(ctx)).Release(ctx)) })
	harness.NotYet("the waiter", waiter)
	wants(3, 3)
	must.Do(held.Release(ctx))
	harness.Finish("the waiter", waiter)
	wants(2, 1)
	must.Refuse[*primitives.Lease]("trying again", primitives.ErrNotAcquired)(a.TryAcquire(ctx))
	wants(2, 1)
}
