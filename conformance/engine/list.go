package engine

import (
	"fmt"
	"slices"
	"unique"
)

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
