package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// beside runs f beside the case.
func beside(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// woken returns what a call returns that waits for what ready then brings. If ready fails, the call is
// given up. It has a moment to begin to wait.
func woken(ctx context.Context, wait func(context.Context) error, ready func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := beside(func() error { return wait(ctx) })
	time.Sleep(50 * time.Millisecond)
	if err := ready(); err != nil {
		return err
	}
	return <-got
}

// finished waits for what runs beside the case, for far less than a poll would need.
func finished(what string, done <-chan error) error {
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-time.After(Patience / 4):
		return fmt.Errorf("%s did not end within %v", what, Patience/4)
	}
}

// notYet returns an error if what runs beside the case ends, for which it has a moment.
func notYet(what string, done <-chan error) error {
	select {
	case err := <-done:
		return fmt.Errorf("%s ended too early, with %w", what, err)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}

// sleepUpTo sleeps for a random part of d.
func sleepUpTo(d time.Duration) { time.Sleep(rand.N(d)) } //nolint:gosec // A schedule.

// newClients makes n clients whose waiters are woken by messages alone, if there are messages.
func (e *env) newClients(ctx context.Context, n int) ([]*primitives.Client, error) {
	o := &primitives.Options{PollInterval: never}
	if !e.Capabilities.PubSub {
		o.PollInterval = 100 * time.Millisecond
	}
	all := make([]*primitives.Client, n)
	for i := range all {
		c, _, err := e.client(ctx, o)
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	return all, nil
}

// do runs a command that must not fail.
func (e *env) do(ctx context.Context, args ...string) error {
	_, err := e.Do(ctx, args[1], args...)
	return err
}

// wantText returns an error if key does not hold the text; "" means that it does not exist.
func (e *env) wantText(ctx context.Context, key, text string) error {
	want := backend.StringReply(text)
	if text == "" {
		want = backend.Reply{}
	}
	got, err := e.Do(ctx, key, "GET", key)
	if err != nil || !same(got, want) {
		return fmt.Errorf("key %s is %v, %w, want %q", key, got, err, text)
	}
	return nil
}

// expect returns an error if a call did not return what it was to.
func expect[T comparable](what string, want T) func(T, error) error {
	return func(got T, err error) error {
		if err != nil || got != want {
			return fmt.Errorf("%s returned %v, %w, want %v", what, got, err, want)
		}
		return nil
	}
}

// matches returns an error if got does not match want.
func matches(got, want error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("returned %w, want %w", got, want)
	}
	return nil
}
