package primitives

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// PlainLockOptions configure a [PlainLock]. Each field is as in [LockOptions]. There is no Metadata: it needs a second
// key, which other programs' locks do not have. [Options].IDPrefix names the process of the holder instead.
type PlainLockOptions struct {
	Lease, MaxHold time.Duration
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// PlainLock is a lock in the form that locks have in most languages: a string at the key name, behind
// [Options].KeyPrefix, whose value is a random text of the owner (SET key owner NX PX). It excludes the owners of
// redis-py's Lock, node-redlock, redis-semaphore's Mutex, redsync and others on the same key, and is excluded by them.
// It costs the server less than half of what a [Lock] does.
//
// Compared with a [Lock] it has no fencing token: [Lease.Token] returns 0. A holder that has lost its lease, and has not
// noticed, is not stopped by the resource: take a Lock, a [FencedLock] or a [Mutex] for that. It also has no Metadata.
//
// A release wakes the waiters of all clients of this package, as the release of a Lock does. Other programs publish nothing
// when they release, and the server does not say when a lease ends. So one waiter of each client also tries again by
// itself, at most 250 ms after the last try. A key without an expiry, as redis-py's Lock makes it without a timeout,
// stays held until it is released.
//
// Each call of Lock or TryLock is an owner of its own. The lock is not reentrant, except under a
// [Lease.Reenter] context. A PlainLock is a name, not a resource, and safe for concurrent use. With any other kind of
// object of the same name the methods return [ErrConflict], except with those whose key is a string, such as an
// [AtomicLong]: a PlainLock takes each string for a lock.
//
// Source: docs/internals/keys-and-messages.md. Redisson has no such lock.
type PlainLock struct {
	textLock
	channel string // of releases by this package
}

// plainBackoff is the pause between two tries of a client, as long as no message comes.
var plainBackoff = extend.Backoff{First: 100 * time.Millisecond, Most: 250 * time.Millisecond}

// NewPlainLock returns the lock whose key is called name, as [Client.NewLock] does.
func (c *Client) NewPlainLock(name string, opts *PlainLockOptions) *PlainLock {
	o := *cmp.Or(opts, new(PlainLockOptions))
	l := &PlainLock{textLock: textLock{leased{object: c.newObject("plain lock", name, "string")}}}
	l.channel = extend.SideName(plainLockChannel, l.base.Key())
	l.newLeases(extend.LeaseConfig{
		Leasable: (*leasablePlainLock)(l), Kind: c.leaseKind(plainScripts), Lease: o.Lease, MaxHold: o.MaxHold,
		ExcludedBy: &l.base, Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{
			Channel: l.channel, FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired, Backoff: plainBackoff,
		},
	})
	return l
}

// Adopt takes the lock over from its holder, such as another process that took it for a job and hands the job on.
// owner is the holder's [Lease.Owner], or the text that another program keeps in the key. Adopt puts a new owner in its
// place, and returns a lease as Lock does: whole, and renewed here. Each owner can be adopted once: of two callers
// that adopt it, one gets [ErrNotHeld], as does a caller for whose owner the lock is no longer held.
//
// The first holder must call [Lease.Forget] before it sends its owner on: a renewal or release of its own does nothing
// then. If it does not, it learns of the loss at its next renewal ([LossTaken]), up to a third of its lease later; with
// a fixed lease, at Release or at the end of the lease. Until then both work.
//
// Adopt takes one round trip. After an error the caller holds nothing, and the hold may have ended: the client releases
// it if Adopt may have taken it over. [ErrNotHeld] and [ErrConflict] mean that nothing was changed. Other errors are the
// same as for the first attempt of Lock.
func (l *PlainLock) Adopt(ctx context.Context, owner string) (*Lease, error) {
	invalid := l.invalid
	if invalid == nil && (owner == "" || owner == script.Nobody) {
		invalid = &FieldError{Field: "owner", Problem: "is empty, or the text of a revoked hold"}
	}
	return extend.Call(ctx, &l.base, invalid, "adopt", func() (*Lease, error) {
		return l.leases.TryAs(ctx, &adoptedPlainLock{(*leasablePlainLock)(l), owner}, ErrNotHeld)
	})
}

// ForceUnlock frees the lock, whichever owner holds it, of whatever program, and reports whether it was held. A holder
// of this package learns of the loss as with [Lock.ForceUnlock]; other programs learn of it at their release or
// renewal, if they look at the answer. [PlainLock.Revoke] keeps the lock until the lease has ended on which its holder
// counts. Errors are the same as for Lock.
func (l *PlainLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.PlainForceRelease(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.channel)
	})
}

// ReleaseOwner is [Lock.ReleaseOwner] for this kind of lock. owner may be that of another program.
func (l *PlainLock) ReleaseOwner(ctx context.Context, owner string) (bool, error) {
	return l.releaseOwner(ctx, (*leasablePlainLock)(l).Release, owner)
}

// Remaining is [Lock.Remaining] for this kind of lock.
func (l *PlainLock) Remaining(ctx context.Context) (time.Duration, error) {
	return remaining(ask(ctx, &l.object, "query", script.PlainRemaining))
}

// leasablePlainLock is a plain lock, for its owners' leases.
type leasablePlainLock PlainLock

// Acquire implements [extend.Leasable]. Both scripts have the same answer: a late answer may be read as the other script's.
func (l *leasablePlainLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (_ int64, answer extend.Answer, err error) {
	var holder string
	held := false
	if l.base.AsksRights() {
		holder, held, err = script.PlainAcquire(ctx, r, l.base.Key(), owner, lease, l.publish(), l.channel)
	} else {
		holder, held, err = script.PlainSet(ctx, r, l.base.Key(), owner, "NX", "GET", "PX", lease)
	}
	answer.Granted = err == nil && (!held || holder == owner)
	return 0, answer, err
}

// Release implements [extend.Leasable].
func (l *leasablePlainLock) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	key, publish := l.base.Key(), l.publish()
	if publish != "PUBLISH" || strings.Contains(key, "{") {
		released, err := script.TaggedRelease(ctx, r, key, owner, publish, l.channel)
		return noteRelease(r, released, err)
	}
	released, err := script.PlainRelease(ctx, r, key, owner)
	return noteRelease(r, released, err)
}

// adoptedPlainLock is a plain lock whose next owner takes it over from a former owner.
type adoptedPlainLock struct {
	*leasablePlainLock
	former string
}

// Acquire implements [extend.Leasable].
func (l *adoptedPlainLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (_ int64, answer extend.Answer, err error) {
	answer.Granted, err = script.PlainAdopt(ctx, r, script.PlainAdoptParams{
		Lock: l.base.Key(), Owner: owner, Former: l.former, Lease: lease,
		Publish: l.publish(), Released: l.channel, Asks: l.base.AsksRights(),
	})
	return 0, answer, err
}

// plainScripts renew and release many plain locks of a client.
var plainScripts = &leaseScripts{
	objects: "plain locks", channel: sideNames(plainLockChannel), renew: renewTexts, release: publishing(script.PlainReleaseAll),
}
