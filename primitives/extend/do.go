package extend

import (
	"context"
	"errors"
)

// Do acquires a lease, has work done as [Lease.Do] does, and releases the lease. If acquire fails, it returns
// that error, and work is not called.
func Do(
	ctx context.Context, acquire func(ctx context.Context) (*Lease, error),
	work func(ctx context.Context, lease *Lease) error,
) error {
	lease, err := acquire(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, func(ctx context.Context) error { return work(ctx, lease) })
}

// Do has work done under the lease's context, releases the lease, and returns the errors of both, joined. It is
// for a lease by TryLock, say; Lock has a Do of its own. Work must not release the lease. Nil proves that the
// lease was held to the end, failover apart. If it was lost, the error wraps [ErrNotHeld] and [ErrLost], beside
// that of work, whose context ended then.
//
// The release is sent in any case, also if work panics. Do waits for its answer as Release does, and if ctx ended
// during the work for up to a second.
func (l *Lease) Do(ctx context.Context, work func(ctx context.Context) error) (err error) {
	defer func() { err = errors.Join(err, l.release(ctx, releaseGrace)) }()
	return work(l.Context(ctx))
}
