package primitives

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// NoExpiry is what [Lock.Remaining] returns for a lock whose holder has set no end.
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
	tokenKey string
	want     wait.Want
	lease    time.Duration
	renewer  renew.Renewer // nil: a fixed lease
	invalid  error         // of the arguments, told by each method
}

// NewLock returns the lock called name. It sends nothing. A name that is empty or an option out of
// bounds is told by the methods, as a [*FieldError]. In a cluster a name with braces must have its
// hash tag in them.
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
// On error nothing is held, and what may have been taken is given back in the background. The error
// wraps ctx's if ctx ended, [backend.ErrIndeterminate] if a request's outcome is unknown,
// [ErrConflict] if the key is no lock, [ErrLost] if the grant came too late to be used, and
// [ErrClosed] or a [*FieldError] if nothing was sent. Lock does not try again after an error.
func (l *Lock) Lock(ctx context.Context) (*Lease, error) {
	lease, err := l.take(ctx, func(h *hold) error {
		return l.client.waiters.Wait(ctx, l.want, h)
	})
	return lease, l.describe(ctx, "acquire", err)
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip and does not wait. Other errors are those of Lock.
func (l *Lock) TryLock(ctx context.Context) (*Lease, error) {
	lease, err := l.take(ctx, func(h *hold) error {
		answer, err := h.Try(ctx)
		if err == nil && !answer.Granted {
			return ErrNotAcquired
		}
		return err
	})
	return lease, l.describe(ctx, "acquire", err)
}

// take returns a lease of a hold that acquire has got, or of the hold that ctx re-enters.
func (l *Lock) take(ctx context.Context, acquire func(*hold) error) (*Lease, error) {
	if err := l.enter(ctx, l.invalid); err != nil {
		return nil, err
	}
	defer l.client.leave()
	if outer := reentered(ctx, l.object); outer != nil {
		if lease, err := outer.reenter(l.lease, l.renewer); lease != nil || err != nil {
			return lease, err
		}
	}
	h := l.newHold()
	if err := acquire(h); err != nil {
		return nil, withCause(ctx, err)
	}
	if err := ended(ctx); err != nil {
		// The grant raced with the end of ctx: whoever gave up does not expect to hold.
		h.abandon()
		return nil, err
	}
	return &h.first, nil
}

func (l *Lock) newHold() *hold {
	h := &hold{of: l.object, locker: l}
	h.Hold = renew.Hold{
		Key: l.key, Owner: l.client.newOwner(), Lease: l.lease,
		Allowance: l.client.opts.allowanceFor(l.lease), Renewer: l.renewer,
	}
	h.newLease()
	return h
}

// acquire implements locker.
func (l *Lock) acquire(ctx context.Context, owner string) (int64, wait.Answer, error) {
	r, err := script.LockAcquire(ctx, l.client.backend, l.key, l.tokenKey, owner, l.lease)
	return r.Token, wait.Answer{Granted: r.TokenOK, RetryIn: r.Wait}, err
}

// release implements locker.
func (l *Lock) release(ctx context.Context, owner string) (bool, error) {
	return script.LockRelease(ctx, l.client.backend, l.key, owner, l.client.publish, l.want.Channel)
}

// lockFrees reads a message on a lock's channel. "0" says that the lock is free, for one; Redisson
// also understands "1", for all.
func lockFrees(payload string) int {
	if payload == "1" {
		return wait.All
	}
	return 1
}

// ForceUnlock frees the lock whoever holds it, and reports whether it was held. The holder learns
// of it by its next renewal or by Unlock, up to a third of its lease later: only its fencing token
// protects the resource until then. Errors are those of [Lock.Lock].
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "force release of", func() (bool, error) {
		return script.LockForceRelease(ctx, l.client.backend, l.key, l.client.publish, l.want.Channel)
	})
}

// IsLocked reports whether anybody holds the lock.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (bool, error) {
		return script.LockExists(ctx, l.client.backend, l.key)
	})
}

// IsHeldBy reports whether owner holds the lock: see [Lease.Owner].
func (l *Lock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (bool, error) {
		return script.LockHeldBy(ctx, l.client.backend, l.key, owner)
	})
}

// HoldCount returns how often owner holds the lock on the server: 0 or 1 for this package's owners,
// whose re-entry is counted in the process, and any number for a Java peer's.
func (l *Lock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.client.backend, l.key, owner)
		return count, err
	})
}

// Remaining returns what the present holder's lease still has by the server's clock: 0 if the lock
// is free, [NoExpiry] if its key has no end. For what a holder may believe of its own lease see
// [Lease.Remaining].
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.LockRemaining(ctx, l.client.backend, l.key))
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
