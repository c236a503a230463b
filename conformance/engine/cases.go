package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

var (
	link   = []harness.Need{harness.Faults}
	pubsub = []harness.Need{harness.PubSub}
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
	if p.Hold == nil || p.hasLeases() {
		cases = append(cases, p.newCase("RoundTrip Waiting", "TakesOneRoundTrip", link, p.takesOneRoundTrip))
	}
	if p.Ready != nil {
		cases = append(cases, p.newCase("Waiting", "WakesAWaiter", pubsub, p.wakes))
	}
	if p.hasLeases() {
		cases = append(cases, p.leaseCases()...)
	}
	return slices.Concat(cases, p.Special)
}

// newCase returns a case about the first of some parts, such as "Waiting", that p promises something of;
// if it promises nothing of any, about Limit.
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
	return harness.NewCase(p.Promises, p.Name+name, clause, p.needs(needs), func(ctx context.Context, e *harness.Env) {
		e.Harness = p.over(e.Harness)
		run(ctx, e)
	})
}

// walks drives the primitive for a while over sound links, without waiting, and with leases that do not end, so
// no answer depends on the time: by fewer steps with -short, and on a slow machine. Peers are those of what has no
// times of its own.
func (p *Primitive[S, I, O]) walks(ctx context.Context, e *harness.Env) {
	most := map[bool]int{true: 30, false: 120}[testing.Short()]
	s := p.suited(setting{clients: 2, lease: endlessLease, fixed: endlessLease, poll: Never})
	m := newMachine(ctx, p, e, s, false, func(string) {})
	others := []string{"expire", "persist", "unlock", "reenter", "put back", "forget"}
	if p.Ages == nil {
		others = append(others, "peer")
	}
	ops := slices.DeleteFunc(p.acts(), func(name string) bool {
		op := p.opNamed(name)
		return op == nil && !slices.Contains(others, name) || op != nil && op.Waits
	})
	draw, first := drawAct(ops, s), drawnFrom()
	for begin, i := time.Now(), 0; i < most && (i < 5 || time.Since(begin) < harness.Patience/6); i++ {
		a := draw.Example(first + i)
		a.Hurry, a.For = 9, a.For+endlessLease
		if a.Op == "unlock" {
			a.Which = a.Which / 3 * 3 // All of it is over when it returns.
		}
		must.In(a.String(), func() {
			m.act(ctx, a)
			m.check(ctx)
		})
	}
	m.end(ctx)
}

// each calls each operation once, on the object of that name, and passes on its error.
func (p *Primitive[S, I, O]) each(ctx context.Context, c *primitives.Client, name string, took func(op *Op[S, I, O], err error)) {
	for i := range p.Ops {
		op := &p.Ops[i]
		in := op.Generate(Params[S]{})
		must.In(op.Name, func() { took(op, op.try(ctx, c, name, in)) })
	}
}

// try calls op, and returns its error alone.
func (op *Op[S, I, O]) try(ctx context.Context, c *primitives.Client, name string, in I) (err error) {
	if op.Acquire != nil {
		_, err = op.Acquire(ctx, c, name, in)
	} else {
		_, err = op.Call(ctx, c, name, in)
	}
	return err
}

// conflicts has keys of another kind: an operation that reads its key fails, and changes nothing.
func (p *Primitive[S, I, O]) conflicts(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	name := e.Key("list")
	list := p.keyOf(name)
	e.Command(ctx, "RPUSH", list, "x")
	p.each(ctx, c, name, func(op *Op[S, I, O], err error) {
		if !op.WriteOnly {
			must.Wrap(err, primitives.ErrConflict)
			must.Not(!strings.Contains(err.Error(), "list"), "the error does not say what it is: %w", err)
		}
	})
	e.Command(ctx, "LSET", list, "0", "y") // It is still a list.
	for _, text := range p.NoTexts {
		key := e.Key("text")
		e.Command(ctx, "SET", key, text)
		p.each(ctx, c, key, func(op *Op[S, I, O], err error) {
			if !op.WriteOnly {
				must.In(fmt.Sprintf("over %q", text), func() { must.Wrap(err, primitives.ErrConflict) })
			} else {
				e.Command(ctx, "SET", key, text)
			}
			must.Not(!harness.Same(e.Command(ctx, "GET", key), backend.StringReply(text)), "it changed %q", text)
		})
	}
}

// refusesInput makes calls that must fail before they reach the backend: with bad names and inputs, with
// a context that has ended, and after Close.
func (p *Primitive[S, I, O]) refusesInput(ctx context.Context, e *harness.Env) {
	c, runs := CountedClient(ctx, e, nil)
	isField := func(_ *Op[S, I, O], err error) {
		must.Not(!errors.As(err, new(*primitives.FieldError)), "returned %v, want a FieldError", err)
	}
	p.each(ctx, c, "", isField)
	for i := range p.Ops {
		for _, in := range p.Ops[i].Refuses {
			err := p.Ops[i].try(ctx, c, e.Key("x"), in)
			must.In(fmt.Sprintf("%s of %+v", p.Ops[i].Name, in), func() { isField(nil, err) })
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	p.each(ended, c, e.Key("x"), func(op *Op[S, I, O], err error) {
		if !op.SentAfterCancel { // Else it is sent all the same.
			must.Wrap(err, context.Canceled)
			must.Not(backend.MayHaveRun(err), "it may have run: %w", err)
		}
	})
	must.Do(c.Close(ctx))
	before := runs.Load()
	p.each(ctx, c, e.Key("x"), func(_ *Op[S, I, O], err error) { must.Wrap(err, primitives.ErrClosed) })
	sure := slices.ContainsFunc(p.Ops, func(op Op[S, I, O]) bool { return op.SentAfterCancel })
	must.Not(runs.Load() != before || before > 0 && !sure, "%d calls reached the backend", runs.Load())
}

// lives sets, reads and removes the end of an object's life by each method of [Lived].
func (p *Primitive[S, I, O]) lives(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	l := p.Lived(c, e.Key("object"))
	must.Return("Expire of none", false)(l.Expire(ctx, time.Hour))
	must.Return("Exists", false)(l.Exists(ctx))
	p.set(ctx, e, e.Key("object"), p.Some)
	must.Return("Exists", true)(l.Exists(ctx))
	must.Return("Persist of one without an expiry", false)(l.Persist(ctx))
	must.Return("TTL", primitives.NoExpiry)(l.TTL(ctx))
	must.Return("Expire", true)(l.Expire(ctx, 2*time.Hour))
	livesFor(2 * time.Hour)(l.TTL(ctx))
	must.Return("ExpireAt", true)(l.ExpireAt(ctx, time.Now().Add(3*time.Hour)))
	livesFor(3 * time.Hour)(l.TTL(ctx))
	must.Return("Persist", true)(l.Persist(ctx))
	must.Return("ExpireAt in the past", true)(l.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	must.Return("Exists", false)(l.Exists(ctx))
	must.Return("TTL of none", time.Duration(0))(l.TTL(ctx))
}

// livesFor fails if what TTL returned is not about d.
func livesFor(d time.Duration) func(time.Duration, error) {
	return func(left time.Duration, err error) {
		must.Not(err != nil || left <= d-harness.Patience || left > d+harness.Patience,
			"TTL returned %v, %w, want about %v", left, err, d)
	}
}

// takesOneRoundTrip counts the commands that calls send when their scripts are loaded: one each. Each lease is
// released, so all that waits for one gets it.
func (p *Primitive[S, I, O]) takesOneRoundTrip(ctx context.Context, e *harness.Env) {
	c, in := NewClient(ctx, e, nil)
	name, calls := e.Key("object"), 0
	all := func() {
		calls = 0
		for i := range p.Ops {
			switch op := &p.Ops[i]; {
			case op.Acquire != nil:
				must.Do(must.Get(op.Acquire(ctx, c, name, p.ask(op))).Release(ctx))
				calls += 2
			case !op.Waits:
				err := op.try(ctx, c, name, op.Generate(Params[S]{}))
				must.Not(err != nil && !errors.Is(err, primitives.ErrNotAcquired), "%s: %w", op.Name, err)
				calls++
			}
		}
	}
	all()
	stop := in.Link.Record()
	all()
	sent := harness.Matching(stop(), e.Tag)
	must.Not(len(sent) != calls, "%d calls took %d commands: %q", calls, len(sent), sent)
}

// wakes frees an object for which a client waits that hears of it by messages alone, and does not poll:
// under a name in braces and under a plain one.
func (p *Primitive[S, I, O]) wakes(ctx context.Context, e *harness.Env) {
	clients := Clients(ctx, e, 2)
	for _, name := range []string{e.Key("object"), e.Tag + "-plain"} {
		for range 5 {
			free := p.occupy(ctx, Named{clients[0], name})
			waits := must.Start(func() { p.waitAndLeave(ctx, Named{clients[1], name}) })
			must.In("after Blocks a caller must wait", func() { p.awaitWaiter(ctx, e, name) })
			harness.NotYet("the waiter, after Blocks", waits)
			free()
			harness.Finish("the waiter, after Frees", waits)
			e.Command(ctx, "DEL", p.keyOf(name))
		}
	}
}

// over returns h as p sees it: if p has no messages, as if there were no pub/sub.
func (p *Primitive[S, I, O]) over(h *harness.Harness) *harness.Harness {
	if p.Channel != nil || p.Retry == 0 {
		return h
	}
	silent := *h
	silent.Capabilities.PubSub = false
	if h.Bubble != nil {
		silent.Bubble = func() *harness.Harness { return p.over(h.Bubble()) }
	}
	return &silent
}

// needs returns needs as p has them: if p has no messages, what needs pub/sub is left out.
func (p *Primitive[S, I, O]) needs(needs []harness.Need) []harness.Need {
	if p.Channel != nil || p.Retry == 0 {
		return needs
	}
	return append([]harness.Need{{Reason: harness.SkipNoMessages, Has: func(h *harness.Harness) bool {
		return harness.Lacks(h, needs) != "" || harness.Lacks(p.over(h), needs) == ""
	}}}, needs...)
}
