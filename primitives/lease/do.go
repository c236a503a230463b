package lease

import (
	"context"

	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// ReleaseError is the error of a Do that has called work, and whose release failed: nobody has
// confirmed that the lease was held to the end. A Do that could not acquire returns an error without a
// ReleaseError, and has not called work. So repeat a Do because of its error only if errors.As finds
// no *ReleaseError.
//
// It matches the errors in both fields.
type ReleaseError struct {
	// Work is the error of work. Nil means that work succeeded.
	Work error

	// Release is the error of [Lease.Release]. If it wraps [ErrNotHeld], the lease had ended before, and
	// work may have gone on at the same time as another holder. If it wraps
	// [backend.ErrIndeterminate], no answer came: the client repeats the release.
	Release error
}

// Error returns both errors as one line.
func (e *ReleaseError) Error() string { return worded.Join(e.Work, e.Release).Error() }

// Unwrap returns the errors that are not nil.
func (e *ReleaseError) Unwrap() []error {
	if e.Work == nil {
		return []error{e.Release}
	}
	return []error{e.Work, e.Release}
}

// Do acquires a lease, calls work like [Lease.Do], and releases the lease. If acquire fails, Do
// returns its error and does not call work.
func Do(
	ctx context.Context, acquire func(ctx context.Context) (*Lease, error),
	work func(ctx context.Context, lease *Lease) error,
) error {
	l, err := acquire(ctx)
	if err != nil {
		return err
	}
	return l.Do(ctx, func(ctx context.Context) error { return work(ctx, l) })
}

// Do calls work under the lease's context, and releases the lease. It is for a lease from TryLock, for
// example. Instead of Lock, use the lock's own Do. work must not release the lease.
//
// Nil proves that the lease was held to the end, except after a failover. If only work failed, Do
// returns its error. If the release failed, Do returns a [*ReleaseError] with both errors. If the lease
// was lost, that error wraps [ErrNotHeld] and [ErrLost], and the context of work ended then.
//
// Do releases the lease in any case, even if work panics. If ctx ends, it waits for work to return. It waits for the
// answer for a tenth of the lease, but for at least 1 s and at most 3 s, and for no more than 1 s once ctx has ended.
// Without an answer, the client repeats the release in the background, and the error wraps [backend.ErrIndeterminate].
func (l *Lease) Do(ctx context.Context, work func(ctx context.Context) error) (err error) {
	defer func() {
		if failed := l.of().Release(ctx, leases.WaitOfDo); failed != nil {
			err = &ReleaseError{Work: err, Release: failed}
		}
	}()
	return work(l.Context(ctx))
}
