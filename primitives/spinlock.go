package primitives

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// SpinLockOptions configure a [SpinLock]. The zero value of each field means its default.
type SpinLockOptions struct {
	// Lease is as in [LockOptions].
	Lease time.Duration

	// FirstDelay is a waiter's pause after its first refusal. The pause doubles with each refusal,
	// up to MaxDelay. Each pause is shortened at random, by up to a half. If FirstDelay and
	// MaxDelay are equal, pauses do not grow. At least 1 ms. Zero means 1 ms and 128 ms, as in
	// Redisson, or FirstDelay if that is longer.
	FirstDelay, MaxDelay time.Duration

	// Replicas and ReplicaTimeout are as in [LockOptions].
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// SpinLock is a [Lock] without messages: a release sends none, and waiters try again and again,
// after pauses, and when the holder's lease ends. It is for clusters of many nodes in which every node passes each message on to all
// others, and for locks that are held briefly and seldom waited for. With sharded pub/sub (Redis 7,
// Valkey) a message costs only the nodes of one shard, and a Lock is the better choice.
//
// The waiters of one client share their tries: one waiter tries for all, so a client costs the
// server one command for each pause, however many of its goroutines wait. After a release each
// client tries within MaxDelay. The first client that tries gets the lock.
//
// A Lock and a SpinLock of the same name exclude each other. But a SpinLock's release does not wake
// the Lock's waiters, which wait for their next poll.
//
// Source: Redisson's RSpinLock, by key and back-off.
type SpinLock struct {
	ownedLock
}

// NewSpinLock returns the spin lock called name, as [Client.NewLock] does.
func (c *Client) NewSpinLock(name string, opts *SpinLockOptions) *SpinLock {
	o := *cmp.Or(opts, new(SpinLockOptions))
	l := &SpinLock{}
	l.init(c, "spin lock", name, &c.tokenTTL)
	first := cmp.Or(o.FirstDelay, time.Millisecond)
	delay := extend.Backoff{First: first, Most: cmp.Or(o.MaxDelay, max(128*time.Millisecond, first))}
	l.reject(extend.AtLeast("FirstDelay", delay.First, time.Millisecond))
	l.reject(extend.AtLeast("MaxDelay", delay.Most, delay.First))
	l.newLeases(extend.LeaseConfig{
		Leasable: leasableSpinLock{(*leasableLock)(&l.ownedLock)}, Kind: c.leaseKind(spinScripts), Lease: o.Lease,
		ExcludedBy: &l.base,
		Replicas:   o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{Backoff: delay, Refusal: ErrNotAcquired},
	})
	return l
}

// ForceUnlock is [Lock.ForceUnlock] for this kind of lock. The holder learns of the loss as after [Lock.Revoke].
func (l *SpinLock) ForceUnlock(ctx context.Context) (bool, error) {
	return ask(ctx, &l.object, "force release of", script.SpinForceRelease)
}

// leasableSpinLock is a spin lock, for its owners' leases.
type leasableSpinLock struct{ *leasableLock }

func (l leasableSpinLock) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
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
