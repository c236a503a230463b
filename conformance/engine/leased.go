package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// leasable is a primitive with leases, whatever its types are.
type leasable interface {
	usable

	// take acquires an object for a lease of the watchdog's: it waits for it, or only tries.
	take(ctx context.Context, as Named, waits bool) (*primitives.Lease, error)

	// isFree reports whether nobody holds an object by the server.
	isFree(ctx context.Context, e *harness.Env, name string) bool

	// trace returns the key that a hold leaves behind, such as that of the last token; "": none.
	trace(name string) string

	// awaitWaiters waits until so many wait for a message, if there are messages.
	awaitWaiters(ctx context.Context, e *harness.Env, name string, n int)
}

func (p *Primitive[S, I, O]) take(ctx context.Context, as Named, waits bool) (*primitives.Lease, error) {
	op := p.waitingOp()
	if !waits {
		op = &p.Ops[slices.IndexFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Tries })]
	}
	return op.Acquire(ctx, as.Client, as.Name, p.ask(op))
}

// ask draws what asks for a lease of the watchdog's.
func (p *Primitive[S, I, O]) ask(op *Op[S, I, O]) (in I) {
	for n := range 12 {
		in = op.Draw(Dice[S]{Which: n / 2, Flag: n%2 == 1})
		if p.Hold.Fixed(in) == 0 {
			return in
		}
	}
	must.Fail("%s never asks for a lease of the watchdog's", op.Name)
	return in
}

// held is an object after a grant of which that is known.
func (p *Primitive[S, I, O]) held(owner string, token int64) State[S] {
	s, ok := p.Step(p.Init, time.Time{}, p.ask(p.waitingOp()), p.Hold.Granted(owner, token))
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

// leaseCase is a case of every primitive with leases, for two clients.
type leaseCase struct {
	name, parts string // as those of newCase
	needs       []harness.Need
	options     primitives.Options
	warm        bool // the first client is connected, its scripts are loaded, and it has left no trace
	run         func(ctx context.Context, a, b user)
}

var (
	link   = []harness.Need{harness.Faults}
	pubsub = []harness.Need{harness.PubSub}
	record = []harness.Need{harness.Record}
)

// leaseCases returns what every primitive with leases promises over a real link, and every one that is held by one
// owner at a time. All else of leases is for properties, in virtual time.
func (p *Primitive[S, I, O]) leaseCases() (cases []harness.Case) {
	all := slices.Concat(waitingCases, givingBackCases)
	if !p.Ready(p.held("an owner", 1), p.ask(p.waitingOp())) {
		all = append(all, exclusionCases...)
	}
	for _, c := range all {
		made := p.newCase(c.parts, c.name, c.needs, func(ctx context.Context, e *harness.Env) {
			a, b := newUser(ctx, p, e, c.options), newUser(ctx, p, e, c.options)
			if c.warm {
				a.warm(ctx)
			}
			c.run(ctx, a, b)
		})
		made.Shared = c.name
		cases = append(cases, made)
	}
	return cases
}

// user is a client, its link, and what it acquires.
type user struct {
	leasable
	*harness.Env
	Named
	link harness.Link
}

func newUser(ctx context.Context, p leasable, e *harness.Env, o primitives.Options) user {
	c, in := NewClient(ctx, e, &o)
	return user{p, e, Named{c, e.Key("object")}, in.Link}
}

// warm acquires a few times, and removes the trace.
func (u user) warm(ctx context.Context) {
	for range 16 {
		unlock(ctx, u.acquire(ctx))
	}
	if key := u.trace(u.Name); key != "" {
		u.Command(ctx, "DEL", key)
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

// acquire acquires for a lease of the watchdog's.
func (u user) acquire(ctx context.Context) *primitives.Lease {
	return must.Get(u.take(ctx, u.Named, true))
}

// try acquires without waiting.
func (u user) try(ctx context.Context) (*primitives.Lease, error) {
	return u.take(ctx, u.Named, false)
}

func unlock(ctx context.Context, lease *primitives.Lease) { must.Do(lease.Unlock(ctx)) }

// free waits until nobody holds it: for less than its lease.
func (u user) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience/4)
	defer cancel()
	u.rest(ctx, u.Env, u.Name)
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

// runs matches scripts on the name.
func (u user) runs(words []string) bool { return harness.RunsScript(words, u.keyOf(u.Name)) }

// loseReply calls call while the reply to the next script on the name is lost, and fails unless the error says
// that the outcome is unknown.
func (u user) loseReply(ctx context.Context, call func() error) {
	lost := u.link.CutReply(u.runs)
	err := call()
	harness.Await(ctx, "the loss of a reply", lost)
	must.Wrap(err, backend.ErrIndeterminate)
}

// sent returns the commands that were sent while call ran.
func (u user) sent(ctx context.Context, call func()) [][]string {
	stop := must.Get(u.Record(ctx))
	err := must.Catch(call)
	commands, stopErr := stop()
	must.Do(errors.Join(err, stopErr))
	return commands
}
