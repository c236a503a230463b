package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/model"
)

// numberActs are the actions of all objects that are a number at a key.
var numberActs = []string{"Expire", "Persist", "Delete", "Forget", "OtherKind", "GiveUp", "GiveUp"}

// numberMachine is what the machines of all objects have in common that are a number at a key.
type numberMachine struct {
	*world
	of    numberKind
	parts int64 // of which 1 at a key consists: the model counts them
	keys  []*numberKey
	waits []*numberCall // calls under way; changed by act and check alone, with mu held
}

// numberKind is what the machine of one primitive brings. Its methods are called with world.mu held.
type numberKind interface {
	// step compares what a script did with the model, which it changes. value is what the script's
	// caller must get.
	step(key *numberKey, r *scriptRun, value int64) error

	// overflows reports whether a script that adds must fail.
	overflows(key *numberKey, r *scriptRun) bool

	// ready reports whether there is what a call waits for.
	ready(c *numberCall) bool

	// judged is called for a call that has ended as it may.
	judged(c *numberCall) error

	// handle returns the object for a call.
	handle(c *numberCall) numberHandle
}

// numberHandle is what all such objects can do.
type numberHandle interface {
	Expire(ctx context.Context, d time.Duration) (bool, error)
	Persist(ctx context.Context) (bool, error)
	Delete(ctx context.Context) (bool, error)
}

// numberKey is one object on the server.
type numberKey struct {
	name, channel string
	exists, other bool // other: it is of another kind
	value         int64
	left          time.Time    // when the value was last changed from 0
	ends          model.Moment // of its life by the server's clock; zero: never
	deleted       int64        // the sum of what was deleted

	messages []string // that must have been published
	ear      *inbox   // what was; nil: nobody listens
}

// set changes the number.
func (k *numberKey) set(value int64) {
	if k.value == 0 && value != 0 {
		k.left = time.Now()
	}
	k.exists, k.value = true, value
}

// gone notes that there is none any more.
func (k *numberKey) gone() {
	k.deleted += k.value
	k.exists, k.other, k.value, k.ends = false, false, 0, model.Moment{}
}

// String returns what is at the key.
func (k *numberKey) String() string {
	switch {
	case k.other:
		return "of another kind"
	case !k.exists:
		return "not there"
	}
	return strconv.FormatInt(k.value, 10)
}

// numberCall is one call of a client.
type numberCall struct {
	op    string
	party int
	key   *numberKey
	need  int64     // how many permits
	waits bool      // until there is what it needs
	sure  bool      // it sends what it has to, even if its context ends
	snap  snap      // when its caller leaves
	limit time.Time // of its context; zero: there is none
	run   func(context.Context) (int64, error)

	began, ended time.Time
	ctx          context.Context //nolint:containedctx // It is what the call is about.
	cancel       context.CancelFunc
	there, told  time.Time // since when there is what it needs, and since when messages say so

	sends  int  // how many scripts it has sent
	barred bool // it was refused before
	last   numberAnswer

	done  chan struct{}
	value int64
	err   error
}

// snap is the instant at which a caller leaves.
type snap int

const (
	stays      snap = iota
	whenThere       // is what it waits for
	whenItGets      // its answer
)

// snaps returns when the caller of an action's call leaves, mostly never.
func snaps(a act) snap { return []snap{stays, stays, stays, stays, whenThere, whenItGets}[a.Which] }

// numberAnswer is the answer to the last script of a call.
type numberAnswer struct {
	run   *scriptRun
	at    time.Time // zero: nothing yet
	value int64
	err   error
}

func newNumberMachine(
	ctx context.Context, e *env, s setting, virtual bool, channel string,
) (*numberMachine, error) {
	w, err := newWorld(ctx, e, s, virtual)
	if err != nil {
		return nil, err
	}
	m := &numberMachine{world: w, parts: 1}
	for _, name := range []string{"a", "b"}[:propertyObjects] {
		key := &numberKey{name: e.apart(name)}
		if m.keys = append(m.keys, key); channel == "" {
			continue
		}
		key.channel = fmt.Sprintf(channel, key.name)
		if key.ear, err = e.overhear(ctx, key.channel); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// overhear returns all messages of a channel from now on; nil: there are none.
func (e *env) overhear(ctx context.Context, channel string) (*inbox, error) {
	if !e.Capabilities.PubSub {
		return nil, nil //nolint:nilnil // As documented.
	}
	b, err := e.backend(ctx)
	if err != nil {
		return nil, err
	}
	ear, _, err := e.listen(ctx, b, channel)
	return ear, err
}

// act implements machine.
func (m *numberMachine) act(ctx context.Context, a act) error {
	key := m.keys[a.Object]
	c := m.call(a)
	handle := m.of.handle(c)
	switch a.Op {
	case "Expire":
		c.run = func(ctx context.Context) (int64, error) { return told(handle.Expire(ctx, long)) }
	case "Persist":
		c.run = func(ctx context.Context) (int64, error) { return told(handle.Persist(ctx)) }
	case "Delete":
		c.run = func(ctx context.Context) (int64, error) { return told(handle.Delete(ctx)) }
	case "Forget":
		return m.meddle(key, "", func() error { key.gone(); return m.do(ctx, "DEL", key.name) })
	case "OtherKind":
		if a.Which > 1 {
			return nil
		}
		return m.meddle(key, "", func() error {
			key.gone()
			key.exists, key.other = true, true
			return errors.Join(m.do(ctx, "DEL", key.name), m.do(ctx, "HSET", key.name, "f", "1"))
		})
	case "GiveUp":
		if len(m.waits) > 0 {
			m.waits[a.Which%len(m.waits)].cancel()
		}
		m.settle()
		return nil
	default:
		return m.world.act(ctx, a)
	}
	return m.make(ctx, c)
}

// long is a life that lasts longer than any machine.
const long = 10_000 * time.Hour

// told turns an answer into a number.
func told(yes bool, err error) (int64, error) {
	if yes {
		return 1, err
	}
	return 0, err
}

// call returns a call that an action makes.
func (m *numberMachine) call(a act) *numberCall {
	return &numberCall{op: a.Op, party: a.Client, key: m.keys[a.Object]}
}

// impatient gives a call little time, or has it end before it begins.
func (c *numberCall) impatient(a act) *numberCall {
	c.limit = time.Now().Add(a.For)
	if a.Which == 0 {
		c.limit = time.Now().Add(-time.Hour)
	}
	return c
}

// make makes a call, and judges it.
func (m *numberMachine) make(ctx context.Context, c *numberCall) error {
	m.begin(ctx, c)
	m.finish(c)
	m.settle()
	return m.collect()
}

// background begins a call.
func (m *numberMachine) background(ctx context.Context, c *numberCall) {
	m.begin(ctx, c)
	go m.finish(c)
	m.settle()
}

func (m *numberMachine) begin(ctx context.Context, c *numberCall) {
	c.began, c.done = time.Now(), make(chan struct{})
	ctx = context.WithValue(ctx, callKey{}, c)
	if c.limit.IsZero() {
		c.ctx, c.cancel = context.WithCancel(ctx)
	} else {
		c.ctx, c.cancel = context.WithDeadline(ctx, c.limit)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = append(m.waits, c)
	if c.waits && m.of.ready(c) {
		c.there, c.told = c.began, c.began // It looks.
	}
}

func (m *numberMachine) finish(c *numberCall) {
	defer close(c.done)
	value, err := c.run(c.ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	c.value, c.err, c.ended = value, err, time.Now()
}

// collect judges the calls that have returned.
func (m *numberMachine) collect() error {
	var over []*numberCall
	var errs []error
	for _, c := range m.waits {
		if isClosed(c.done) {
			over = append(over, c)
			errs = append(errs, m.judge(c))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = slices.DeleteFunc(m.waits, func(c *numberCall) bool { return slices.Contains(over, c) })
	return errors.Join(errs...)
}

// meddle changes a key behind the back of all clients, and publishes message unless that is "".
func (m *numberMachine) meddle(key *numberKey, message string, change func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := change()
	if message != "" {
		err = errors.Join(err, m.publish(context.Background(), key.channel, message))
	}
	m.changed(key, message)
	return err
}

// now returns what is at a key.
func (m *numberMachine) now(key *numberKey) (value int64, other bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return key.value, key.other
}

// changed notes that a key has changed, with a message unless that is "".
func (m *numberMachine) changed(key *numberKey, message string) {
	if message != "" {
		key.messages = append(key.messages, message)
	}
	for _, c := range m.waits {
		switch now := time.Now(); {
		case c.key != key || !c.waits || !c.ended.IsZero():
		case !m.of.ready(c):
			c.there, c.told = time.Time{}, time.Time{}
		default:
			c.there = earliest(c.there, now)
			if message != "" {
				c.told = earliest(c.told, now)
			}
			if c.snap == whenThere {
				c.cancel()
			}
		}
	}
}

// earliest returns t, or now if t is zero.
func earliest(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// end implements machine.
func (m *numberMachine) end(ctx context.Context) error {
	var errs []error
	for _, p := range m.parties {
		m.setLink(p, trouble{}, 0, 0)
	}
	errs = append(errs, settleOwed(m.owed, func() error { return m.check(ctx) }))
	for i, p := range m.parties {
		m.mu.Lock()
		good := p.good
		m.mu.Unlock()
		time.Sleep(time.Until(good)) // What was lost is known to be, and what was late has come.
		errs = append(errs, m.check(ctx), m.close(ctx, i))
	}
	for _, c := range m.waits {
		<-c.done
	}
	errs = append(errs, m.check(ctx))
	for _, key := range m.keys {
		errs = append(errs, m.deserted(ctx, key))
	}
	return errors.Join(errs...)
}

// owed reports whether somebody waits who can know that there is what it needs.
func (m *numberMachine) owed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.waits, func(c *numberCall) bool {
		p := m.parties[c.party]
		_, sound := m.soundSince(p)
		return c.ended.IsZero() && !c.told.IsZero() && sound && p.deaf == 0 && m.Capabilities.PubSub
	})
}

// deserted checks that no client is subscribed to a key's channel any more, and what was heard there.
func (m *numberMachine) deserted(ctx context.Context, key *numberKey) error {
	if key.ear == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, Patience/6)
	defer cancel()
	return errors.Join(
		key.ear.awaitMessages(limited, key.messages...), m.awaitSubscribers(limited, key.channel, 1))
}
