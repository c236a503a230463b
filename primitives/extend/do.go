package extend

import (
	"context"
	"errors"
)

// Do acquires a lease, calls work like [Lease.Do], and releases the lease. If acquire fails, Do
// returns its error and does not call work.
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

// Do calls work under the lease's context, releases the lease, and returns the errors of work and
// of the release, joined. It is for a lease from TryLock, for example. Instead of Lock, use the
// lock's own Do. work must not release the lease. Nil proves that the lease was held to the end,
// except after a failover. If it was lost, the error wraps [ErrNotHeld], [ErrLost] and the error of
// work, whose context ended then.
//
// Do releases the lease in any case, even if work panics. It waits for the answer like Release, and
// for up to a second if ctx ended during the work.
func (l *Lease) Do(ctx context.Context, work func(ctx context.Context) error) (err error) {
	defer func() { err = errors.Join(err, l.release(ctx, releaseGrace)) }()
	return work(l.Context(ctx))
}
