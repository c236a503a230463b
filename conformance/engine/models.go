package engine

import (
	"fmt"
	"slices"
	"time"
	"unique"

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

// String describes an event in the report of a failure.
func (e event[I]) String() string {
	if e.what != "" {
		return fmt.Sprintf("%s: %s", e.what, e.owner)
	}
	return fmt.Sprintf("%+v", e.in)
}

// String describes an outcome in the report of a failure.
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

// Kind is what is stored at the key of an object.
type Kind int

// What is stored at the key of an object.
const (
	Absent Kind = iota
	Present
	Other // what is no such object
)

// State is an object on a server at one time.
type State[S comparable] struct {
	Kind Kind
	V    S         // what it is; of one that is absent what outlived it
	Ends time.Time // of its life, by the server's clock; zero: never
}

// Is returns s as an object that is v, with the life that it has.
func (s State[S]) Is(v S) State[S] {
	s.Kind, s.V = Present, v
	return s
}

// New returns a new object that is v, which never expires.
func New[S comparable](v S) State[S] { return State[S]{Kind: Present, V: v} }

// Until returns s with another end of its life.
func (s State[S]) Until(ends time.Time) State[S] {
	s.Ends = ends
	return s
}

// Gone returns what is left of s when its key is gone.
func (s State[S]) Gone(keep func(S) S) State[S] {
	var left State[S]
	if keep != nil {
		left.V = keep(s.V)
	}
	return left
}

// Remains reports whether a PTTL, or the caller's form of it, can be that of s.
func (s State[S]) Remains(at time.Time, left time.Duration) bool {
	switch {
	case at.IsZero():
		return true
	case s.Kind == Absent:
		return left == -2*time.Millisecond || left == 0
	case s.Ends.IsZero():
		return left < 0 && left != -2*time.Millisecond
	}
	return fits(s.Ends, at, left)
}

// String returns what is known of s.
func (s State[S]) String() string {
	switch {
	case s.Kind == Other:
		return "of another kind"
	case s.Kind == Absent:
		return fmt.Sprintf("absent, was %+v", s.V)
	case s.Ends.IsZero():
		return fmt.Sprintf("%+v", s.V)
	}
	return fmt.Sprintf("%+v until %s", s.V, s.Ends.UTC().Format("05.000000"))
}

// fits reports whether a PTTL can be how long it is from a time until ends.
func fits(ends, at time.Time, left time.Duration) bool {
	exact := ends.Sub(at)
	return left >= 0 && left > exact-time.Millisecond && left < exact+time.Millisecond
}

// at returns what s is at a time, which may not be known: its life may have ended, or something of it.
func (p *Primitive[S, I, O]) at(s State[S], at time.Time) State[S] {
	if at.IsZero() {
		return s
	}
	if s.Kind != Absent && !s.Ends.IsZero() && !at.Before(s.Ends) {
		s = s.Gone(p.Keep)
	}
	if p.Ages != nil {
		s.V = p.Ages(s.V, at)
	}
	return s
}

// List is some values in a form that can be compared, as a state must be. The zero value is empty.
type List[T comparable] struct{ first unique.Handle[node[T]] }

// node is a value, and those behind it.
type node[T comparable] struct {
	value T
	rest  List[T]
}

// ListOf returns a list of some values.
func ListOf[T comparable](all ...T) (l List[T]) {
	for _, v := range slices.Backward(all) {
		l = List[T]{unique.Make(node[T]{v, l})}
	}
	return l
}

// All returns the values.
func (l List[T]) All() (all []T) {
	for l != (List[T]{}) {
		next := l.first.Value()
		all, l = append(all, next.value), next.rest
	}
	return all
}

// String returns the values in a form that can be read.
func (l List[T]) String() string { return fmt.Sprint(l.All()) }

// And returns l with more values behind it.
func (l List[T]) And(more ...T) List[T] { return ListOf(append(l.All(), more...)...) }

// Without returns l without the values that are so.
func (l List[T]) Without(is func(v T) bool) List[T] { return ListOf(slices.DeleteFunc(l.All(), is)...) }

// Each returns l with each value made another.
func (l List[T]) Each(change func(v T) T) List[T] {
	all := l.All()
	for i := range all {
		all[i] = change(all[i])
	}
	return ListOf(all...)
}

// Find returns the first value that is so.
func (l List[T]) Find(is func(v T) bool) (v T, found bool) {
	all := l.All()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return v, false
	}
	return all[i], true
}
