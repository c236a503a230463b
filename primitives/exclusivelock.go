package primitives

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/lease"
)

// exclusiveLock is embedded by the locks that one owner at a time holds, in a hash of owner and
// hold count, and for which waiters race.
type exclusiveLock struct {
	ownedLock
	anonymous bool // grants store neither the host's name nor the process id; set before init
}

func (l *exclusiveLock) init(
	c *Client, kind, name string, opts *LockOptions, tokenTTL *time.Duration,
) {
	config := l.configure(c, kind, name, opts, tokenTTL)
	leases, err := l.base.NewLeases(config)
	l.leases = leases
	l.reject(err)
}

// configure is init without leases: it returns their configuration.
func (l *exclusiveLock) configure(
	c *Client, kind, name string, opts *LockOptions, tokenTTL *time.Duration,
) extend.LeaseConfig {
	o := *cmp.Or(opts, new(LockOptions))
	l.ownedLock.init(c, kind, name, tokenTTL)
	l.channel = extend.SideName(lockChannel, l.base.Key())
	var leasable extend.Leasable = (*leasableLock)(&l.ownedLock)
	scripts := lockScripts
	if o.Metadata != "" {
		leasable, scripts = l.described(o.Metadata), describedScripts
	}
	return extend.LeaseConfig{
		Leasable: leasable, Kind: c.leaseKind(scripts), Lease: o.Lease,
		MaxHold: o.MaxHold, ExcludedBy: &l.base,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{Channel: l.channel, FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired},
	}
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. If the
// lock is free, it takes one round trip. Otherwise Lock tries again after the holder's release, at
// the end of the holder's lease, and at each poll.
//
// If the first attempt reaches no server, Lock returns [ErrUnavailable] within the bound of the
// backend. If the server has once answered that another owner holds the lock, the caller is a waiter.
// A waiter waits until ctx ends, even while no server can be reached, or while the server accepts no
// writes (OOM, MISCONF, NOREPLICAS). If the outcome of its attempt is unknown, Lock continues as
// another owner, and the client releases a possible grant to the first.
//
// After an error the caller holds nothing: the client releases a possible grant in the background.
// If ctx ended, the error wraps ctx's error, and also
//
//   - [ErrNotAcquired] if the server's last answer was that another owner holds the lock,
//   - [ErrUnavailable] if no server could be reached,
//   - [ErrReplicas] if too few replicas acknowledged the last grant ([LockOptions]),
//   - [ErrIndeterminate] if a request was under way.
//
// Other errors wrap
//
//   - [ErrIndeterminate] if the reply to the first attempt was lost,
//   - [ErrConflict] if the key holds something other than a lock,
//   - [ErrLost] if the grant of the first attempt came too late to be used,
//   - [ErrReplicas] if the server cannot be asked for its replicas, for example because it does not
//     know WAIT: then Lock returns at once,
//   - [ErrClosed], [ErrSelfDeadlock] or a [*FieldError] if nothing was sent.
func (l *exclusiveLock) Lock(ctx context.Context) (*Lease, error) {
	return l.leases.Hold(ctx, l.invalid)
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip, and waits only for replicas, if the options ask for them. Other errors are the same
// as for Lock's first attempt.
func (l *exclusiveLock) TryLock(ctx context.Context) (*Lease, error) {
	return l.leases.TryHold(ctx, l.invalid)
}

// Do acquires the lock like Lock, calls work, and releases the lock. work gets a context that ends
// with the lease, and the lease itself, for its fencing token. work must not release the lease. If
// work panics, Do releases the lock, and the panic continues.
//
// If Lock fails, Do returns its error and does not call work. If only work fails, Do returns its error.
// If the release fails, Do returns a [*ReleaseError] with both errors: then work was called, and a
// caller that repeats Do runs it again. Nil proves that the lock was held to the end, except after a
// failover. If the lock was lost, the error wraps [ErrNotHeld] and [ErrLost], and the context of work
// ended then.
//
// If ctx ends, Do waits for work to return, and for the answer to the release for up to a second. In any
// case Do waits for that answer for a tenth of the lease at most, within 1 s and 3 s. Without an answer
// the client repeats the release in the background.
func (l *exclusiveLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, l.Lock, work)
}

// ForceUnlock frees the lock, whichever owner holds it, and reports whether it was held. If the holder's
// client has waiters for the lock, the holder learns of the loss at once. Otherwise it learns at its next
// renewal, up to a third of its lease later, or at Release; with a fixed lease, at Release or at the end of
// the lease. Until then only its fencing token protects the resource: [Lock.Revoke] leaves no such time. Errors are
// the same as for Lock.
func (l *exclusiveLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.LockForceRelease(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.channel)
	})
}

// lockFreeUnits reads a message on a lock's channel. "0" means that one waiter may try. "1", which
// Redisson understands, too, means that all waiters may try. Redisson ignores "2".
func lockFreeUnits(payload string) int {
	switch payload {
	case "1":
		return extend.AllUnits
	case forced:
		return -extend.AllUnits
	}
	return 1
}

// forced is the message that ForceUnlock has ended a hold.
const forced = "2"

// lockScripts renew and release many locks of a client.
var lockScripts = &leaseScripts{
	objects: "locks", channel: sideNames(lockChannel),
	renew: renewLocks, release: publishing(script.LockReleaseAll),
}
