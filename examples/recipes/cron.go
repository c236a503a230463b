package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// RunOnce runs a job on one of all replicas that call it for the same slot, and reports whether it was this
// one. The slot is the time of the schedule, such as time.Now().Truncate(period): it is part of the lock's
// name, so that the next slot need not wait for the end of this one's lease.
//
// The lock has a fixed lease of one period, and is not released: a replica whose clock is late by less than
// the period does not run the job again. The job's context ends with the lease. An error that wraps
// [primitives.ErrLost] says that the job took longer than a period.
//
// If the winner dies, nobody runs the job for this slot: it runs at most once. A job that must be done in
// spite of crashes needs a Lock that is renewed, and a record of the slots that are done, to look at under it.
func RunOnce(
	ctx context.Context, client *primitives.Client, name string, slot time.Time, period time.Duration,
	job func(ctx context.Context) error,
) (won bool, err error) {
	key := name + ":" + slot.UTC().Format(time.RFC3339)
	lease, err := client.NewLock(key, &primitives.LockOptions{Lease: period}).TryLock(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) {
		return false, nil // Another replica runs the job, or has run it.
	}
	if err != nil {
		return false, err
	}
	defer lease.Forget() // The lock stays on the server until its lease ends, even if client is closed.
	err = job(lease.Context(ctx))
	return true, errors.Join(err, lease.Err())
}
