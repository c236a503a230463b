package primitives

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// SpinLockOptions configure a [SpinLock]. The zero value of each field means its default.
type SpinLockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until Release.
	Lease time.Duration

	// FirstDelay is how long a waiter pauses after its first refusal, and MaxDelay how long at most: the
	// pause doubles with each refusal. Each is up to a half shorter, at random. If both are equal, pauses
	// do not grow. At least 1 ms. Zero means 1 ms and 128 ms, as in Redisson, or FirstDelay if that is
	// longer.
	FirstDelay, MaxDelay time.Duration

	// Replicas is how many replicas must have acknowledged a grant before Lock or TryLock returns it, and
	// ReplicaTimeout how long one try waits for them: see [LockOptions]. Zero means that the primary's
	// answer is enough, and 1 s, or a third of the lease if that is less.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// SpinLock is a [Lock] without messages: a release sends none, and waiters try again and again, with
// pauses. It is for clusters of many nodes, in which every node passes each message on to all others, and
// for locks that are held briefly and seldom waited for. Where sharded pub/sub is to be had (Redis 7,
// Valkey), a message costs the nodes of one shard alone, and a Lock is the better choice.
//
// The waiters of one client share their tries: one tries for all, so that a client costs the server one
// command for each pause, however many of its goroutines wait. After a release each client tries
// within MaxDelay; the first one to do so gets the lock.
//
// Each call of Lock or TryLock is an owner of its own; only [Lease.Reenter] re-enters. A SpinLock is a
// name, not a resource, and safe for concurrent use. A Lock of the same name excludes it and is excluded
// by it, but its waiters are not woken by a SpinLock's release: they wait for their next poll.
//
// Source: Redisson's RSpinLock, by key and back-off.
type SpinLock struct {
	ownedLock
}

// NewSpinLock returns the spin lock called name. It sends nothing. The methods return a [*FieldError] for
// an empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewSpinLock(name string, opts *SpinLockOptions) *SpinLock {
	var o SpinLockOptions
	if opts != nil {
		o = *opts
	}
	l := &SpinLock{}
	l.init(c, "spin lock", name, &c.tokenTTL)
	delay := o.backoff()
	l.reject(extend.AtLeast("FirstDelay", delay.First, time.Millisecond))
	l.reject(extend.AtLeast("MaxDelay", delay.Most, delay.First))
	leases, err := l.base.NewLeases(extend.LeaseConfig{
		Leasable: (*leasableSpinLock)(l), Kind: spinKind{lockKind{c.core}}, Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
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

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. A free lock
// takes one round trip. Otherwise Lock tries again after each pause, and when the holder's lease ends.
//
// If the first attempt meets no server, Lock returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts.
//
// On error nothing is held, and what may have been taken is released in the background. The errors are
// those of [Lock.Lock].
func (l *SpinLock) Lock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.Acquire(ctx)
	})
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip and waits for nothing but replicas, if it is to. Other errors are those of Lock's first attempt.
func (l *SpinLock) TryLock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.TryAcquire(ctx)
	})
}

// Do is [Lock.Do] for this kind of lock.
func (l *SpinLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, l.Lock, work)
}

// ForceUnlock frees the lock no matter who holds it, and reports whether it was held. The holder
// learns of it by its next renewal or by Release, up to a third of its lease later, or, of a fixed lease, by Release or
// at its end: only its fencing token protects the resource until then. Errors are those of Lock.
func (l *SpinLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.SpinForceRelease(ctx, l.base.Runner(), l.base.Key())
	})
}

// leasableSpinLock is a spin lock as its owners hold it.
type leasableSpinLock SpinLock

// Acquire implements [extend.Leasable].
func (l *leasableSpinLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	return l.acquire(ctx, r, owner, lease)
}

// Release implements [extend.Leasable].
func (l *leasableSpinLock) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.SpinRelease(ctx, r, l.base.Key(), owner)
}

// spinKind renews and releases many spin locks of a client.
type spinKind struct{ lockKind }

// ReleaseAll implements [extend.LeasableKind].
func (spinKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	statuses, err := script.SpinReleaseAll(ctx, r, keys, owners)
	if err != nil {
		return nil, fmt.Errorf("release spin locks: %w", err)
	}
	return statusesOf(statuses), nil
}
