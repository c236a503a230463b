package primitives_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// At most five exports run at a time, in all processes, first come, first served. If a process crashes, its
// slot is free again when its lease ends.
func ExampleCountingSemaphore() {
	ctx := context.Background()
	exports := client.NewCountingSemaphore("exports", 5, &primitives.CountingSemaphoreOptions{
		Order: primitives.ByArrival,
	})
	lease, err := exports.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx)) // which ends if the slot is lost
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// A worker that makes no progress loses its slot: nobody renews its lease but itself, after each step.
func ExampleCountingSemaphore_Refresh() {
	ctx := context.Background()
	workers := client.NewCountingSemaphore("workers", 3, &primitives.CountingSemaphoreOptions{Lease: time.Minute})
	lease, err := workers.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for range 10 {
		if err := work(lease.Context(ctx)); err != nil {
			log.Fatal(err)
		}
		err := workers.Refresh(ctx, lease)
		if errors.Is(err, primitives.ErrNotHeld) {
			log.Fatal("too slow: others have the slot")
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
}
