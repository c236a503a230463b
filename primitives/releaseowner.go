package primitives

import (
	"context"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

// ReleaseOwner ends the hold of the owner: see [Lease.Owner]. It reports whether that owner held the lock, and changes
// nothing if not, whoever holds it now. It is for operators who have seen the owner in [Lock.Holder]: a holder itself
// uses [Lease.Release]. The owner's client learns of the loss at its next renewal, up to a third of its lease later, or
// at Release; with a fixed lease, at Release or at the end of the lease. Until then only its fencing token protects the
// resource. ReleaseOwner takes one round trip. Errors are the same as for Lock.
func (l *exclusiveLock) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return l.releaseOwner(ctx, (*leasableLock)(&l.ownedLock).Release, owner)
}

// ReleaseOwner is [Lock.ReleaseOwner] for this kind of lock. The first waiter is granted the mutex.
func (m *Mutex) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return m.releaseOwner(ctx, leasableMutex{Mutex: m}.Release, owner)
}

// ReleaseOwner is [Lock.ReleaseOwner] for this kind of lock. It wakes the first waiter.
func (l *FairLock) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return l.releaseOwner(ctx, leasableFairLock{FairLock: l}.Release, owner)
}

// ReleaseOwner is [Lock.ReleaseOwner] for a reader. Other readers keep the lock.
func (l *ReadLock) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return l.releaseOwner(ctx, l.release, owner)
}

// ReleaseOwner is [Lock.ReleaseOwner] for the writer.
func (l *WriteLock) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return l.releaseOwner(ctx, l.release, owner)
}

// releaseOwner ends owner's hold of o.
func (o *object) releaseOwner(
	ctx context.Context, release func(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error), owner string,
) (bool, error) {
	invalid := o.invalid
	if invalid == nil && owner == "" {
		invalid = &FieldError{Field: "owner", Problem: "is empty"}
	}
	return extend.Call(ctx, &o.base, invalid, "release", func() (bool, error) {
		return release(ctx, o.base.Runner(), owner)
	})
}
