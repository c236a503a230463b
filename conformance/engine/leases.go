package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// heldLease is a lease that was returned.
type heldLease[S, I, O comparable] struct {
	lease *primitives.Lease
	claim *claim[S, I, O]
	done  <-chan struct{}
	work  context.Context //nolint:containedctx // It is looked at.
	ended error           // why it has ended; nil: it is held
}

// addLease notes a lease that was returned.
func (m *machine[S, I, O]) addLease(lease *primitives.Lease, c *claim[S, I, O]) {
	l := &heldLease[S, I, O]{
		lease: lease, claim: c, done: lease.Done(), work: lease.Context(context.Background()),
	}
	if err := lease.Err(); m.parties[c.call.party].closed && errors.Is(err, primitives.ErrClosed) {
		l.ended = err // Its client was closed before anybody looked.
	}
	m.leases = append(m.leases, l)
}

// pick returns one of the leases, mostly one of the last; nil: there is none.
func (m *machine[S, I, O]) pick(a act) *heldLease[S, I, O] {
	if len(m.leases) == 0 {
		return nil
	}
	return m.leases[max(0, len(m.leases)-1-a.Which/2)]
}

// leaseOn returns a lease of an object that has not ended; nil: there is none.
func (m *machine[S, I, O]) leaseOn(o *object[S]) *heldLease[S, I, O] {
	for _, l := range m.leases {
		if l.claim.call.object == o && l.ended == nil {
			return l
		}
	}
	return nil
}

// reenter acquires under the context of a lease, mostly what the lease is of.
func (m *machine[S, I, O]) reenter(ctx context.Context, a act) {
	outer := m.pick(a)
	if outer == nil {
		return
	}
	of := outer.claim.call
	c := &call[S, I, O]{op: of.op, party: of.party, object: of.object, in: of.in, outer: outer, limit: time.Now().Add(a.For)}
	if a.Which < 3 || a.Which > 3 && m.of.Hold.Apart != nil { // else of the same amount, which another object may not have
		c.in = c.op.Generate(m.dice(a))
	}
	switch a.Which {
	case 0:
		c.party = a.Client
	case 1:
		c.object = m.objects[a.Object]
	}
	c.runs(m, c.op)
	m.make(outer.lease.Reenter(ctx), c)
}

// judgeInner judges a call under the context of another lease; it reports false if it was one like any other.
func (m *machine[S, I, O]) judgeInner(c *call[S, I, O]) bool {
	outer, of := c.outer, c.outer.claim.call
	m.overtaken(outer, c)
	_, apart, refused := m.apart(c)
	switch {
	case apart && (refused == nil || outer.ended != nil):
		return false // It is a hold of its own.
	case apart && !errors.Is(c.err, refused):
		must.Not(!m.mayHaveLapsed(outer.claim, c.began), "want %q", refused)
		return false
	case apart:
		m.reach("refused side")
	case outer.ended != nil:
		must.Not(!errors.Is(c.err, outer.ended), "want %q", outer.ended)
	case c.party != of.party || c.object != of.object:
		return false
	case m.of.Hold.Fixed(c.in) != m.of.Hold.Fixed(of.in):
		must.Not(!errors.As(c.err, new(*primitives.FieldError)), "it re-entered with another lease")
	default:
		m.reentered(c, outer)
	}
	must.Not(c.sends > 0, "re-entering has sent %d scripts", c.sends)
	return true
}

// overtaken notes that the client knew before a call that a lease was lost. Only in real time may the machine not have
// looked at the lease since.
func (m *machine[S, I, O]) overtaken(l *heldLease[S, I, O], c *call[S, I, O]) {
	if l.ended == nil && c.sends == 0 && m.mayHaveLapsed(l.claim, c.began) && errors.Is(l.lease.Err(), primitives.ErrLost) {
		l.ended = primitives.ErrLost
	}
}

// apart is Hold.Apart for a call under the context of another lease, of the same object.
func (m *machine[S, I, O]) apart(c *call[S, I, O]) (awaits I, apart bool, refused error) {
	if c.outer == nil || m.of.Hold.Apart == nil {
		return c.in, false, nil
	}
	of := c.outer.claim.call
	if c.party != of.party || c.object != of.object {
		return c.in, false, nil
	}
	return m.of.Hold.Apart(of.in, c.outer.claim.owner, c.in)
}

func (m *machine[S, I, O]) reentered(c *call[S, I, O], outer *heldLease[S, I, O]) {
	must.Not(c.err != nil, "it re-enters what is held")
	must.Not(c.lease.Owner() != outer.claim.owner || c.lease.Token() != outer.lease.Token(),
		"re-entering gave another hold")
	m.reach("re-entry")
	m.addLease(c.lease, outer.claim)
}

// unlock unlocks a lease, perhaps once more.
func (m *machine[S, I, O]) unlock(ctx context.Context, l *heldLease[S, I, O], a act) {
	if l == nil {
		return
	}
	of := l.claim.call
	c := &call[S, I, O]{party: of.party, object: of.object, in: m.of.Hold.Release(l.claim.owner), began: time.Now()}
	ctx = context.WithValue(ctx, callKey{}, c)
	m.mu.Lock()
	l.claim.unlock = c
	m.mu.Unlock()
	c.cancel = func() {}
	switch a.Which {
	case 0:
		ctx = l.lease.Context(ctx)
	case 1:
		ctx, c.cancel = context.WithCancel(ctx)
		c.cancel()
	case 2:
		ctx, c.cancel = context.WithTimeout(ctx, a.For)
	}
	defer c.cancel()
	c.ctx = ctx
	c.err = l.lease.Release(ctx)
	c.ended = time.Now()
	m.settle() // What was begun is sent.
	m.mu.Lock()
	defer m.mu.Unlock()
	must.In("after "+c.describe(), func() { m.judgeUnlock(l, c) })
}

func (m *machine[S, I, O]) judgeUnlock(l *heldLease[S, I, O], c *call[S, I, O]) {
	m.overtaken(l, c)
	if l.ended != nil {
		must.Wrap(c.err, primitives.ErrNotHeld, l.ended)
		must.Not(c.sends > 0, "it has sent %d scripts", c.sends)
		return
	}
	l.ended = primitives.ErrReleased
	if slices.ContainsFunc(m.leases, func(o *heldLease[S, I, O]) bool { return o.claim == l.claim && o.ended == nil }) {
		must.Do(c.err)
		must.Not(c.sends > 0, "it has sent %d scripts", c.sends)
		return
	}
	l.claim.ends(time.Now())
	m.judgeRelease(c)
}

// judgeRelease compares the error of a Release that released with the answer that its script got.
func (m *machine[S, I, O]) judgeRelease(c *call[S, I, O]) {
	over := c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err())
	unknown := errors.Is(c.err, backend.ErrIndeterminate)
	last := c.last
	// What is queued is sent later.
	underWay := last.run == nil || last.open() || !last.at.Before(c.ended)
	out, answered := last.out.(O)
	switch {
	case over && unknown && underWay:
		m.reach("unlock left behind")
	case last.run == nil || last.open():
		must.Fail("nothing was sent")
	case isConflict(last.err):
		must.Wrap(c.err, primitives.ErrNotHeld, primitives.ErrConflict)
	case last.err != nil && backend.MayHaveRun(last.err):
		must.Wrap(c.err, backend.ErrIndeterminate, last.err)
	case last.err != nil: // It is sent again.
		must.Wrap(c.err, backend.ErrIndeterminate)
	case answered && m.of.Hold.Done(out):
		must.Not(c.err != nil, "but it was released")
	default:
		must.Wrap(c.err, primitives.ErrNotHeld, primitives.ErrLost)
	}
}

// lookAtLease compares what a lease says of itself with what it may.
func (m *machine[S, I, O]) lookAtLease(l *heldLease[S, I, O]) {
	at, closed := time.Now(), isClosed(l.done)
	if !closed && l.ended == nil && !m.virtual && l.claim.belief.Over(at) {
		return // The client has yet to read the answer of the server.
	}
	must.Not(!closed && (l.ended != nil || l.claim.belief.Over(at)), "Done is not closed")
	must.Not(closed && l.ended == nil && l.claim.belief.Good(at), "Done is closed, and it is held")
	err, rest := l.lease.Err(), l.lease.Remaining()
	must.Not((err == nil) != (rest > 0), "it says %v, and that %v remain", err, rest)
	if !m.virtual && rest > 0 {
		rest = l.claim.belief.Ends().Sub(at)
	}
	if l.ended == nil {
		must.Do(l.claim.belief.Look(at, rest))
		if err == nil {
			return
		}
		l.ended = primitives.ErrLost
		m.reach("loss")
	}
	must.Not(!errors.Is(err, l.ended), "it says %v after its end by %v", err, l.ended)
	must.Not(l.work.Err() == nil || !errors.Is(context.Cause(l.work), l.ended),
		"its context ended by %v, want %v", context.Cause(l.work), l.ended)
}

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
