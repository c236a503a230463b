package engine

import (
	"fmt"
	"slices"
	"time"
	"unique"
)

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
