package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// Revoke takes the lock from owner, see [Lease.Owner], or from any owner if owner is "". It does not free the lock, as
// [Lock.ForceUnlock] does: the lock stays held until the end of the lease on which its holder counts. So the contexts of
// the holder's lease have ended before another owner can acquire the lock.
//
// Revoke returns for how long the lock stays held at most. It returns 0 if it changed nothing, because the lock is free
// or another owner holds it. To revoke again changes nothing, and returns the rest of the time. A lock without an
// expiry stays held for the client's WatchdogLease. Until the end [Lock.Holder] says that it is revoked, and
// ForceUnlock still frees the lock.
//
// The holder learns of the loss at its next renewal, up to a third of its lease later, or at Release; with a fixed
// lease, at Release or at the end of the lease. A holder in Java learns of it at its unlock only. Waiters get the lock
// when it expires, as after a crash of the holder. A read-write lock is an [ErrConflict]: its sides have a Revoke each.
//
// Revoke takes one round trip. Errors are the same as for Lock. After [ErrIndeterminate], revoke again.
func (l *ownedLock) Revoke(ctx context.Context, owner string) (time.Duration, error) {
	return l.revoke(ctx, script.LockRevoke, owner)
}

// Revoke is [Lock.Revoke] for a reader, or for all readers if owner is "". Other readers keep the lock. The readers that
// were revoked are one reader whose lease ends with the longest of theirs, which [ReadLock.Holders] counts until then.
// While a reader in Java renews its own lease, it renews those of all readers, also that one's.
func (l *ReadLock) Revoke(ctx context.Context, owner string) (time.Duration, error) {
	return l.revoke(ctx, func(
		ctx context.Context, r backend.ScriptRunner, key, owner string, _ time.Duration,
	) (time.Duration, error) {
		return script.ReadRevoke(ctx, r, key, l.readers, owner)
	}, owner)
}

// Revoke is [Lock.Revoke] for the writer. The leases of the writer's own readers are lost, too, and the lock stays held
// until the last of all these leases ends.
func (l *WriteLock) Revoke(ctx context.Context, owner string) (time.Duration, error) {
	return l.revoke(ctx, script.WriteRevoke, owner)
}

// revoking is a script that revokes a hold. lease is for a key without an expiry.
type revoking func(
	ctx context.Context, r backend.ScriptRunner, key, owner string, lease time.Duration,
) (time.Duration, error)

// revoke revokes a hold of o.
func (o *object) revoke(ctx context.Context, by revoking, owner string) (time.Duration, error) {
	return extend.Call(ctx, &o.base, o.invalid, "revoke", func() (time.Duration, error) {
		return by(ctx, o.base.Runner(), o.base.Key(), owner, o.base.Core().WatchdogLease())
	})
}

// ReleaseOwner ends the hold of the owner: see [Lease.Owner]. It reports whether that owner held the lock, and changes
// nothing if not. It is for a process that got the owner's text from the holder, which has called [Lease.Forget], and for
// operators who have seen it in [Lock.Holder]. Without Forget the owner's client learns of the loss as after
// [Lock.Revoke], and until then only its fencing token protects the resource. ReleaseOwner takes one round trip. Errors
// are the same as for Lock.
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
