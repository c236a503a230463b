package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

func ExampleNewClient() {
	client, err := embedded.NewClient(embedded.NewServer(), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = client.NewLock("orders:42", nil).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		fmt.Println("shipping order 42")
		return ctx.Err()
	})
	if err := errors.Join(err, client.Close(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output: shipping order 42
}

// A test of how a worker reacts when it loses its lock. It takes a third of the lease, at most; in a
// testing/synctest bubble it takes no time.
func ExampleServer_Revoke() {
	server := embedded.NewServer()
	client, err := embedded.NewClient(server, &primitives.Options{WatchdogLease: 300 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer client.Close(ctx)

	started := make(chan struct{})
	worker := func() error { // the code under test
		lease, err := client.NewLock("orders:42", nil).Lock(ctx)
		if err != nil {
			return err
		}
		work := lease.Context(ctx)
		close(started)
		<-work.Done() // it works until it has finished or lost the lock
		return errors.Join(context.Cause(work), lease.Release(ctx))
	}
	result := make(chan error)
	go func() { result <- worker() }()

	select {
	case <-started:
	case err := <-result:
		log.Fatal(err)
	}
	if err := server.Revoke("orders:42"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the worker lost its lock:", errors.Is(<-result, primitives.ErrLost))
	// Output: the worker lost its lock: true
}
