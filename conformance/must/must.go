// Package must ends a case at its first fault, so what a case does can be read from top to bottom:
//
//	err := must.Catch(func() {
//		lease := must.Get(lock.Lock(ctx))
//		must.Do(lease.Release(ctx))
//		must.Wrap(lease.Release(ctx), primitives.ErrNotHeld)
//	})
//
// Its functions panic with what [Catch] takes. They must be called by the goroutine that called Catch;
// [Start] and [Together] are for others.
package must

import (
	"errors"
	"fmt"
	"sync"
)

// failure is what a case ends with.
type failure struct{ err error }

// Catch calls f, and returns the error by which a function of this package ended it, or nil.
func Catch(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// Do fails if err is not nil.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get returns v, or fails if err is not nil.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Fail fails with an error, made as by fmt.Errorf.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Not fails with an error, made as by fmt.Errorf, if bad is true.
func Not(bad bool, format string, args ...any) {
	if bad {
		Fail(format, args...)
	}
}

// In calls f. If it fails, the error begins with what.
func In(what string, f func()) {
	if err := Catch(f); err != nil {
		Fail("%s: %w", what, err)
	}
}

// Wrap fails unless err wraps all of want.
func Wrap(err error, want ...error) {
	for _, target := range want {
		Not(err == nil, "returned no error, want %w", target)
		Not(!errors.Is(err, target), "returned %w, want %w", err, target)
	}
}

// Return returns a function that takes what a call returned, and fails unless that is want, and no error.
func Return[T comparable](call string, want T) func(T, error) {
	return func(got T, err error) {
		In(call, func() { Do(err) })
		Not(got != want, "%s returned %v, want %v", call, got, want)
	}
}

// Refuse returns a function that takes what a call returned, and fails unless the error wraps want.
func Refuse[T any](call string, want ...error) func(T, error) {
	return func(_ T, err error) { In(call, func() { Wrap(err, want...) }) }
}

// Start calls f in another goroutine. The channel gets the error that Catch returns.
func Start(f func()) <-chan error {
	done := make(chan error, 1)
	go func() { done <- Catch(f) }()
	return done
}

// Together calls f for 0 to n-1, each in a goroutine of its own, and fails with all that failed when they have ended.
func Together(n int, f func(i int)) {
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() { errs[i] = Catch(func() { f(i) }) })
	}
	group.Wait()
	Do(errors.Join(errs...))
}
