package hasptest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// A worker's context ends when it loses its lock. In a bubble of virtual time the test does not wait.
func ExampleServer_Lose() {
	t := &testing.T{} // in place of that of your test
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lease, err := s.Client(nil).NewLock("orders:42", nil).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work := lease.Context(t.Context())

		s.Lose("orders:42")
		<-work.Done() // at the next renewal, at most ten seconds later
		if cause := context.Cause(work); !errors.Is(cause, primitives.ErrLost) {
			t.Errorf("the work ended by %v", cause)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, primitives.ErrNotHeld) {
			t.Errorf("Release returned %v", err)
		}
	})
}

func ExampleServer_FailAcquires() {
	t := &testing.T{} // in place of that of your test
	s := hasptest.New(t)
	lock := s.Client(nil).NewLock("orders:42", nil)
	s.FailAcquires(1)
	if _, err := lock.Lock(t.Context()); !errors.Is(err, primitives.ErrUnavailable) {
		t.Errorf("the first Lock returned %v", err)
	}
	if _, err := lock.Lock(t.Context()); err != nil {
		t.Errorf("the second Lock returned %v", err)
	}
}

func ExampleServer_LoseAnswers() {
	t := &testing.T{} // in place of that of your test
	s := hasptest.New(t)
	lock := s.Client(nil).NewLock("orders:42", nil)
	s.LoseAnswers(1)
	if _, err := lock.Lock(t.Context()); !errors.Is(err, primitives.ErrIndeterminate) {
		t.Errorf("the first Lock returned %v", err)
	}
	// The first may have got the lock; it is being released in the background, and the second waits for that.
	if _, err := lock.Lock(t.Context()); err != nil {
		t.Errorf("the second Lock returned %v", err)
	}
}

// A held lock outlives an outage of half its lease.
func ExampleServer_Away() {
	t := &testing.T{} // in place of that of your test
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lease, err := s.Client(nil).NewLock("orders:42", nil).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Away(3 * time.Second)
		time.Sleep(time.Minute)
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("the lock was not held to the end: %v", err)
		}
	})
}
