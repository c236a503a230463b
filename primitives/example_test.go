package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// b is what an adapter package made of the application's client.
var b backend.Backend

func Example() {
	client, err := primitives.New(b, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer client.Close(ctx)

	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work(lease.Context(ctx))
	if err := lease.Unlock(ctx); err != nil {
		log.Print("the lock was not held to the end: ", err)
	}
}

// A job that must not run twice at once, and need not run if another process does it.
func ExampleLock_TryLock() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	lease, err := client.NewLock("nightly", nil).TryLock(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	work(lease.Context(ctx))
}

// The deadline of the context bounds the waiting; the lease bounds the work.
func ExampleLock_Lock_bounded() {
	client, _ := primitives.New(b, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lock := client.NewLock("report", &primitives.LockOptions{Lease: time.Minute})
	lease, err := lock.Lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Println("still held by another")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	work(lease.Context(context.Background()))
}

// A function that takes the lock by itself, called by one that holds it.
func ExampleLease_Reenter() {
	client, _ := primitives.New(b, nil)
	lock := client.NewLock("account:7", nil)
	credit := func(ctx context.Context) error {
		lease, err := lock.Lock(ctx) // at once, under the outer lease's context
		if err != nil {
			return err
		}
		defer lease.Unlock(ctx)
		return nil
	}
	ctx := context.Background()
	lease, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	if err := credit(lease.Reenter(ctx)); err != nil {
		log.Fatal(err)
	}
}

// The resource refuses writers whose token is lower than one that it has seen.
func ExampleLease_Token() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	lease, err := client.NewLock("account:7", nil).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Unlock(ctx)
	write(`UPDATE account SET balance = 12, fence = $1 WHERE id = 7 AND fence <= $1`, lease.Token())
}

// At most three processes at a time do something heavy.
func ExampleSemaphore() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	heavy := client.NewSemaphore("heavy", nil)
	if _, err := heavy.TrySetPermits(ctx, 3); err != nil { // the first process makes it
		log.Fatal(err)
	}
	if err := heavy.Acquire(ctx, 1); err != nil {
		log.Fatal(err)
	}
	defer heavy.Release(ctx, 1) // sent also if ctx is done
	work(ctx)
}

// Workers start together, once five processes are ready.
func ExampleCountDownLatch() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	ready := client.NewCountDownLatch("ready")
	if _, err := ready.TrySetCount(ctx, 5); err != nil { // the first process sets it
		log.Fatal(err)
	}
	if _, err := ready.CountDown(ctx); err != nil {
		log.Fatal(err)
	}
	if err := ready.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	work(ctx)
}

// Numbers that no other process gets.
func ExampleAtomicLong() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	number, err := client.NewAtomicLong("invoice").Increment(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("invoice", number)
}

// A sum of fractions, such as a budget that processes spend from.
func ExampleAtomicDouble() {
	client, _ := primitives.New(b, nil)
	ctx := context.Background()
	left, err := client.NewAtomicDouble("budget").Add(ctx, -12.5)
	if err != nil {
		log.Fatal(err)
	}
	if left < 0 {
		fmt.Println("overdrawn by", -left)
	}
}

func work(context.Context) {}

func write(string, int64) {}
