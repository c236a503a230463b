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

// What happens to holds in a history, besides what calls ask for.
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
		// A server that may forget any hold, and grant it twice: a grant need only fit the last one's token.
		return p.ordered(p.grants, func(s State[S], e event[I], out outcome[O]) (State[S], bool) {
			if s.Kind == Present {
				s = s.Gone(p.Keep)
			}
			return p.Step(s, time.Time{}, e.in, out.out)
		})
	case p.hasLeases():
		return p.ordered(p.narrow, p.holdStep)
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

// historyStep is Step for a history, with what may have got no answer. The input may be a look at the object's key.
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

// ordered returns the model by which step explains what part chooses of a history.
func (p *Primitive[S, I, O]) ordered(
	part func(all []porcupine.Operation) []porcupine.Operation,
	step func(s State[S], e event[I], out outcome[O]) (State[S], bool),
) porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			return [][]porcupine.Operation{part(all)}
		},
		Init: func() any { return p.Init },
		Step: func(state, input, output any) (bool, any) {
			out, _ := output.(outcome[O]) // An event about a hold has none.
			next, ok := step(state.(State[S]), input.(event[I]), out)
			return ok, next
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
}

func describe(input, output any) string { return fmt.Sprintf("%v: %v", input, output) }

// holdStep returns the state after an event, and whether the event is possible in s. It accepts every refusal, since an
// acquire without an answer may hold the object.
func (p *Primitive[S, I, O]) holdStep(s State[S], e event[I], out outcome[O]) (State[S], bool) {
	act, owner, _ := p.Hold.Of(e.in)
	if e.what != "" {
		owner = e.owner
	}
	held := slices.Contains(p.Hold.Holders(s), owner)
	switch {
	case e.what == believed:
		return s, held
	case e.what != unseen && act != Releases:
		return p.Step(s, time.Time{}, e.in, out.out)
	case held:
		s, _ = p.Step(s, time.Time{}, p.Hold.Release(owner), *new(O))
	}
	return s, held || e.what == unseen || out.unknown
}

// narrow returns a history that has an order if and only if the given one has, and is checked much
// faster, because an event that may happen until the end can be tried at each step.
//
// A release without an answer, and an end that nobody saw, matter only before the next grant: they are over when a
// grant with a higher token has returned, which cannot come before the next grant.
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
		if e.what == unseen {
			op.Return = p.nextGrant(grants, *op, tokens[e.owner])
		} else if act, owner, _ := p.Hold.Of(e.in); act == Releases && out.unknown {
			op.Return = p.nextGrant(grants, *op, tokens[owner])
		}
	}
	return narrowed
}

// grants returns the acquires, all of which were granted, by their return.
func (p *Primitive[S, I, O]) grants(all []porcupine.Operation) (grants []porcupine.Operation) {
	for _, op := range all {
		e, _ := op.Input.(event[I])
		if act, _, _ := p.Hold.Of(e.in); e.what == "" && act == Asks {
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
