package primitives_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// At most three processes at a time do something heavy. The first to come makes the semaphore: also after
// a restart, and after the server has lost its data. If one of them is killed, its permit comes back when
// its lease ends.
func ExamplePermitSemaphore() {
	ctx := context.Background()
	heavy := client.NewPermitSemaphore("heavy", &primitives.PermitSemaphoreOptions{Permits: 3})
	lease, err := heavy.Acquire(ctx, 1) // waits until there is a permit
	if err != nil {
		log.Fatal(err)
	}
	err = work(lease.Context(ctx)) // ends when the permit is lost
	if err := errors.Join(err, lease.Release(ctx)); err != nil {
		log.Fatal(err)
	}
}

// A process takes a permit, and another one, which does the work, puts it back. If that one fails, the
// permit comes back after ten minutes.
func ExamplePermitSemaphore_Release() {
	ctx := context.Background()
	heavy := client.NewPermitSemaphore("heavy", &primitives.PermitSemaphoreOptions{
		Permits: 3, Lease: 10 * time.Minute,
	})
	lease, err := heavy.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	order := primitives.PermitIDs(lease)[0].String() // passed on, as in a message of a queue

	id, err := primitives.ParsePermitID(order)
	if err != nil {
		log.Fatal(err)
	}
	err = work(ctx)
	if err := errors.Join(err, heavy.Release(ctx, id)); err != nil { // ErrNotHeld: it took too long
		log.Fatal(err)
	}
}
