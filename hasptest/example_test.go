package hasptest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// t stands for the T of your test.
var t = new(testing.T)

// A worker's context ends when the worker loses its lock. In a bubble of virtual time the test does not wait.
func ExampleServer_Lose() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lease, err := s.Client(nil).NewLock("orders:42", nil).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work := lease.Context(t.Context())

		s.Lose("orders:42")
		<-work.Done() // at the next renewal, at most ten seconds later
		fmt.Println("the work ended by the loss:", errors.Is(context.Cause(work), primitives.ErrLost))
		fmt.Println("Release reports it:", errors.Is(lease.Release(t.Context()), primitives.ErrNotHeld))
	})
	// Output:
	// the work ended by the loss: true
	// Release reports it: true
}

// The first Lock meets no server.
func ExampleServer_FailAcquires() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lock := s.Client(nil).NewLock("orders:42", nil)
		s.FailAcquires(1)
		_, err := lock.Lock(t.Context())
		fmt.Println("the first Lock met no server:", errors.Is(err, primitives.ErrUnavailable))
		_, err = lock.Lock(t.Context())
		fmt.Println("the second Lock holds the lock:", err == nil)
	})
	// Output:
	// the first Lock met no server: true
	// the second Lock holds the lock: true
}

// The first Lock may have acquired the lock. The client releases it in the background, and the second Lock waits for
// that.
func ExampleServer_LoseAnswers() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lock := s.Client(nil).NewLock("orders:42", nil)
		s.LoseAnswers(1)
		_, err := lock.Lock(t.Context())
		fmt.Println("the first Lock got no answer:", errors.Is(err, primitives.ErrIndeterminate))
		_, err = lock.Lock(t.Context())
		fmt.Println("the second Lock holds the lock:", err == nil)
	})
	// Output:
	// the first Lock got no answer: true
	// the second Lock holds the lock: true
}

// The part was counted, once: a CountDown again would open the latch too early.
func ExampleServer_LoseAnswersOf() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		latch := s.Client(nil).NewCountDownLatch("parts")
		if _, err := latch.InitCount(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		s.LoseAnswersOf(hasptest.CountDowns, 1)
		_, err := latch.CountDown(t.Context())
		fmt.Println("CountDown got no answer:", errors.Is(err, primitives.ErrIndeterminate))
		left, err := latch.Count(t.Context())
		fmt.Println("left:", left, err)
	})
	// Output:
	// CountDown got no answer: true
	// left: 1 <nil>
}

// Another process gets the lock of a crashed one when the lease has ended.
func ExampleServer_Crash() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		crashes, other := s.Client(nil), s.Client(nil)
		if _, err := crashes.NewLock("orders:42", nil).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Crash(crashes)
		start := time.Now()
		_, err := other.NewLock("orders:42", nil).Lock(t.Context())
		fmt.Println("acquired after", time.Since(start).Round(time.Second), err)
	})
	// Output: acquired after 30s <nil>
}

// A lock costs two requests.
func ExampleServer_SetLatency() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lock := s.Client(nil).NewLock("orders:42", nil)
		s.SetLatency(100 * time.Millisecond)
		start := time.Now()
		err := lock.Do(t.Context(), func(context.Context, *primitives.Lease) error { return nil })
		fmt.Println(time.Since(start), err)
	})
	// Output: 200ms <nil>
}

// A held lock outlives an outage of half its lease.
func ExampleServer_Away() {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lease, err := s.Client(nil).NewLock("orders:42", nil).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Away(15 * time.Second)
		time.Sleep(time.Minute)
		fmt.Println("the lock was held to the end:", lease.Release(t.Context()) == nil)
	})
	// Output: the lock was held to the end: true
}
