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

// independent has a backend for each of five servers.
var independent = []backend.Backend{
	newServer(), newServer(), newServer(), newServer(), newServer(),
}

// Jobs for one account run in the order in which they came, whichever process they came to.
func ExampleFairLock() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lease, err := client.NewFairLock("account:7", nil).Lock(ctx) // waits behind the jobs that came before
	if errors.Is(err, primitives.ErrNotAcquired) {
		fmt.Println("too many jobs came before; this one leaves the queue")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	err = lease.Do(context.Background(), func(context.Context) error {
		fmt.Println("the job runs")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the job runs
}

// Many workers of many processes append to one file, one at a time, in the order in which they asked.
func ExampleMutex() {
	err := client.NewMutex("journal", nil).Do(context.Background(),
		func(context.Context, *primitives.Lease) error {
			fmt.Println("appending")
			return nil
		}) // The release grants the mutex to the next waiter.
	if err != nil {
		log.Fatal(err)
	}
	// Output: appending
}

// A transfer holds both accounts, in whichever order others name them.
func ExampleMultiLock() {
	both := primitives.NewMultiLock(client.NewLock("account:7", nil), client.NewLock("account:9", nil))
	err := both.Do(context.Background(), func(context.Context, *primitives.Lease) error {
		fmt.Println("moving 12 from account 7 to account 9") // The context ends when either lock is lost.
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: moving 12 from account 7 to account 9
}

// A lock on five servers that are independent of each other: two of them may fail.
func ExampleRedLock() {
	var clients []*primitives.Client
	for _, b := range independent {
		client, err := primitives.New(b, nil)
		if err != nil {
			log.Fatal(err)
		}
		clients = append(clients, client)
	}
	err := primitives.NewRedLock(clients, "nightly", nil).Do(context.Background(),
		func(context.Context, *primitives.Lease) error {
			fmt.Println("the job runs") // The context ends when no majority is left.
			return nil
		})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the job runs
}

// One process locks, and another one unlocks: by a text that the first one sends.
func ExampleLock_ReleaseOwner() {
	ctx := context.Background()
	lease, err := client.NewLock("upload:7", &primitives.LockOptions{Lease: time.Hour}).TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	owner := lease.Owner() // to be sent
	lease.Forget()         // this process neither renews the lock nor releases it

	released, err := client.NewLock("upload:7", nil).ReleaseOwner(ctx, owner) // in another process
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("released:", released)
	// Output: released: true
}

// Any process may ask for the token of the last grant.
func ExampleFencedLock() {
	ledger := client.NewFencedLock("ledger:2026", nil)
	err := ledger.Do(context.Background(), func(ctx context.Context, lease *primitives.Lease) error {
		last, err := ledger.LastToken(ctx)
		fmt.Println("held under the last token:", lease.Token() == last)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: held under the last token: true
}

// Its waiters receive no messages: the first pause is at most 20 ms, later ones at most a second.
func ExampleSpinLock() {
	refill := client.NewSpinLock("cache:refill", &primitives.SpinLockOptions{
		FirstDelay: 20 * time.Millisecond, MaxDelay: time.Second,
	})
	err := refill.Do(context.Background(), func(context.Context, *primitives.Lease) error {
		fmt.Println("refilling the cache")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: refilling the cache
}

// A Python process that takes the lock "refill" by redis-py's Lock, with a timeout, excludes this work, and is excluded.
func ExamplePlainLock() {
	err := client.NewPlainLock("refill", nil).Do(context.Background(), func(context.Context, *primitives.Lease) error {
		fmt.Println("refilling the cache")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: refilling the cache
}

// One process takes the lock of a job, and sends the job with the owner to a worker, which holds the lock from then on.
func ExamplePlainLock_Adopt() {
	ctx := context.Background()
	taken, err := client.NewPlainLock("job:7", nil).TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	owner := taken.Owner()
	taken.Forget() // before the owner is sent: two adopters do not both work, but this process would

	lease, err := client.NewPlainLock("job:7", nil).Adopt(ctx, owner) // in the worker
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("working:", lease.Err() == nil)
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: working: true
}

// A writer becomes a reader of what it has written, and no other process writes in between.
func ExampleReadWriteLock() {
	ctx := context.Background()
	prices := client.NewReadWriteLock("prices", nil)
	writer, err := prices.WriteLock().Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("writing alone")
	reader, err := prices.ReadLock().Lock(writer.Reenter(ctx))
	if err := errors.Join(err, writer.Release(ctx)); err != nil {
		log.Fatal(err)
	}
	err = prices.ReadLock().Do(ctx, func(context.Context, *primitives.Lease) error {
		fmt.Println("reading with others")
		return nil
	})
	if err := errors.Join(err, reader.Release(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// writing alone
	// reading with others
}
