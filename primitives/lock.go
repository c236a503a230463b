package primitives

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// NoExpiry is what [Lock.Remaining] and RemainingLife return for a key without an expiry. For a key
// that expires in more than 292 years, which no Duration can say, they return NoExpiry - 1.
const NoExpiry time.Duration = math.MaxInt64

// LockOptions configure a [Lock]. The zero value of each field means its default.
type LockOptions struct {
	// Lease is a fixed length for which the lock is held, renewed by nobody, in whole milliseconds
	// and at least 100 ms. Zero means the client's WatchdogLease, renewed until Unlock.
	Lease time.Duration

	_ struct{}
}

// Lock is mutual exclusion between processes: at any time at most one owner holds it. It is not
// fair. Each call of Lock or TryLock is an owner of its own, also on one Lock value and in one
// process; only [Lease.Reenter] re-enters.
//
// A Lock is a name, not a resource: it needs no closing, and values made with the same arguments
// are the same lock. It is safe for concurrent use.
//
// Source: Redisson's RLock, by key and channel.
type Lock struct {
	object
	want    wait.Want
	lease   time.Duration
	renewer renew.Renewer // nil: a fixed lease
	invalid error         // of the arguments; each method returns it
}

// NewLock returns the lock called name. It sends nothing. The methods return a [*FieldError] for an
// empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewLock(name string, opts *LockOptions) *Lock {
	var o LockOptions
	if opts != nil {
		o = *opts
	}
	l := &Lock{object: c.newObject("lock", name), lease: o.Lease.Truncate(time.Millisecond)}
	l.tokenKey = sideName(lockTokenKey, l.key)
	l.want = wait.Want{Object: l.key, Channel: sideName(lockChannel, l.key), Frees: lockFrees}
	if o.Lease == 0 {
		l.lease = c.opts.WatchdogLease
		l.renewer = lockRenewer{}
	}
	l.invalid = l.validate()
	return l
}

func (l *Lock) validate() error {
	if err := l.object.validate(); err != nil {
		return err
	}
	return l.client.opts.validateLease("Lease", l.lease)
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. A free
// lock takes one round trip. Otherwise Lock waits for the holder's release, for the end of its
// lease, or for the next poll, and tries again.
//
// If the first attempt meets no server, Lock returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts.
//
// On error nothing is held, and what may have been taken is given back in the background. If ctx
// ended, the error wraps ctx's, and beside it [ErrNotAcquired] if another held the lock,
// [ErrUnavailable] if no server could be reached, or [ErrIndeterminate] if a request was under way.
// It wraps [ErrIndeterminate] also if a reply was lost, [ErrConflict] if the key is no lock, [ErrLost]
// if the grant came too late to be used, and [ErrClosed] or a [*FieldError] if nothing was sent.
func (l *Lock) Lock(ctx context.Context) (*Lease, error) {
	lease, err := l.take(ctx, func(a *attempt) error {
		return l.client.waiters.Wait(ctx, l.want, a)
	})
	return lease, l.describe(ctx, "acquire", err)
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip and does not wait. Other errors are those of Lock's first attempt.
func (l *Lock) TryLock(ctx context.Context) (*Lease, error) {
	lease, err := l.take(ctx, func(a *attempt) error { return tryOnce(ctx, a) })
	return lease, l.describe(ctx, "acquire", err)
}

// take returns a lease of a hold that acquire has got, or of the hold that ctx re-enters.
func (l *Lock) take(ctx context.Context, acquire func(*attempt) error) (*Lease, error) {
	if err := l.enter(ctx, l.invalid); err != nil {
		return nil, err
	}
	defer l.client.leave()
	if outer := reentered(ctx, l.object); outer != nil {
		if lease, err := outer.reenter(l.lease, l.renewer); lease != nil || err != nil {
			return lease, err
		}
	}
	a := l.newAttempt()
	if err := acquire(a); err != nil {
		return nil, a.explain(ctx, err, ErrNotAcquired)
	}
	if err := ended(ctx); err != nil {
		// The grant raced with the end of ctx: a caller that gave up does not expect to hold.
		a.hold.abandon()
		return nil, err
	}
	return &a.hold.first, nil
}

// attempt is one caller's way to the lock. Its owner is a new one where the old one may hold the lock.
type attempt struct {
	lock *Lock
	hold *hold
	refusals
}

// newAttempt returns an attempt with its first hold, which are one allocation.
func (l *Lock) newAttempt() *attempt {
	var first struct {
		attempt
		hold
	}
	first.attempt = attempt{lock: l, hold: l.init(&first.hold)}
	return &first.attempt
}

// Try implements [wait.Attempt].
func (a *attempt) Try(ctx context.Context) (wait.Answer, error) {
	if a.hold == nil {
		a.hold = a.lock.init(&hold{})
	}
	answer, err := a.hold.try(ctx)
	if err != nil && !errors.Is(err, ErrUnavailable) {
		a.hold = nil
	}
	return a.note(ctx, answer, err, errors.Is(err, ErrIndeterminate))
}

// init makes h a hold of l by a new owner.
func (l *Lock) init(h *hold) *hold {
	h.of, h.locker = l.object, l
	h.Hold = renew.Hold{
		Key: l.key, Owner: l.client.newOwner(), Lease: l.lease,
		Allowance: l.client.opts.allowanceFor(l.lease), Renewer: l.renewer,
	}
	h.newLease()
	return h
}

// acquire implements locker.
func (l *Lock) acquire(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (int64, wait.Answer, error) {
	result, err := script.LockAcquire(
		ctx, r, l.key, l.tokenKey, owner, l.lease, l.client.opts.TokenTTL)
	return result.Token, wait.Answer{Granted: result.TokenOK, RetryIn: result.Wait}, err
}

// release implements locker.
func (l *Lock) release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.LockRelease(ctx, r, l.key, owner, l.client.publish, l.want.Channel)
}

// releaseAll implements locker.
func (l *Lock) releaseAll(ctx context.Context, holds []*hold) ([]found, error) {
	n := len(holds)
	keys, owners, channels := make([]string, n), make([]string, n), make([]string, n)
	for i, h := range holds {
		keys[i], owners[i], channels[i] = h.Key, h.Owner, sideName(lockChannel, h.Key)
	}
	statuses, err := script.LockReleaseAll(
		ctx, l.client.ownWork, keys, l.client.publish, owners, channels)
	if err != nil {
		return nil, fmt.Errorf("release locks: %w", err)
	}
	result := make([]found, len(statuses))
	for i, status := range statuses {
		switch status {
		case 1:
			result[i] = freed
		case 0, -1:
			result[i] = missed
		}
	}
	return result, nil
}

// lockFrees reads a message on a lock's channel. "0" says that the lock is free, for one; Redisson
// also understands "1", for all.
func lockFrees(payload string) int {
	if payload == "1" {
		return wait.All
	}
	return 1
}

// ForceUnlock frees the lock no matter who holds it, and reports whether it was held. The holder
// learns of it by its next renewal or by Unlock, up to a third of its lease later: only its fencing
// token protects the resource until then. Errors are those of [Lock.Lock].
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "force release of", func() (bool, error) {
		return script.LockForceRelease(ctx, l.client.calls, l.key, l.client.publish, l.want.Channel)
	})
}

// IsLocked reports whether anybody holds the lock.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (bool, error) {
		return script.LockExists(ctx, l.client.calls, l.key)
	})
}

// IsHeldBy reports whether owner holds the lock: see [Lease.Owner].
func (l *Lock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (bool, error) {
		return script.LockHeldBy(ctx, l.client.calls, l.key, owner)
	})
}

// HoldCount returns how often owner holds the lock on the server: 0 or 1 for this package's owners,
// whose re-entry is counted in the process, and any number for a Java peer's.
func (l *Lock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.client.calls, l.key, owner)
		return count, err
	})
}

// Remaining returns what the present holder's lease still has by the server's clock: 0 if the lock
// is free, [NoExpiry] if its key has no end. For what a holder may believe of its own lease see
// [Lease.Remaining].
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.LockRemaining(ctx, l.client.calls, l.key))
	})
}

// lockRenewer renews locks.
type lockRenewer struct{}

// Renew implements [renew.Renewer].
func (lockRenewer) Renew(
	ctx context.Context, r backend.ScriptRunner, holds []*renew.Hold,
) ([]renew.Status, error) {
	keys, owners := make([]string, len(holds)), make([]string, len(holds))
	for i, h := range holds {
		keys[i], owners[i] = h.Key, h.Owner
	}
	statuses, err := script.LockRenew(ctx, r, keys, holds[0].Lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew locks: %w", err)
	}
	result := make([]renew.Status, len(statuses))
	for i, status := range statuses {
		result[i] = renew.Status(status)
	}
	return result, nil
}
