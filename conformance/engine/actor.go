package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// workLease is the watchdog's lease of a history's clients: short, so losses happen.
	workLease = time.Second
	// fixedLease is a fixed one, which is often kept for longer.
	fixedLease = 300 * time.Millisecond
	// workPatience bounds the waiting for what may be gone for good, such as permits that an answer was lost of.
	workPatience = 2 * time.Second
)

// String implements [Subject].
func (p *Primitive[S, I, O]) String() string { return p.Name }

// workload returns how histories, faults and soaks use p.
func (p *Primitive[S, I, O]) workload() *workload {
	w := &workload{
		usable: p, clause: p.Limit, text: p.Promises[p.Limit], waits: p.Ready != nil, always: []string{"answer"},
	}
	for _, op := range p.Ops {
		if !p.hasLeases() && !op.ExcludeFromHistory || op.Acquire != nil {
			w.ops = append(w.ops, slices.Repeat([]string{op.Name}, op.Weight)...)
		}
	}
	if w.waits {
		w.always = []string{"grant"}
	}
	if p.hasLeases() {
		w.waiting = p.waitingOp().Name
	}
	return w
}

// actor returns what takes the steps of an actor.
func (p *Primitive[S, I, O]) actor(a *actor) func(context.Context, Step) {
	return (&participant[S, I, O]{actor: a, of: p}).step
}

func (p *Primitive[S, I, O]) waitingOp() *Op[S, I, O] {
	return &p.Ops[slices.IndexFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Waits })]
}

// oneThatWaits returns one of the operations that wait; of what has leases the first.
func (p *Primitive[S, I, O]) oneThatWaits(which int) *Op[S, I, O] {
	if p.hasLeases() {
		return p.waitingOp()
	}
	var all []*Op[S, I, O]
	for i := range p.Ops {
		if p.Ops[i].Waits {
			all = append(all, &p.Ops[i])
		}
	}
	return all[which%len(all)]
}

// prepare makes the object that everything begins with.
func (p *Primitive[S, I, O]) prepare(ctx context.Context, e *harness.Env, object string) {
	if p.Init.Kind != Absent {
		p.set(ctx, e, object, p.Init)
	}
}

// set makes an object another behind the back of all clients. Its own key, by which others see it, is the last.
func (p *Primitive[S, I, O]) set(ctx context.Context, e *harness.Env, name string, s State[S]) {
	for _, key := range slices.Backward(p.Stored(name, s)) {
		key.write(func(args ...string) { e.Command(ctx, args...) })
	}
}

// read returns what an object's own key holds.
func (p *Primitive[S, I, O]) read(ctx context.Context, e *harness.Env, name string) (backend.Reply, error) {
	return e.Do(ctx, name, p.Stored(name, p.Some)[0].reader()...)
}

// rest waits until nobody holds an object, and all is back that was taken of it.
func (p *Primitive[S, I, O]) rest(ctx context.Context, e *harness.Env, object string) {
	if !p.hasLeases() && p.Takes == nil {
		return // Nothing comes back.
	}
	harness.Eventually(ctx, "the object of the beginning", func() bool {
		return p.isFree(ctx, e, object) && len(p.queued(ctx, e, object)) == 0
	})
}

// look records what the object's key holds in the end, if there are no leases: the reply is the output.
func (p *Primitive[S, I, O]) look(ctx context.Context, e *harness.Env, object string, log *history.Log) {
	if p.hasLeases() {
		return
	}
	call := log.Process().Call("a look")
	reply, err := p.read(ctx, e, object)
	if err != nil {
		call.Drop() // A server that is down.
		return
	}
	call.Return(reply)
}

// wake lets one client wait for an object until another makes it ready, and returns nil when the
// first has it. It is asked over sound links.
func (p *Primitive[S, I, O]) wake(ctx context.Context, waiter, waker Named) error {
	return must.Catch(func() {
		free := p.occupy(ctx, waker)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		got := must.Start(func() { p.waitAndLeave(ctx, waiter) })
		time.Sleep(50 * time.Millisecond) // It has a moment to begin to wait.
		free()
		must.Do(<-got)
		must.Do(ctx.Err()) // One that gives up may find what it waits for.
	})
}

// occupy makes an object one that has to be waited for, and returns what lets one go on.
func (p *Primitive[S, I, O]) occupy(ctx context.Context, as Named) (free func()) {
	var none State[S]
	if in, ok := p.Blocks(none); ok && p.hasLeases() {
		lease := must.Get(p.opFor(in).Acquire(ctx, as.Client, as.Name, in))
		return func() { must.Do(lease.Release(ctx)) }
	} else if ok {
		must.Get(p.opFor(in).Call(ctx, as.Client, as.Name, in))
	}
	in, _ := p.Frees(none)
	return func() { must.Get(p.opFor(in).Call(ctx, as.Client, as.Name, in)) }
}

// waitAndLeave waits for an object, and gives back what it got.
func (p *Primitive[S, I, O]) waitAndLeave(ctx context.Context, as Named) {
	leave := p.await(ctx, as)
	leave(context.WithoutCancel(ctx))
}

// await waits for an object, and returns what gives back what it got.
func (p *Primitive[S, I, O]) await(ctx context.Context, as Named) (leave func(context.Context)) {
	op := p.waitingOp()
	in := op.Generate(Params[S]{})
	if op.Acquire != nil {
		lease := must.Get(op.Acquire(ctx, as.Client, as.Name, in))
		return func(ctx context.Context) { must.Do(lease.Release(ctx)) }
	}
	out := must.Get(op.Call(ctx, as.Client, as.Name, in))
	if op.Back == nil {
		return func(context.Context) {}
	}
	back, took := op.Back(in, out)
	return func(ctx context.Context) {
		if took {
			must.Get(p.opFor(back).Call(ctx, as.Client, as.Name, back))
		}
	}
}

// opNamed returns the operation of that name; nil: there is none.
func (p *Primitive[S, I, O]) opNamed(name string) *Op[S, I, O] {
	for i := range p.Ops {
		if p.Ops[i].Name == name {
			return &p.Ops[i]
		}
	}
	return nil
}

// opFor returns the first operation that asks for what in does.
func (p *Primitive[S, I, O]) opFor(in I) *Op[S, I, O] {
	for i := range p.Ops {
		if p.Verb(p.Ops[i].Generate(Params[S]{})) == p.Verb(in) {
			return &p.Ops[i]
		}
	}
	must.Fail("no operation asks for %+v", in)
	return nil
}

// participant is an actor that uses a primitive.
type participant[S, I, O comparable] struct {
	*actor
	of *Primitive[S, I, O]
}

// step takes a step. It fails if something was promised and not kept; what may fail is no failure.
func (u *participant[S, I, O]) step(ctx context.Context, s Step) {
	if op := u.of.opNamed(s.Op); op.Acquire != nil {
		u.acquire(ctx, s, op)
	} else {
		u.call(ctx, s, op)
	}
}

// draw returns what a step asks for.
func (u *participant[S, I, O]) draw(s Step, op *Op[S, I, O]) I {
	return op.Generate(Params[S]{Which: s.N, Flag: s.Flag, For: 14*s.Hold + s.Pause, Fixed: fixedLease})
}

// call makes a call, and puts back what it took.
func (u *participant[S, I, O]) call(ctx context.Context, s Step, op *Op[S, I, O]) {
	in, patience := u.draw(s, op), s.Patience
	if op.Waits && patience == 0 {
		patience = workPatience
	}
	out, ok := u.record(ctx, patience, op, in)
	if !ok || op.Back == nil {
		return
	}
	time.Sleep(s.Hold)
	if in, took := op.Back(in, out); took {
		u.record(context.WithoutCancel(ctx), 0, u.of.opFor(in), in)
	}
}

// within returns a context that ends after some patience; 0: with ctx.
func within(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if patience > 0 {
		return context.WithTimeout(ctx, patience)
	}
	return context.WithCancel(ctx)
}

// record makes a call with some patience, and records it. Ok says that it was answered, not refused.
func (u *participant[S, I, O]) record(ctx context.Context, patience time.Duration, op *Op[S, I, O], in I) (out O, ok bool) {
	ctx, cancel := within(ctx, patience)
	defer cancel()
	call := u.process.Call(event[I]{in: in})
	out, err := op.Call(ctx, u.client, u.object, in)
	switch {
	case err == nil:
		u.reach(either(op.Waits || op.Tries, "grant", "answer"))
		call.Return(outcome[O]{out: out})
		return out, true
	case errors.Is(err, primitives.ErrOverflow):
		u.reach("overflow")
		call.Return(outcome[O]{out: must.Get(u.of.Answers(&Script{Err: err}))[0]})
	case errors.Is(err, primitives.ErrNotAcquired):
		u.reach("refusal")
		call.Return(outcome[O]{})
	case !backend.MayHaveRun(err):
		call.Drop()
	case u.of.Doubt != nil:
		u.reach(op.Name + " without an answer")
		left := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		call.Return(outcome[O]{unknown: true, left: left})
	default:
		u.reach(op.Name + " without an answer")
		call.Unknown(outcome[O]{unknown: true})
	}
	return out, false
}

// acquire takes a lease, keeps it, and releases it.
func (u *participant[S, I, O]) acquire(ctx context.Context, s Step, op *Op[S, I, O]) {
	in := u.draw(s, op)
	limited, cancel := within(ctx, s.Patience)
	defer cancel()
	call := u.process.Call(event[I]{in: in})
	lease, err := op.Acquire(limited, u.client, u.object, in)
	if err != nil {
		call.Drop() // The model of holds accepts it in any case.
		u.reach(failedAcquire(err))
		return
	}
	h := &holding[S, I, O]{participant: u, lease: lease, belief: call.Time()}
	call.Return(outcome[O]{out: u.of.Hold.Granted(lease.Owner(), lease.Token())})
	u.reach("grant")
	h.keep(s.Hold)
	h.release(context.WithoutCancel(ctx))
}

// failedAcquire names the situation of an acquire that failed.
func failedAcquire(err error) string {
	switch {
	case errors.Is(err, primitives.ErrNotAcquired):
		return "refusal"
	case backend.MayHaveRun(err), errors.Is(err, primitives.ErrLost):
		return "acquire without an answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "impatience"
	}
	return "acquire that did not run"
}

// holding is what one acquire got.
type holding[S, I, O comparable] struct {
	*participant[S, I, O]
	lease  *primitives.Lease
	belief int64 // the history's time at which the lease last said that it is held
}

// keep asks the lease again and again whether it is held, for d or until it says no.
func (h *holding[S, I, O]) keep(d time.Duration) {
	pause := min(d/8, 20*time.Millisecond)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		if !h.trusted() {
			return
		}
	}
	h.trusted()
}

// trusted records that the lease reports that it is held.
func (h *holding[S, I, O]) trusted() bool {
	call := h.process.Call(event[I]{what: believed, owner: h.lease.Owner()})
	if h.lease.Err() != nil {
		call.Drop()
		return false
	}
	call.Return(nil)
	h.belief = call.Time()
	return true
}

// release ends the lease. A hold that was lost ended at some time after it last said that it was held.
func (h *holding[S, I, O]) release(ctx context.Context) {
	owner := h.lease.Owner()
	call := h.process.Call(event[I]{in: h.of.Hold.Release(owner)})
	err := h.lease.Release(ctx)
	switch {
	case err == nil:
		call.Return(outcome[O]{})
	case errors.Is(err, primitives.ErrNotHeld), errors.Is(err, primitives.ErrLost):
		h.reach("loss")
		call.Drop()
		h.log.Since(h.belief, event[I]{what: unseen, owner: owner}, nil)
	default:
		h.reach("release without an answer")
		call.Unknown(outcome[O]{unknown: true})
	}
}
