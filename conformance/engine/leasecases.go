package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// leaseCases returns the cases of leases that need a real server: renewal for each primitive with leases, and a silent
// link for each that one owner holds at a time. Properties, in virtual time, and faults judge the rest.
func (p *Primitive[S, I, O]) leaseCases() []harness.Case {
	cases := []harness.Case{p.newCase("Renewal", "LeasesOfSeveralSlotsAreRenewed", nil, p.renewsSlots)}
	held, ok := p.Step(p.Init, time.Time{}, p.ask(p.waitingOp()), p.Hold.Granted("an owner", 1))
	must.Not(!ok, "%v cannot be acquired", p.Init)
	if !p.Ready(held, p.ask(p.waitingOp())) {
		cases = append(cases, p.newCase("Lease", "SilentLinkNeverOverlaps", link, p.silentLink))
	}
	for i := range cases {
		cases[i].Shared = strings.TrimPrefix(cases[i].Name, p.Name)
	}
	return cases
}

// ask draws what asks for a lease of the watchdog's.
func (p *Primitive[S, I, O]) ask(op *Op[S, I, O]) (in I) {
	for n := range 12 {
		in = op.Generate(Params[S]{Which: n / 2, Flag: n%2 == 1})
		if p.Hold.Fixed(in) == 0 {
			return in
		}
	}
	must.Fail("%s never asks for a lease of the watchdog's", op.Name)
	return in
}

// acquire waits for a lease of the watchdog's.
func (p *Primitive[S, I, O]) acquire(ctx context.Context, as Named) *primitives.Lease {
	op := p.waitingOp()
	return must.Get(op.Acquire(ctx, as.Client, as.Name, p.ask(op)))
}

// renewing has leases that end soon, but not on a machine that stands still for a moment.
var renewing = primitives.Options{WatchdogLease: harness.Patience / 10}

// renewsSlots holds several names: in a cluster no script may renew what is in different slots, nor behind the one
// endpoint of a cluster.
func (p *Primitive[S, I, O]) renewsSlots(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, &primitives.Options{WatchdogLease: harness.Patience / 4})
	held := map[string]*primitives.Lease{}
	for _, name := range e.Slots() {
		held[name] = p.acquire(ctx, Named{c, name})
	}
	for name, lease := range held {
		last := lease.Remaining()
		harness.Eventually(ctx, "the renewal of "+name, func() bool {
			must.Do(lease.Err())
			before := last
			last = lease.Remaining()
			return last > before
		})
	}
}

// silentLink has the link of a holder say nothing any more: its lease has ended, and its context before, when another
// client is granted the object.
func (p *Primitive[S, I, O]) silentLink(ctx context.Context, e *harness.Env) {
	silent, in := NewClient(ctx, e, &renewing)
	other, _ := NewClient(ctx, e, &renewing)
	lease := p.acquire(ctx, Named{silent, e.Key("object")})
	held := lease.Context(ctx)
	ended := make(chan time.Time, 1)
	go func() { <-held.Done(); ended <- time.Now() }()
	in.Link.Blackhole()
	next := p.acquire(ctx, Named{other, e.Key("object")})
	granted := time.Now()
	must.In("the first lease, when the second is held", func() { must.Wrap(lease.Err(), primitives.ErrLost) })
	late := harness.Await(ctx, "the end of the first's context", ended).Sub(granted)
	must.Not(late > 0, "the first's context ended %v after the second's grant", late)
	must.Not(lease.Token() > 0 && lease.Token() >= next.Token(), "token %d, then %d", lease.Token(), next.Token())
	must.Do(next.Release(ctx))
}

// isFree reports whether nobody holds an object by the server. An expired hold is nobody's, even if no call has
// collected it yet: the ends of holds are the scores of a sorted set, if that is another key than the object's own.
func (p *Primitive[S, I, O]) isFree(ctx context.Context, e *harness.Env, name string) bool {
	reply, err := p.read(ctx, e, name)
	if p.Hold != nil && p.Hold.Until != nil && err == nil && !reply.IsNil() {
		keys := p.Stored(name, p.Hold.Until(time.Now()))
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Set != nil }); i > 0 {
			now := must.Get(must.Get(must.Get(e.Do(ctx, name, "TIME")).Tuple(2))[0].Int())
			from := strconv.FormatInt(now*1000, 10) // To the second: rest asks again.
			return must.Get(e.Command(ctx, "ZCOUNT", keys[i].Name, from, "+inf").Int()) == 0
		}
	}
	return holds(p.Stored(name, p.Init)[0], reply, err)
}
