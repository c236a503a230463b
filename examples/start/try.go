package main

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

func shipIfFree(ctx context.Context, lock *primitives.Lock, work func(ctx context.Context) error) error {
	lease, err := lock.TryLock(ctx) // does not wait
	if errors.Is(err, primitives.ErrNotAcquired) {
		return nil // another owner holds the lock, in this process or another
	} else if err != nil {
		return err
	}
	return lease.Do(ctx, work) // works under the lease's context, and releases
}

func shipSoon(ctx context.Context, lock *primitives.Lock, work func(ctx context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	lease, err := lock.Lock(waiting) // limits only the wait, not the work
	if err != nil {
		return err // also matches ErrNotAcquired, if another owner held the lock
	}
	return lease.Do(ctx, work)
}

func shipAnyway(ctx context.Context, lock *primitives.Lock, work func(ctx context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	lease, err := lock.Lock(waiting)
	if errors.Is(err, primitives.ErrUnavailable) || errors.Is(err, primitives.ErrIndeterminate) ||
		errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, primitives.ErrNotAcquired) {
		return work(ctx) // without the lock: Redis is down
	}
	if err != nil {
		return err
	}
	return lease.Do(ctx, work)
}
