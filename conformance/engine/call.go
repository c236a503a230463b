package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// call is one call of a client.
type call[S, I, O comparable] struct {
	op     *Op[S, I, O] // nil: it is about the object's life, or a Release
	life   string       // "expire" or "persist", if it is about the object's life
	party  int
	object *object[S]
	in     I
	snap   snap                // when its caller leaves
	limit  time.Time           // of its context; zero: there is none
	outer  *heldLease[S, I, O] // under whose Reenter it is made; nil: under none
	run    func(ctx context.Context) (any, error)

	began, ended    time.Time
	refused         time.Time       // when it began, or was last refused
	saw             time.Time       // when the script ran that was last refused
	ctx             context.Context //nolint:containedctx // It is what the call is about.
	cancel          context.CancelFunc
	awaits          I         // what it waits for: in, or what follows from its grant
	there, notified time.Time // since when there is what it needs, and since when it can know
	came            bool      // there was what it needs

	sends  int  // how many scripts it has sent
	barred bool // it was refused before: it waits on through outages
	other  bool // a script of it found a key of another kind
	last   answer

	done  chan struct{}
	out   any // an O, or of a call about a life whether it was done
	lease *primitives.Lease
	err   error
}

// waits reports whether the call waits until its object is ready.
func (c *call[S, I, O]) waits() bool { return c.op != nil && c.op.Waits }

// sure reports whether the call is sent even if its context ends.
func (c *call[S, I, O]) sure() bool { return c.op != nil && c.op.SentAfterCancel }

// snap is the instant at which a caller leaves.
type snap int

const (
	atTheEnd   snap = iota // when the call returns
	whenThere              // is what it waits for
	whenItGets             // its answer
)

// answer is the answer to the last script of a call.
type answer struct {
	run  *scriptRun
	in   any       // what it asked: an I
	out  any       // what it is, for its caller
	at   time.Time // zero: there is none yet
	err  error
	got  bool // it granted what the call asks for
	late bool // it granted a lease that had ended
}

// open reports whether it is open whether the script runs.
func (a answer) open() bool { return a.run != nil && a.at.IsZero() }

// call returns the call that an action makes.
func (m *machine[S, I, O]) call(a act, op *Op[S, I, O]) *call[S, I, O] {
	c := &call[S, I, O]{op: op, party: a.Client, object: m.objects[a.Object], in: op.Generate(m.dice(a))}
	if !op.SentAfterCancel { // What is put back must have been taken.
		c.hurry(a)
	}
	c.runs(m, op)
	return c
}

// runs makes what c calls.
func (c *call[S, I, O]) runs(m *machine[S, I, O], op *Op[S, I, O]) {
	client, name := m.parties[c.party].client, m.nameFor(c.party, c.object.name)
	c.run = func(ctx context.Context) (any, error) {
		if op.Acquire == nil {
			return op.Call(ctx, client, name, c.in)
		}
		lease, err := op.Acquire(ctx, client, name, c.in)
		must.Not((lease == nil) == (err == nil), "a lease %v and an error %v", lease, err)
		if c.lease = lease; err != nil {
			return nil, err
		}
		return m.of.Hold.Granted(lease.Owner(), lease.Token()), nil
	}
}

// lifeCall returns a call that sets or removes the end of an object's life.
func (m *machine[S, I, O]) lifeCall(a act) *call[S, I, O] {
	c := &call[S, I, O]{life: a.Op, party: a.Client, object: m.objects[a.Object]}
	lived := m.of.Lived(m.parties[a.Client].client, m.nameFor(c.party, c.object.name))
	c.run = func(ctx context.Context) (any, error) {
		if a.Op == "persist" {
			return lived.Persist(ctx)
		}
		return lived.Expire(ctx, long)
	}
	return c
}

// long is a life that lasts longer than any machine.
const long = 10_000 * time.Hour

// hurry gives a call little time, has it end before it begins, or has its caller leave at a certain instant.
func (c *call[S, I, O]) hurry(a act) {
	switch a.Hurry {
	case 0:
		c.limit = time.Now().Add(-time.Hour)
	case 1, 2:
		c.limit = time.Now().Add(a.For)
	case 3:
		c.snap = whenThere
	case 4:
		c.snap = whenItGets
	default:
		if c.waits() { // Else it may wait for ever.
			c.limit = time.Now().Add(a.For)
		}
	}
	if c.snap != atTheEnd && c.waits() {
		c.limit = time.Now().Add(a.For + time.Second)
	}
}

// make makes a call, and judges it.
func (m *machine[S, I, O]) make(ctx context.Context, c *call[S, I, O]) {
	m.begin(ctx, c)
	m.finish(c)
	m.settle()
	m.collect()
}

// wait begins a call that waits in the background, mostly for as long as it takes.
func (m *machine[S, I, O]) wait(ctx context.Context, a act) *call[S, I, O] {
	c := m.call(a, m.of.oneThatWaits(int(a.For/(10*time.Millisecond)))) // Mostly the same for a crowd.
	if a.Hurry > 2 {
		c.limit = time.Time{}
	}
	m.begin(ctx, c)
	go m.finish(c)
	m.settle()
	return c
}

func (m *machine[S, I, O]) begin(ctx context.Context, c *call[S, I, O]) {
	c.began, c.done = time.Now(), make(chan struct{})
	c.refused, c.awaits = c.began, c.in
	if awaits, apart, _ := m.apart(c); apart && c.outer.ended == nil {
		c.awaits = awaits
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	if c.limit.IsZero() {
		c.ctx, c.cancel = context.WithCancel(ctx)
	} else {
		c.ctx, c.cancel = context.WithDeadline(ctx, c.limit)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	if m.pass(c.object, m.serverNow()); c.waits() && m.ready(c) {
		c.came, c.there, c.notified = true, c.began, c.began // It looks.
	}
}

func (m *machine[S, I, O]) finish(c *call[S, I, O]) {
	defer close(c.done)
	var out any
	var err error
	failed := must.Catch(func() { out, err = c.run(c.ctx) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaves(c)
	if c.out, c.err, c.ended = out, err, time.Now(); failed != nil && m.fault == nil {
		m.fault = failed
	}
}

// collect judges the calls that have returned.
func (m *machine[S, I, O]) collect() {
	for _, c := range slices.Clone(m.calls) {
		if !isClosed(c.done) {
			continue
		}
		c.cancel()
		m.mu.Lock()
		m.calls = slices.DeleteFunc(m.calls, func(other *call[S, I, O]) bool { return other == c })
		err := must.Catch(func() {
			must.Do(m.fault) // It may be why the call cannot be judged.
			m.judge(c)
		})
		m.mu.Unlock()
		if err != nil {
			must.Fail("%s: %w", c.describe(), err)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// handOver frees an object that somebody has just begun to wait for, perhaps a waiter that is
// not subscribed yet, or does not get the message.
func (m *machine[S, I, O]) handOver(ctx context.Context, a act) {
	m.lateOrDeaf(a)
	if in, ok := m.of.Blocks(m.present(m.objects[a.Object])); ok {
		m.makeIn(ctx, a, in)
	}
	a.Hurry = 5
	m.wait(ctx, a)
	a.Client = a.Which % len(m.parties)
	if a.Which == 5 { // Nothing is published.
		a.Op = "forget"
		m.act(ctx, a)
	} else {
		m.free(ctx, a)
	}
	m.world.pass(a.For + 10*time.Millisecond)
	if a.Which == 5 && m.poll < time.Minute { // Nothing but a poll finds it.
		m.world.pass(m.poll * 5 / 4)
	}
}

// free lets one go on who waits for an object.
func (m *machine[S, I, O]) free(ctx context.Context, a act) {
	m.check(ctx) // Time has passed.
	o := m.objects[a.Object]
	in, ok := m.of.Frees(m.present(o))
	switch l := m.leaseOn(o); {
	case l != nil:
		m.unlock(ctx, l, act{Which: 5})
	case !m.of.hasLeases() && ok:
		m.makeIn(ctx, a, in)
	}
}

// makeIn makes a call that asks for in. If it waits, it gives up one second after a.For; else it has
// as long as it takes.
func (m *machine[S, I, O]) makeIn(ctx context.Context, a act, in I) {
	op := m.of.opFor(in)
	c := &call[S, I, O]{op: op, party: a.Client, object: m.objects[a.Object], in: in}
	if op.Waits {
		c.limit = time.Now().Add(a.For + time.Second)
	}
	c.runs(m, op)
	m.make(ctx, c)
}

// snatch gives up on a waiter at about the time of its grant.
func (m *machine[S, I, O]) snatch(ctx context.Context, a act) {
	p := m.parties[a.Client]
	slow := time.Duration(1+a.Which) * 7 * time.Millisecond
	m.setLink(p, trouble{Before: slow, After: slow}, 0, 0)
	a.Hurry = 5
	c := m.wait(ctx, a)
	m.world.pass(3 * slow)
	m.free(ctx, a)
	m.world.pass(a.For % (2 * slow))
	c.cancel()
	m.settle()
	if m.collect(); !a.Flag { // It is judged by the link that it had.
		return
	}
	m.setLink(p, trouble{Before: slow, Loss: dial}, 0, 0) // What it took cannot be put back at once.
	m.world.pass(3 * slow)
	m.setLink(p, trouble{}, 0, 0)
	m.world.pass(deaf)
}

// crowd has several callers of one client wait, of whom the first hears late that it has to, or loses
// the script that it is woken for, before a peer frees the object.
func (m *machine[S, I, O]) crowd(ctx context.Context, a act) {
	const odd = 23 * time.Microsecond
	p := m.parties[a.Client]
	m.setLink(p, trouble{}, 0, 0)
	if a.Which < 2 {
		m.troubleNext(p, trouble{Before: odd, After: 20*time.Millisecond + odd})
	}
	for i := range 3 {
		wait := a
		wait.Hurry, wait.For = 5, a.For+time.Duration(i)*time.Millisecond
		m.wait(ctx, wait)
	}
	m.world.pass(5 * time.Millisecond)
	if a.Which > 1 {
		m.troubleNext(p, trouble{Before: odd, Loss: []loss{dial, request, reply, broken}[a.Which-2]})
	}
	a.Which, a.Flag = 1+int(a.For.Milliseconds())%3, true
	m.peer(ctx, m.objects[a.Object], a)
	m.world.pass(a.For + deaf + 10*time.Millisecond)
}

// goesOn reports whether a waiter that was refused before goes on after err.
func (m *machine[S, I, O]) goesOn(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || m.of.Hold != nil && errors.Is(err, backend.ErrIndeterminate)
}
