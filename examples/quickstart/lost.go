package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// loseLease shows one lost lease from the holder's side: somebody frees the lock by force, and the
// holder's context ends at its next renewal.
func loseLease(ctx context.Context, out io.Writer, open open) error {
	opts := &primitives.Options{WatchdogLease: 1500 * time.Millisecond}
	client, closeClient, err := open(opts)
	if err != nil {
		return err
	}
	defer closeClient()

	lock := client.NewLock(lockName+":lost", nil)
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	work := lease.Context(ctx)
	fmt.Fprintf(out, "a holder with token %d, renewed every half second; Err: %v\n",
		lease.Token(), lease.Err())
	fmt.Fprintln(out, "  its lock is freed by force ...")
	if _, err := lock.ForceUnlock(ctx); err != nil {
		return err
	}
	began := time.Now()
	<-work.Done()
	fmt.Fprintf(out, "  ... %d ms later its context ends, cause: %v\n",
		time.Since(began).Milliseconds(), context.Cause(work))
	err = lease.Release(ctx)
	fmt.Fprintf(out, "  and Release returns: %v\n", err)
	if !errors.Is(err, primitives.ErrLost) {
		return fmt.Errorf("the loss of the lease was not reported by Release: %w", err)
	}
	return nil
}
