package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Cases implements [Subject]: what follows from the declaration, and the special cases.
func (p *Primitive[S, I, O]) Cases() []harness.Case {
	cases := []harness.Case{
		p.newCase("Counts", "Walks", nil, p.walks),
		p.newCase("Errors Queries Counts", "Conflict", nil, p.conflicts),
		p.newCase("Input Errors Counts", "BadInput", nil, p.refusesInput),
	}
	if p.Lived != nil {
		cases = append(cases, p.newCase("Life Counts", "Life", nil, p.lives))
	}
	if p.Hold == nil {
		cases = append(cases, p.newCase("RoundTrip", "TakesOneRoundTrip", record, p.takesOneRoundTrip))
	}
	if p.Hold == nil || p.hasLeases() {
		cases = append(cases, p.newCase("Errors GivingBack", "LostAnswersAreUnknown", link, p.losesAnswers))
	}
	if p.Ready != nil {
		cases = append(cases, p.waitingCases()...)
	}
	if p.hasLeases() {
		cases = append(cases, p.leaseCases()...)
	}
	return slices.Concat(cases, p.Special)
}

// newCase returns a case of the first of some parts of the promises that there is, such as "Waiting"; if
// there is none of them, of Limit.
func (p *Primitive[S, I, O]) newCase(
	parts, name string, needs []harness.Need, run func(ctx context.Context, e *harness.Env),
) harness.Case {
	of, _, _ := strings.Cut(p.Limit, ".")
	clause := p.Limit
	for _, part := range slices.Backward(strings.Fields(parts)) {
		if p.Promises[of+"."+part] != "" {
			clause = of + "." + part
		}
	}
	return harness.Case{Name: p.Name + name, Clause: clause, Text: p.Promises[clause], Needs: needs, Run: run}
}

// walks drives the primitive for a while over sound links, without waiting.
func (p *Primitive[S, I, O]) walks(ctx context.Context, e *harness.Env) {
	const steps = 120
	s := setting{Clients: 2, Lease: endlessLease, Fixed: endlessLease, Poll: Never, Batches: true}
	m := newMachine(ctx, p, e, s, false, func(string) {})
	ops := slices.DeleteFunc(p.acts(), func(name string) bool {
		i := slices.IndexFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Name == name })
		return i >= 0 && p.Ops[i].Waits ||
			i < 0 && !slices.Contains([]string{"expire", "persist", "unlock", "reenter", "put back", "forget", "peer"}, name)
	})
	draw := drawAct(ops, s)
	for range steps {
		a := draw.Example(rand.IntN(1 << 30)) //nolint:gosec // A schedule.
		a.Hurry = 9
		must.In(a.String(), func() {
			m.act(ctx, a)
			m.check(ctx)
		})
	}
	m.end(ctx)
}

// each calls each operation once, on what name returns.
func (p *Primitive[S, I, O]) each(
	ctx context.Context, c *primitives.Client, name string, took func(op *Op[S, I, O], err error),
) {
	for i := range p.Ops {
		op := &p.Ops[i]
		in := op.Draw(Dice[S]{})
		must.In(op.Name, func() { took(op, op.ask(ctx, c, name, in)) })
	}
}

// ask calls the operation, for its error alone.
func (op *Op[S, I, O]) ask(ctx context.Context, c *primitives.Client, name string, in I) (err error) {
	if op.Acquire != nil {
		_, err = op.Acquire(ctx, c, name, in)
	} else {
		_, err = op.Call(ctx, c, name, in)
	}
	return err
}

// conflicts gives the name to other things: nothing is touched.
func (p *Primitive[S, I, O]) conflicts(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	list := e.Key("list")
	e.Command(ctx, "RPUSH", list, "x")
	p.each(ctx, c, list, func(op *Op[S, I, O], err error) {
		if !op.Blind {
			must.Wrap(err, primitives.ErrConflict)
			must.If(!strings.Contains(err.Error(), "list"), "the error does not say what it is: %w", err)
		}
	})
	e.Command(ctx, "LSET", list, "0", "y") // It is a list still.
	for _, text := range p.NoTexts {
		key := e.Key("text")
		e.Command(ctx, "SET", key, text)
		p.each(ctx, c, key, func(op *Op[S, I, O], err error) {
			if !op.Blind {
				must.In(fmt.Sprintf("over %q", text), func() { must.Wrap(err, primitives.ErrConflict) })
			} else {
				e.Command(ctx, "SET", key, text)
			}
			must.If(!harness.Same(e.Command(ctx, "GET", key), backend.StringReply(text)), "it changed %q", text)
		})
	}
}

// refusesInput counts the calls that reach the backend: there are none.
func (p *Primitive[S, I, O]) refusesInput(ctx context.Context, e *harness.Env) {
	c, counted, _ := CountedClient(ctx, e, nil)
	isField := func(_ *Op[S, I, O], err error) {
		must.If(!errors.As(err, new(*primitives.FieldError)), "returned %v, want a FieldError", err)
	}
	p.each(ctx, c, "", isField)
	for i := range p.Ops {
		for _, in := range p.Ops[i].Refuses {
			err := p.Ops[i].ask(ctx, c, e.Key("x"), in)
			must.In(fmt.Sprintf("%s of %+v", p.Ops[i].Name, in), func() { isField(nil, err) })
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	p.each(ended, c, e.Key("x"), func(op *Op[S, I, O], err error) {
		if !op.Sure { // What is sent all the same.
			must.Wrap(err, context.Canceled)
			must.If(backend.MayHaveRun(err), "it may have run: %w", err)
		}
	})
	must.Do(c.Close(ctx))
	before := counted.Calls.Load()
	p.each(ctx, c, e.Key("x"), func(_ *Op[S, I, O], err error) { must.Wrap(err, primitives.ErrClosed) })
	sure := slices.ContainsFunc(p.Ops, func(op Op[S, I, O]) bool { return op.Sure })
	must.If(counted.Calls.Load() != before || before > 0 && !sure, "%d calls reached the backend", counted.Calls.Load())
}

// lives gives the object an end of its life, in all ways.
func (p *Primitive[S, I, O]) lives(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	l := p.Lived(c, e.Key("object"))
	must.Return("Expire of none", false)(l.Expire(ctx, time.Hour))
	must.Return("Exists", false)(l.Exists(ctx))
	for _, key := range p.Stored(e.Key("object"), p.Some)[:1] {
		e.Command(ctx, "SET", key.Name, key.Text)
	}
	must.Return("Exists", true)(l.Exists(ctx))
	must.Return("Persist of one without an end", false)(l.Persist(ctx))
	must.Return("RemainingLife", primitives.NoExpiry)(l.RemainingLife(ctx))
	must.Return("Expire", true)(l.Expire(ctx, 2*time.Hour))
	livesFor(2 * time.Hour)(l.RemainingLife(ctx))
	must.Return("ExpireAt", true)(l.ExpireAt(ctx, time.Now().Add(3*time.Hour)))
	livesFor(3 * time.Hour)(l.RemainingLife(ctx))
	must.Return("Persist", true)(l.Persist(ctx))
	must.Return("ExpireAt in the past", true)(l.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	must.Return("Exists", false)(l.Exists(ctx))
	must.Return("RemainingLife of none", time.Duration(0))(l.RemainingLife(ctx))
}

// livesFor fails if what RemainingLife returned is not about d.
func livesFor(d time.Duration) func(time.Duration, error) {
	return func(left time.Duration, err error) {
		must.If(err != nil || left <= d-harness.Patience || left > d+harness.Patience,
			"RemainingLife returned %v, %w, want about %v", left, err, d)
	}
}

// takesOneRoundTrip counts what is sent by scripts that are loaded.
func (p *Primitive[S, I, O]) takesOneRoundTrip(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	calls := 0
	all := func() {
		calls = 0
		for i := range p.Ops {
			if op := &p.Ops[i]; !op.Waits {
				_, err := op.Call(ctx, c, e.Key("object"), op.Draw(Dice[S]{}))
				must.If(err != nil && !errors.Is(err, primitives.ErrNotAcquired), "%s: %w", op.Name, err)
				calls++
			}
		}
	}
	all()
	stop := must.Get(e.Record(ctx))
	all()
	sent := harness.Matching(must.Get(stop()), e.Tag)
	must.If(len(sent) != calls, "%d calls took %d commands: %q", calls, len(sent), sent)
}

// losesAnswers loses the answer to each operation that writes: it was done once, and the error says
// that it may have been.
func (p *Primitive[S, I, O]) losesAnswers(ctx context.Context, e *harness.Env) {
	c, in := NewClient(ctx, e, nil)
	key := e.Key("object")
	looked := 0
	for i := range p.Ops {
		op := &p.Ops[i]
		ask := op.Draw(Dice[S]{Which: 1, For: 15 * time.Millisecond})
		next, _ := p.Step(p.Some, Moment{}, ask, *new(O))
		if next == p.Some || op.Acquire != nil || op.Waits {
			continue // It may as well be asked again.
		}
		looked++
		must.In(op.Name, func() {
			p.set(ctx, e, key, p.Some)
			_, err := op.Call(ctx, c, key, ask) // Connects, and loads the script.
			must.Do(err)
			p.set(ctx, e, key, p.Some)
			lost := in.Link.CutReply(func(words []string) bool {
				return harness.RunsScript(words, key) || len(words) > 1 && words[1] == key && !harness.IsCommand(words, "SPUBLISH")
			})
			_, err = op.Call(ctx, c, key, ask)
			must.Wrap(err, backend.ErrIndeterminate)
			harness.Await(ctx, "a reply to be lost", lost)
			own := p.Stored(key, next)[0]
			reply, err := e.Do(ctx, key, own.reader(), key)
			must.If(!holds(own, reply, err), "it became %v, %w, want %v", reply, err, next)
		})
	}
	must.If(looked == 0 && p.Hold == nil, "no operation changes %v", p.Some)
}

// randomly returns a context that ends within a few round trips.
func randomly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, rand.N(2*time.Millisecond)) //nolint:gosec // A schedule.
}
