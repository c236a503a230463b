package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hasp-go/hasp/backend"
)

// event is one thing that happens in a history: In, or something about a hold.
type event[I comparable] struct {
	what  string // "": In
	in    I
	owner string // of a hold
}

// What happens to holds in a history, beside what calls ask for.
const (
	believed = "believed in"         // a lease that says that it is held
	unseen   = "end that nobody saw" // of a hold: its lease ran out
)

// outcome is the output of an event.
type outcome[O comparable] struct {
	out     O
	unknown bool // there was no answer
	left    bool // its caller did not wait for the answer
}

// String describes an event in a picture.
func (e event[I]) String() string {
	if e.what != "" {
		return fmt.Sprintf("%s: %s", e.what, e.owner)
	}
	return fmt.Sprintf("%+v", e.in)
}

// String describes an outcome in a picture.
func (o outcome[O]) String() string {
	if o.unknown {
		return "no answer"
	}
	return fmt.Sprintf("%+v", o.out)
}

// model returns the model of histories of event[I] and outcome[O].
func (p *Primitive[S, I, O]) model(forgetful bool) porcupine.Model {
	switch {
	case forgetful:
		return p.tokenModel()
	case p.hasLeases():
		return p.holdModel()
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{p.Init} },
		Step: func(state, input, output any) (next []any) {
			for _, s := range p.unseen(state.(State[S])) {
				if s, ok := p.historyStep(s, input, output); ok {
					next = append(next, s)
				}
			}
			return next
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
	return m.ToModel()
}

// historyStep is Step for a history, with what may have got no answer. The input may be a look at the
// object's key.
func (p *Primitive[S, I, O]) historyStep(s State[S], input, output any) (State[S], bool) {
	if reply, ok := output.(backend.Reply); ok {
		return s, holds(p.Stored("", s)[0], reply, nil)
	}
	in, out := input.(event[I]).in, output.(outcome[O])
	if !out.unknown {
		return p.Step(s, time.Time{}, in, out.out)
	}
	if p.Doubt != nil {
		s.V = p.Doubt(s.V, in, out.left)
		return s, true
	}
	next, _ := p.Step(s, time.Time{}, in, out.out)
	return next, true
}

// unseen returns s and all that it may have come to by what is in doubt.
func (p *Primitive[S, I, O]) unseen(s State[S]) []State[S] {
	all := []State[S]{s}
	for i := 0; i < len(all) && p.Unseen != nil; i++ {
		for _, v := range p.Unseen(all[i].V) {
			next := all[i]
			if next.V = v; !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return all
}

// heldState is an object with holds at one time of a history.
type heldState[S comparable] struct {
	state State[S]
	// unsure says that an acquire without an answer may have it.
	unsure bool
}

// tokenModel returns the model of a server that may forget any hold, and grant it twice: a grant need only fit
// the last one's token.
func (p *Primitive[S, I, O]) tokenModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			return [][]porcupine.Operation{p.grants(all)}
		},
		Init: func() any { return p.Init },
		Step: func(state, input, output any) (bool, any) {
			s := state.(State[S])
			if s.Kind == Present {
				s = s.Gone(p.Keep)
			}
			next, ok := p.Step(s, time.Time{}, input.(event[I]).in, output.(outcome[O]).out)
			return ok, next
		},
		DescribeOperation: describe,
	}
}

func describe(input, output any) string { return fmt.Sprintf("%v: %v", input, output) }

// holdModel returns the model of a primitive with leases.
func (p *Primitive[S, I, O]) holdModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			return [][]porcupine.Operation{p.narrow(all)}
		},
		Init: func() any { return heldState[S]{state: p.Init} },
		Step: func(state, input, output any) (bool, any) {
			out, _ := output.(outcome[O]) // Not all that happens has one.
			next, ok := p.holdStep(state.(heldState[S]), input.(event[I]), out)
			return ok, next
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// holdStep returns the state after one thing has happened, and whether it can have happened in s.
func (p *Primitive[S, I, O]) holdStep(
	s heldState[S], e event[I], out outcome[O],
) (heldState[S], bool) {
	switch act, owner, _ := p.Hold.Of(e.in); {
	case e.what == believed:
		return s, slices.Contains(p.Hold.Holders(s.state), e.owner)
	case e.what == unseen:
		return p.released(s, e.owner), true
	case act == Releases:
		return p.released(s, owner), out.unknown || slices.Contains(p.Hold.Holders(s.state), owner)
	}
	return p.acquired(s, e.in, out)
}

// released returns the state after an owner's hold has ended.
func (p *Primitive[S, I, O]) released(s heldState[S], owner string) heldState[S] {
	if slices.Contains(p.Hold.Holders(s.state), owner) {
		var none O
		s.state, _ = p.Step(s.state, time.Time{}, p.Hold.Release(owner), none)
	}
	return s
}

func (p *Primitive[S, I, O]) acquired(s heldState[S], in I, out outcome[O]) (heldState[S], bool) {
	if out.unknown {
		s.unsure = true
		return s, true
	}
	next, ok := p.Step(s.state, time.Time{}, in, out.out)
	if !p.Granted(out.out) {
		return s, ok || s.unsure
	}
	s.state = next
	return s, ok
}

// narrow returns a history that has an order if and only if the given one has, and is checked much
// faster: what may happen until the end can be tried at each step.
//
// An acquire without an answer only ever allows more, so that it may as well happen at once. A
// release without an answer, and an end, matter only before the next grant: they are over when one
// with a higher token has returned, which cannot come before the next.
func (p *Primitive[S, I, O]) narrow(all []porcupine.Operation) []porcupine.Operation {
	grants, tokens, narrowed := p.grants(all), map[string]int64{}, slices.Clone(all)
	for _, g := range grants {
		owner, token := p.grant(g)
		tokens[owner] = token
	}
	for i := range narrowed {
		op := &narrowed[i]
		e, _ := op.Input.(event[I])
		out, _ := op.Output.(outcome[O])
		switch act, owner, _ := p.Hold.Of(e.in); {
		case e.what == unseen:
			op.Return = p.nextGrant(grants, *op, tokens[e.owner])
		case e.what != "" || !out.unknown: // It is known when it was over.
		case act == Asks:
			op.Return = op.Call
		case act == Releases:
			op.Return = p.nextGrant(grants, *op, tokens[owner])
		}
	}
	return narrowed
}

// grants returns the operations that were granted something, by their return.
func (p *Primitive[S, I, O]) grants(all []porcupine.Operation) (grants []porcupine.Operation) {
	for _, op := range all {
		e, _ := op.Input.(event[I])
		out, answered := op.Output.(outcome[O])
		if act, _, _ := p.Hold.Of(e.in); e.what != "" || act != Asks || !answered || out.unknown {
			continue
		}
		if _, _, granted := p.Hold.Grant(out.out); granted {
			grants = append(grants, op)
		}
	}
	slices.SortFunc(grants, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	return grants
}

// grant returns what an operation has granted.
func (p *Primitive[S, I, O]) grant(op porcupine.Operation) (owner string, token int64) {
	owner, token, _ = p.Hold.Grant(op.Output.(outcome[O]).out)
	return owner, token
}

// nextGrant returns when the first grant with a higher token has returned, or else when op has.
func (p *Primitive[S, I, O]) nextGrant(grants []porcupine.Operation, op porcupine.Operation, token int64) int64 {
	for _, g := range grants {
		if _, next := p.grant(g); next > token {
			return min(op.Return, max(op.Call, g.Return))
		}
	}
	return op.Return
}
