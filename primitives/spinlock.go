package primitives

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/lease"
)

// SpinLockOptions configure a [SpinLock]. The zero value of each field means its default.
type SpinLockOptions struct {
	// Lease is the length of a lease that is not renewed. For its holder it ends earlier by [Options].ClockDrift, one
	// of 24 h after 21 h 36 min. In whole milliseconds, at least 100 ms. Zero means the client's WatchdogLease, which the
	// watchdog renews until Release.
	Lease time.Duration

	// FirstDelay is a waiter's pause after its first refusal. The pause doubles with each refusal,
	// up to MaxDelay. Each pause is shortened at random, by up to a half. If FirstDelay and
	// MaxDelay are equal, pauses do not grow. At least 1 ms. Zero means 1 ms and 128 ms, as in
	// Redisson, or FirstDelay if that is longer.
	FirstDelay, MaxDelay time.Duration

	// Replicas is how many replicas must acknowledge a grant before Lock or TryLock returns it, and
	// ReplicaTimeout is how long one try waits for them. Renewals wait, too: see [LockOptions]. Zero means
	// the client's Replicas, and 1 s, or a third of the lease if that is less.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// SpinLock is a [Lock] without messages: a release sends none, and waiters try again and again,
// with pauses. It is for clusters of many nodes in which every node passes each message on to all
// others, and for locks that are held briefly and seldom waited for. With sharded pub/sub (Redis 7,
// Valkey) a message costs only the nodes of one shard, and a Lock is the better choice.
//
// The waiters of one client share their tries: one waiter tries for all, so a client costs the
// server one command for each pause, however many of its goroutines wait. After a release each
// client tries within MaxDelay. The first client that tries gets the lock.
//
// Each call of Lock or TryLock is an owner of its own. The lock is not reentrant, except under a
// [Lease.Reenter] context. A SpinLock is a name, not a resource, and safe for concurrent use. A
// Lock and a SpinLock of the same name exclude each other. But a SpinLock's release does not wake
// the Lock's waiters, which wait for their next poll.
//
// Source: Redisson's RSpinLock, by key and back-off.
type SpinLock struct {
	ownedLock
}

// NewSpinLock returns the spin lock called name. It sends nothing. The methods return a [*FieldError] for
// an empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewSpinLock(name string, opts *SpinLockOptions) *SpinLock {
	o := *cmp.Or(opts, new(SpinLockOptions))
	l := &SpinLock{}
	l.init(c, "spin lock", name, &c.tokenTTL)
	delay := o.backoff()
	l.reject(extend.AtLeast("FirstDelay", delay.First, time.Millisecond))
	l.reject(extend.AtLeast("MaxDelay", delay.Most, delay.First))
	leases, err := l.base.NewLeases(extend.LeaseConfig{
		Leasable: leasableSpinLock{(*leasableLock)(&l.ownedLock)}, Kind: c.leaseKind(spinScripts), Lease: o.Lease,
		ExcludedBy: &l.base,
		Replicas:   o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{Backoff: delay, Refusal: ErrNotAcquired},
	})
	l.leases = leases
	l.reject(err)
	return l
}

// backoff returns the delays with their defaults.
func (o SpinLockOptions) backoff() extend.Backoff {
	b := extend.Backoff{First: o.FirstDelay, Most: o.MaxDelay}
	if b.First == 0 {
		b.First = time.Millisecond
	}
	if b.Most == 0 {
		b.Most = max(128*time.Millisecond, b.First)
	}
	return b
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. If the
// lock is free, it takes one round trip. Otherwise Lock tries again after each pause, and when the
// holder's lease ends.
//
// If the first attempt reaches no server, Lock returns [ErrUnavailable] within the bound of the
// backend. If the server has once refused it, the caller is a waiter, as in [Lock.Lock]: it waits until
// ctx ends, even while no server can be reached.
//
// After an error the caller holds nothing: the client releases a possible grant in the background.
// The errors are the same as for [Lock.Lock].
func (l *SpinLock) Lock(ctx context.Context) (*Lease, error) {
	return l.leases.Hold(ctx, l.invalid)
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip, and waits only for replicas, if the options ask for them. Other errors are the same
// as for Lock's first attempt.
func (l *SpinLock) TryLock(ctx context.Context) (*Lease, error) {
	return l.leases.TryHold(ctx, l.invalid)
}

// Do is [Lock.Do] for this kind of lock.
func (l *SpinLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, l.Lock, work)
}

// ForceUnlock frees the lock, whichever owner holds it, and reports whether it was held. The holder
// learns of the loss at its next renewal, up to a third of its lease later, or at Release; with a
// fixed lease, at Release or at the end of the lease. Until then only its fencing token protects
// the resource. Errors are the same as for Lock.
func (l *SpinLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.SpinForceRelease(ctx, l.base.Runner(), l.base.Key())
	})
}

// leasableSpinLock is a spin lock, for its owners' leases.
type leasableSpinLock struct{ *leasableLock }

func (l leasableSpinLock) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.SpinRelease(ctx, r, l.base.Key(), owner)
}

// spinScripts renew and release many spin locks of a client.
var spinScripts = &leaseScripts{
	objects: "spin locks", channel: sideNames(lockChannel), // on which nothing is published
	renew: renewLocks,
	release: func(
		ctx context.Context, r backend.ScriptRunner, _ leaseKind, keys, owners, _ []string,
	) ([]int64, error) {
		return script.SpinReleaseAll(ctx, r, keys, owners)
	},
}
