package primitives

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// NoExpiry is what [Lock.Remaining] and RemainingLife return for a key without an expiry. For a key
// that expires in more than 292 years, which no Duration can say, they return NoExpiry - 1.
const NoExpiry time.Duration = math.MaxInt64

// LockOptions configure a [Lock]. The zero value of each field means its default.
type LockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until Unlock.
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
	channel  string
	tokenKey string
	tokenTTL time.Duration
	leases   extend.Leases
}

// NewLock returns the lock called name. It sends nothing. The methods return a [*FieldError] for an
// empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewLock(name string, opts *LockOptions) *Lock {
	var o LockOptions
	if opts != nil {
		o = *opts
	}
	l := &Lock{object: c.newObject("lock", name, "hash"), tokenTTL: c.tokenTTL}
	l.channel = extend.SideName(lockChannel, l.base.Key())
	l.tokenKey = extend.SideName(lockTokenKey, l.base.Key())
	l.base = l.base.WithSideKey("token key", l.tokenKey)
	leases, err := l.base.NewLeases(extend.LeaseConfig{
		Leasable: (*leasableLock)(l), Kind: lockKind{c.core}, Lease: o.Lease,
		Want: extend.Want{Channel: l.channel, FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired},
	})
	l.leases = leases
	l.reject(err)
	return l
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. A free
// lock takes one round trip. Otherwise Lock waits for the holder's release, for the end of its
// lease, or for the next poll, and tries again.
//
// If the first attempt meets no server, Lock returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts.
//
// On error nothing is held, and what may have been taken is released in the background. If ctx
// ended, the error wraps ctx's, and beside it [ErrNotAcquired] if another held the lock,
// [ErrUnavailable] if no server could be reached, or [ErrIndeterminate] if a request was under way.
// It wraps [ErrIndeterminate] also if a reply was lost, [ErrConflict] if the key is no lock, [ErrLost]
// if the grant came too late to be used, and [ErrClosed] or a [*FieldError] if nothing was sent.
func (l *Lock) Lock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.Acquire(ctx)
	})
}

// TryLock acquires the lock if it is free, and returns [ErrNotAcquired] if it is held. It takes one
// round trip and does not wait. Other errors are those of Lock's first attempt.
func (l *Lock) TryLock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.TryAcquire(ctx)
	})
}

// ForceUnlock frees the lock no matter who holds it, and reports whether it was held. The holder
// learns of it by its next renewal or by Unlock, up to a third of its lease later: only its fencing
// token protects the resource until then. Errors are those of [Lock.Lock].
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.LockForceRelease(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.channel)
	})
}

// IsLocked reports whether anybody holds the lock.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (bool, error) {
		return script.LockExists(ctx, l.base.Runner(), l.base.Key())
	})
}

// IsHeldBy reports whether owner holds the lock: see [Lease.Owner].
func (l *Lock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (bool, error) {
		return script.LockHeldBy(ctx, l.base.Runner(), l.base.Key(), owner)
	})
}

// HoldCount returns how often owner holds the lock on the server: 0 or 1 for this package's owners,
// whose re-entry is counted in the process, and any number for a Java peer's.
func (l *Lock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.base.Runner(), l.base.Key(), owner)
		return count, err
	})
}

// Remaining returns how long the present holder's lease lasts by the server's clock: 0 if the lock is
// free, [NoExpiry] if its key has no expiry. A holder asks [Lease.Remaining] of its own lease instead.
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.LockRemaining(ctx, l.base.Runner(), l.base.Key()))
	})
}

// leasableLock is a lock as its owners hold it.
type leasableLock Lock

// Acquire implements [extend.Leasable].
func (l *leasableLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.LockAcquire(ctx, r, l.base.Key(), l.tokenKey, owner, lease, l.tokenTTL)
	answer := extend.Answer{Granted: result.TokenOK, RetryIn: result.Wait}
	if result.Wait == 0 {
		answer.RetryIn = time.Nanosecond // Less than a millisecond, which PTTL rounds to 0.
	}
	return result.Token, answer, err
}

// Release implements [extend.Leasable].
func (l *leasableLock) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.LockRelease(ctx, r, l.base.Key(), owner, l.publish(), l.channel)
}

// lockFreeUnits reads a message on a lock's channel. "0" means that one waiter may try. Redisson also
// understands "1": all may try.
func lockFreeUnits(payload string) int {
	if payload == "1" {
		return extend.AllUnits
	}
	return 1
}

// lockKind renews and releases many locks of a client.
type lockKind struct{ core *extend.Core }

// Renew implements [extend.LeasableKind].
func (lockKind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	statuses, err := script.LockRenew(ctx, r, keys, lease, owners)
	if err != nil {
		return nil, fmt.Errorf("renew locks: %w", err)
	}
	result := make([]extend.Status, len(statuses))
	for i, status := range statuses {
		result[i] = extend.Status(status)
	}
	return result, nil
}

// ReleaseAll implements [extend.LeasableKind].
func (k lockKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	channels := make([]string, len(keys))
	for i, key := range keys {
		channels[i] = extend.SideName(lockChannel, key)
	}
	statuses, err := script.LockReleaseAll(
		ctx, r, keys, k.core.Capabilities().Publish(), owners, channels)
	if err != nil {
		return nil, fmt.Errorf("release locks: %w", err)
	}
	result := make([]extend.Status, len(statuses))
	for i, status := range statuses {
		switch status {
		case 1:
			result[i] = extend.Done
		case 0, -1: // Not held, or no lock.
			result[i] = extend.NotHeld
		default:
			result[i] = extend.Failed
		}
	}
	return result, nil
}
