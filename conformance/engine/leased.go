package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// leasable is a primitive with leases, whatever its types are.
type leasable interface {
	// take acquires an object: it waits for it, or only tries. A lease of 0 means the watchdog's.
	take(ctx context.Context, as Named, waits bool, lease time.Duration) (*primitives.Lease, error)

	// occupy has one client make an object wait for another, and returns what frees it.
	occupy(ctx context.Context, as Named) (free func())

	// seize lets another program hold an object, without a message when that ends, and returns the
	// object's own key. A lease of 0 has no end.
	seize(ctx context.Context, e *harness.Env, name string, lease time.Duration) Key

	// leaseLeft returns how long the server keeps the last hold of an object. It is negative if there is
	// none.
	leaseLeft(ctx context.Context, e *harness.Env, name string) time.Duration

	// heldBy returns the own key of an object that nobody but a lease holds.
	heldBy(name string, lease *primitives.Lease) Key

	// keyOf returns the own key of the object of a name.
	keyOf(name string) string

	// trace returns the key that a hold leaves behind, such as that of the last token; "": none.
	trace(name string) string

	// rest waits until nobody holds an object by the server, or waits for it in a queue.
	rest(ctx context.Context, e *harness.Env, name string)

	// awaitWaiters waits until so many wait for a message, if there are messages.
	awaitWaiters(ctx context.Context, e *harness.Env, name string, n int)
}

func (p *Primitive[S, I, O]) take(
	ctx context.Context, as Named, waits bool, lease time.Duration,
) (*primitives.Lease, error) {
	op := p.waitingOp()
	if !waits {
		op = &p.Ops[slices.IndexFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Tries })]
	}
	return op.Acquire(ctx, as.Client, as.Name, p.askFor(op, lease))
}

// askFor draws what asks for a lease of that length.
func (p *Primitive[S, I, O]) askFor(op *Op[S, I, O], lease time.Duration) (in I) {
	for n := range 12 {
		in = op.Draw(Dice[S]{Which: n / 2, Flag: n%2 == 1, Fixed: lease})
		if p.Hold.Fixed(in) == lease {
			return in
		}
	}
	must.Fail("%s never asks for a lease of %v", op.Name, lease)
	return in
}

func (p *Primitive[S, I, O]) seize(
	ctx context.Context, e *harness.Env, name string, lease time.Duration,
) Key {
	held := p.Some
	if lease > 0 && p.Hold.Until != nil {
		held = p.Hold.Until(time.UnixMilli(serverMillis(ctx, e, name) + lease.Milliseconds()))
	}
	p.set(ctx, e, name, held)
	if lease > 0 && p.endsKey(name) == "" {
		e.Command(ctx, "PEXPIRE", p.keyOf(name), fmt.Sprint(lease.Milliseconds()))
	}
	return p.Stored(name, held)[0]
}

func (p *Primitive[S, I, O]) heldBy(name string, lease *primitives.Lease) Key {
	return p.Stored(name, p.held(lease.Owner(), lease.Token()))[0]
}

// held is an object after a grant of which that is known.
func (p *Primitive[S, I, O]) held(owner string, token int64) State[S] {
	s, ok := p.Step(p.Init, time.Time{}, p.askFor(p.waitingOp(), 0), p.Hold.Granted(owner, token))
	must.If(!ok, "%v cannot be acquired", p.Init)
	return s
}

func (p *Primitive[S, I, O]) trace(name string) string {
	for _, key := range p.Stored(name, p.held("an owner", 1).Gone(p.Keep)) {
		if key.Text != "" {
			return key.Name
		}
	}
	return ""
}

// leaseCase is a case of every primitive with leases.
type leaseCase struct {
	name, parts string // as those of newCase
	needs       []harness.Need
	cast        castFunc
	run         func(ctx context.Context, a, b user)
}

// castFunc makes the two clients of a case.
type castFunc func(ctx context.Context, l leases) (a, b user)

var (
	link   = []harness.Need{harness.Faults}
	pubsub = []harness.Need{harness.PubSub}
	record = []harness.Need{harness.Record}
)

// leaseCases returns what every primitive with leases promises, and every one that is held by one
// owner at a time.
func (p *Primitive[S, I, O]) leaseCases() (cases []harness.Case) {
	all := slices.Concat(holdCases, renewalCases, waitingCases, faultCases, givingBackCases)
	if !p.Ready(p.held("an owner", 1), p.askFor(p.waitingOp(), 0)) {
		all = append(all, exclusionCases...)
	}
	for _, c := range all {
		made := p.newCase(c.parts, c.name, c.needs, func(ctx context.Context, e *harness.Env) {
			a, b := c.cast(ctx, leases{p, e})
			c.run(ctx, a, b)
		})
		made.Alone, made.Shared = slices.Contains(alone, c.name), c.name
		cases = append(cases, made)
	}
	return cases
}

// leases is what one of the cases works with.
type leases struct {
	leasable
	*harness.Env
}

// user is a client, its link, and what it acquires.
type user struct {
	leases
	Named
	link harness.Link
}

// user makes a client.
func (l leases) user(ctx context.Context, o primitives.Options) user {
	c, in := NewClient(ctx, l.Env, &o)
	return user{leases: l, Named: Named{c, l.Key("object")}, link: in.Link}
}

// users makes clients with options.
func users(o primitives.Options) castFunc {
	return func(ctx context.Context, l leases) (a, b user) { return l.user(ctx, o), l.user(ctx, o) }
}

var (
	plain  = users(primitives.Options{})
	steady = users(primitives.Options{WatchdogLease: steadyLease})

	// byMessages are clients whose waiters are woken by messages alone, or by the end of a lease.
	byMessages = users(primitives.Options{PollInterval: Never})
)

// warm makes clients as cast does. The first has acquired a few times, so that the scripts are loaded
// and the driver is connected, and removed the trace.
func warm(cast castFunc) castFunc {
	return func(ctx context.Context, l leases) (a, b user) {
		a, b = cast(ctx, l)
		for range 16 {
			unlock(ctx, a.acquire(ctx))
		}
		if key := l.trace(a.Name); key != "" {
			l.Command(ctx, "DEL", key)
		}
		return a, b
	}
}

// granted waits until the server has granted it since warm, where that leaves a trace.
func (u user) granted(ctx context.Context) {
	if key := u.trace(u.Name); key != "" {
		harness.Eventually(ctx, "the grant", func() bool {
			return must.Get(u.Command(ctx, "EXISTS", key).Int()) == 1
		})
	}
}

// of returns u with another name.
func (u user) of(name string) user { u.Name = name; return u }

// acquireFor acquires for a lease of a length; anew if the machine was so slow that a short lease had ended
// before its grant came.
func (u user) acquireFor(ctx context.Context, lease time.Duration) *primitives.Lease {
	got, err := u.take(ctx, u.Named, true, lease)
	for lease > 0 && errors.Is(err, primitives.ErrLost) {
		got, err = u.take(ctx, u.Named, true, lease)
	}
	return must.Get(got, err)
}

// acquire acquires for a lease of the watchdog's.
func (u user) acquire(ctx context.Context) *primitives.Lease { return u.acquireFor(ctx, 0) }

// try acquires without waiting.
func (u user) try(ctx context.Context) (*primitives.Lease, error) {
	return u.take(ctx, u.Named, false, 0)
}

// refused fails unless another holds it.
func (u user) refused(ctx context.Context) {
	must.Refuse[*primitives.Lease]("trying to acquire", primitives.ErrNotAcquired)(u.try(ctx))
}

func unlock(ctx context.Context, lease *primitives.Lease) { must.Do(lease.Unlock(ctx)) }

// free waits until nobody holds it: for less than its lease.
func (u user) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience/4)
	defer cancel()
	u.rest(ctx, u.Env, u.Name)
}

// left returns how long the server keeps the hold. It is negative if there is none.
func (u user) left(ctx context.Context) time.Duration {
	return u.leaseLeft(ctx, u.Env, u.Name)
}

// wantHeld fails unless the lease alone holds it by the server, for at least and at most so much longer.
func (u user) wantHeld(ctx context.Context, lease *primitives.Lease, least, most time.Duration) {
	u.wantKey(ctx, u.heldBy(u.Name, lease), least, most)
}

// wantKey fails unless its key is that, for at least and at most so much longer.
func (u user) wantKey(ctx context.Context, key Key, least, most time.Duration) {
	got, left := u.Command(ctx, key.reader()...), u.left(ctx)
	must.If(!holds(key, got, nil), "key %s is %v, want %+v", key.Name, got, key)
	must.If(left < least || left > most, "%v remain, want %v to %v", left, least, most)
}

// waiting is an acquire beside the case.
type waiting struct {
	lease *primitives.Lease // once done has got nil
	done  <-chan error
}

// later acquires beside the case.
func (u user) later(ctx context.Context) *waiting {
	w := new(waiting)
	w.done = must.Beside(func() { w.lease = u.acquire(ctx) })
	return w
}

// soon returns what the acquire returns, for which it has far less time than a lease lasts.
func (w *waiting) soon() (*primitives.Lease, error) {
	err := harness.Promptly(harness.Patience/4, "the acquire", func() error { return <-w.done })
	return w.lease, err
}

// unlock unlocks what is acquired soon.
func (w *waiting) unlock(ctx context.Context) { unlock(ctx, must.Get(w.soon())) }

// awaitWaiters waits until so many calls of one client wait for a message, if there are messages.
func (u user) awaitWaiters(ctx context.Context, n int) {
	u.leasable.awaitWaiters(ctx, u.Env, u.Name, n)
}

// wraps fails unless the error of what wraps all of want.
func wraps(what string, err error, want ...error) {
	must.In(what, func() { must.Wrap(err, want...) })
}

// runs matches scripts on the name.
func (u user) runs(words []string) bool { return harness.RunsScript(words, u.keyOf(u.Name)) }

// loseReply calls call while the reply to the next script on key is lost, and fails unless the error says
// that the outcome is unknown.
func loseReply(ctx context.Context, link harness.Link, key string, call func() error) {
	lost := link.CutReply(func(words []string) bool { return harness.RunsScript(words, key) })
	err := call()
	harness.Await(ctx, "the loss of a reply", lost)
	must.Wrap(err, backend.ErrIndeterminate)
}

// sentOnce calls call, and fails if a script on key was not sent once, where that can be seen.
func sentOnce(ctx context.Context, e *harness.Env, key string, call func()) {
	if e.Record == nil {
		call()
		return
	}
	most, counts := 0, map[string]int{}
	for _, words := range sent(ctx, e, call) {
		if len(words) > 3 && words[3] == key {
			counts[words[1]]++
			most = max(most, counts[words[1]])
		}
	}
	must.If(most != 1, "the script was sent %d times", most)
}

// sent returns the commands that were sent while call ran.
func sent(ctx context.Context, e *harness.Env, call func()) [][]string {
	stop := must.Get(e.Record(ctx))
	err := must.Catch(call)
	commands, stopErr := stop()
	must.Do(errors.Join(err, stopErr))
	return commands
}
