package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// machine drives the objects of a primitive by one action after the other, next to an exact model.
type machine[S, I, O comparable] struct {
	*world
	of      *Primitive[S, I, O]
	objects []*object[S]
	calls   []*call[S, I, O] // under way; changed by the machine's goroutine alone, with mu held
	claims  map[string]*claim[S, I, O]
	leases  []*heldLease[S, I, O]
	takes   []*take[S, I, O]
}

// object is one object on the server. What is below its names is guarded by world.mu.
type object[S comparable] struct {
	name, channel string
	state         State[S]
	since         time.Time // when something other than time changed it
	misled        bool      // its waiters may assume another end of its life
	meddled       time.Time // when it was last changed behind the back of all clients
	lines         map[string]*line
	listen        func(channel string) *harness.Inbox // nil: there are no messages

	added int64 // to what can be taken, less what was deleted
}

func newMachine[S, I, O comparable](
	ctx context.Context, p *Primitive[S, I, O], e *harness.Env, s setting, virtual bool, reach func(string),
) *machine[S, I, O] {
	m := &machine[S, I, O]{world: newWorld(ctx, e, s, virtual, reach), of: p, claims: map[string]*claim[S, I, O]{}}
	m.watch = m
	for _, name := range []string{e.Apart("a"), e.Tag + "-plain"}[:propertyObjects] {
		o := &object[S]{name: objectPrefix + name}
		m.objects = append(m.objects, o)
		if p.Channel != nil && e.Capabilities.PubSub {
			own := e.Backend(ctx)
			o.channel, o.lines = p.Channel(e.Capabilities, o.name), map[string]*line{}
			o.listen = func(channel string) *harness.Inbox {
				ear, _ := e.Listen(ctx, own, channel)
				return ear
			}
			o.line(o.channel)
		}
		m.put(ctx, o, Change[S]{Next: p.Init})
	}
	if p.Edge != nil {
		m.put(ctx, m.objects[0], Change[S]{Next: *p.Edge})
	}
	return m
}

// act takes one action. One that makes no sense at present does nothing.
func (m *machine[S, I, O]) act(ctx context.Context, a act) {
	if op := m.of.opNamed(a.Op); op != nil {
		m.make(ctx, m.call(a, op))
		return
	}
	o := m.objects[a.Object]
	switch a.Op {
	case "wait":
		m.wait(ctx, a)
	case "give up":
		if len(m.calls) > 0 {
			m.calls[a.Which%len(m.calls)].cancel()
		}
		m.settle()
	case "put back":
		m.putBack(ctx, a)
	case "hand over":
		m.handOver(ctx, a)
	case "snatch":
		m.snatch(ctx, a)
	case "crowd":
		m.crowd(ctx, a)
	case "expire", "persist":
		m.make(ctx, m.lifeCall(a))
	case "unlock":
		m.unlock(ctx, m.pick(a), a)
	case "reenter":
		m.reenter(ctx, a)
	case "clock":
		m.step(a.For)
	case "peer":
		m.peer(ctx, o, a)
	case "forget":
		m.meddle(ctx, o, Change[S]{Next: m.present(o).Gone(m.of.Keep)})
	case "other kind":
		if a.Which < 2 {
			m.meddle(ctx, o, Change[S]{Next: State[S]{Kind: Other, V: m.present(o).Gone(m.of.Keep).V}})
		}
	default:
		m.world.act(ctx, a)
	}
}

// acts are the names of the actions that make sense for p, more often those that are more usual.
func (p *Primitive[S, I, O]) acts() []string {
	all := slices.Concat(commonActs, []string{"forget", "other kind"})
	more := func(n int, name string) { all = append(all, slices.Repeat([]string{name}, n)...) }
	for _, op := range p.Ops {
		more(op.Weight, op.Name)
	}
	if p.Ready != nil {
		more(3, "wait")
		more(2, "give up")
		more(3, "hand over")
		more(1, "snatch")
		more(1, "crowd")
	}
	if p.Lived != nil {
		more(1, "expire")
		more(1, "persist")
	}
	if p.hasLeases() {
		more(4, "unlock")
		more(2, "reenter")
	}
	if p.Hold != nil {
		more(1, "clock")
	}
	if p.Takes != nil {
		more(4, "put back")
	}
	if p.Peer != nil {
		more(2, "peer")
	}
	return all
}

// present returns what an object is.
func (m *machine[S, I, O]) present(o *object[S]) State[S] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(o, m.serverNow())
	return o.state
}

// dice are what an operation on an object is drawn by.
func (m *machine[S, I, O]) dice(a act) Params[S] {
	return Params[S]{
		Which: a.Which, Flag: a.Flag, For: a.For, Now: m.present(m.objects[a.Object]), Fixed: m.fixed,
		At: m.serverNow(),
	}
}

// peer changes an object as another program does.
func (m *machine[S, I, O]) peer(ctx context.Context, o *object[S], a act) {
	d := m.dice(a)
	if c, ok := m.of.Peer(d); ok && d.Now.Kind != Other {
		m.meddle(ctx, o, c)
	}
}

// meddle changes an object behind the back of all clients.
func (m *machine[S, I, O]) meddle(ctx context.Context, o *object[S], c Change[S]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(ctx, o, c)
}

// put makes the keys of an object those of another state. The caller holds mu, unless nobody else has the machine yet.
func (m *machine[S, I, O]) put(ctx context.Context, o *object[S], c Change[S]) {
	m.pass(o, m.serverNow())
	before := o.state
	had := m.of.Stored(o.name, before)
	for i, key := range m.of.Stored(o.name, c.Next) {
		old, there := named(had, key.Name)
		kept := i > 0 || c.Next.Kind == before.Kind && c.Next.Ends == before.Ends && c.Life == 0
		if there && kept && key.same(old) {
			continue
		}
		m.write(ctx, key, c, i == 0)
		if i == 0 && c.Life > 0 {
			c.Next.Ends = m.serverNow().Add(c.Life)
		}
	}
	if m.of.Queue != nil {
		for _, owner := range append(m.of.Hold.Holders(c.Next), m.of.Queue.Waiting(c.Next)...) {
			o.line(m.of.channelOf(o.channel, owner))
		}
	}
	if c.Message != "" {
		channel, text := m.of.addressed(o.channel, c.Message)
		must.Get(m.Do(ctx, channel, m.Capabilities.Publish(), channel, text))
		m.posts(o, c.Message)
	}
	if m.of.Takes != nil {
		o.added += m.of.Takes.Count(c.Next) - m.of.Takes.Count(before)
	}
	m.forgotten(before, c.Next)
	o.misled, o.meddled, o.since = c.Message == "", time.Now(), time.Now()
	o.state = c.Next
	m.changed(o, time.Now(), c.Message != "")
}

// write writes a key.
func (m *machine[S, I, O]) write(ctx context.Context, key Key, c Change[S], own bool) {
	do := func(args ...string) { must.Get(m.raw(ctx, args...)) }
	life := key.Life
	if own {
		life = c.Life
	}
	if own && c.Next.Kind == Other {
		do("DEL", key.Name)
		do("RPUSH", key.Name, "no such object")
	} else {
		key.write(do)
	}
	if life > 0 {
		do("PEXPIRE", key.Name, fmt.Sprint(life.Milliseconds()))
	}
	if !key.Ends.IsZero() {
		do("PEXPIREAT", key.Name, fmt.Sprint(key.Ends.UnixMilli()))
	}
}

// pass lets the object's life end, if it does before that time. The caller holds mu.
func (m *machine[S, I, O]) pass(o *object[S], at time.Time) {
	before, next := o.state, m.of.at(o.state, at)
	if next == before {
		return
	}
	ended := time.Now() // Something of it did.
	if next.Kind != before.Kind {
		ended = before.Ends.Add(-m.ahead)
	}
	o.state = next
	m.changed(o, ended, !o.misled && !m.stepped && m.of.Queue == nil && (m.of.Retry == 0 || m.of.Channel == nil))
}

// happened takes what a script did to an object, which must be possible. The caller holds mu.
func (m *machine[S, I, O]) happened(o *object[S], at time.Time, in I, out O) (before State[S]) {
	m.pass(o, at)
	before = o.state
	after, ok := m.of.Step(before, at, in, out)
	must.Not(!ok || !m.virtual && m.misjudged(before, in, out), "%+v: %+v, but it was %v", in, out, before)
	message := ""
	if m.of.Published != nil {
		message = m.of.Published(before, after, in)
	}
	o.misled = o.misled || after.Ends.Before(before.Ends) && !after.Ends.IsZero()
	m.posts(o, message)
	if after != before {
		o.state, o.since = after, time.Now()
		m.changed(o, time.Now(), message != "" && (m.of.Passes == nil || after.Kind == Present))
	}
	return before
}

// misjudged reports whether a script was granted what it had to be refused, or refused: without times a Step
// may leave that open.
func (m *machine[S, I, O]) misjudged(before State[S], in I, out O) bool {
	if m.of.Hold == nil || m.of.Granted == nil {
		return false
	}
	act, _, _ := m.of.Hold.Of(in)
	return act == Asks && m.of.Ready(before, in) != m.of.Granted(out)
}

// changed notes for all waiters since when there is what they need. Known says that they can know.
func (m *machine[S, I, O]) changed(o *object[S], when time.Time, known bool) {
	for _, c := range m.calls {
		switch {
		case c.object != o || !c.waits() || !c.ended.IsZero():
		case !m.ready(c):
			c.there, c.notified = time.Time{}, time.Time{}
		default:
			c.came, c.there = true, cmp.Or(c.there, when)
			if known && (m.Capabilities.PubSub || !c.saw.Before(o.since)) {
				c.notified = cmp.Or(c.notified, when)
			}
			if c.snap == whenThere {
				c.cancel()
			}
		}
	}
}

func (m *machine[S, I, O]) ready(c *call[S, I, O]) bool {
	return c.object.state.Kind != Other && m.of.Ready(c.object.state, c.awaits)
}

// step moves the server's clock forward: lives end earlier than clients know.
func (m *machine[S, I, O]) step(d time.Duration) {
	if m.Advance == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.objects {
		m.pass(o, m.serverNow())
	}
	m.Advance(d)
	m.ahead += d
	m.stepped = true
	for _, o := range m.objects {
		if next := m.of.at(o.state, m.serverNow()); next != o.state {
			o.state = next
			m.changed(o, time.Now(), false) // Nobody can have known before.
		}
	}
	for _, c := range m.claims {
		c.gain += d
	}
}

// objectAt returns the object at a key.
func (m *machine[S, I, O]) objectAt(key string) *object[S] {
	for _, o := range m.objects {
		if m.of.keyOf(o.name) == key {
			return o
		}
	}
	must.Fail("a script has the key %s, which is no object's", key)
	return nil
}

// isConflict reports whether a server says that a key is of another kind: by the codes that package
// extend takes for primitives.ErrConflict.
func isConflict(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && (server.Code == "WRONGTYPE" || server.Code == "OTHERKIND")
}
