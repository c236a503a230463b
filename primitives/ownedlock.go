package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// ownedLock is embedded by all locks that one owner at a time holds, in a hash of owner and hold
// count. The fencing token has a key of its own.
type ownedLock struct {
	leased
	tokenKey string
	tokenTTL *time.Duration // nil: the token key does not expire
	channel  string         // of its releases; "": they publish nothing, or on another channel
}

// init makes l the lock of the given kind called name, without leases.
func (l *ownedLock) init(c *Client, kind, name string, tokenTTL *time.Duration) {
	l.object, l.tokenTTL = c.newObject(kind, name, "hash"), tokenTTL
	l.tokenKey = extend.SideName(lockTokenKey, l.base.Key())
	l.base = l.base.WithSideKey("token key", l.tokenKey)
}

// leasableLock is a lock, for its owners' leases. A release publishes a message.
type leasableLock ownedLock

// Acquire implements [extend.Leasable]. It succeeds if the lock is free.
func (l *leasableLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	answer, err := script.LockAcquire(ctx, r, script.LockAcquireParams{
		Lock: l.base.Key(), Token: l.tokenKey, Owner: owner, Lease: lease, Tokenttl: l.tokenTTL,
		Publish: l.publish(), Released: l.channel, Asks: l.base.AsksRights(),
	})
	return lockAnswer(answer, err)
}

func (l *leasableLock) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	released, err := script.LockRelease(ctx, r, l.base.Key(), owner, l.publish(), l.channel)
	return noteRelease(r, released, err)
}

// noteRelease reads the answer of a script that releases, and that r has run.
func noteRelease(r backend.ScriptRunner, released int64, err error) (bool, error) {
	if err != nil || released == 0 {
		return false, err
	}
	if r, asks := r.(interface{ NoteHeard(clients int64) }); asks { // So if r is of a release with a caller.
		r.NoteHeard(released - 1)
	}
	return true, nil
}

// lockAnswer reads the answer of a script that acquires.
func lockAnswer(answer int64, err error) (int64, extend.Answer, error) {
	if err != nil || answer > 0 {
		return answer, extend.Answer{Granted: true}, err
	}
	left, err := backend.IntegerReply(-2 - answer).Duration(time.Millisecond)
	return 0, extend.Answer{RetryIn: atLeastSome(left)}, err
}

// atLeastSome returns the rest of a lease, which is not over: PTTL rounds less than a millisecond
// to 0.
func atLeastSome(left time.Duration) time.Duration {
	if left == 0 {
		return time.Nanosecond
	}
	return left
}

// IsLocked reports whether the lock has a holder.
func (l *ownedLock) IsLocked(ctx context.Context) (bool, error) {
	return ask(ctx, &l.object, "query", script.LockExists)
}

// IsHeldBy reports whether owner holds the lock: see [Lease.Owner].
func (l *ownedLock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (bool, error) {
		return script.LockHeldBy(ctx, l.base.Runner(), l.base.Key(), owner)
	})
}

// HoldCount returns how often owner holds the lock on the server: 0 or 1 for owners of this
// package, whose re-entries are counted in the process, and any number for owners in Java.
func (l *ownedLock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.base.Runner(), l.base.Key(), owner)
		return count, err
	})
}

// Remaining returns how long the present holder's lease lasts by the server's clock: 0 if the lock
// is free, [NoExpiry] if its key has no expiry. A holder uses [Lease.Remaining] instead.
func (l *ownedLock) Remaining(ctx context.Context) (time.Duration, error) {
	return remaining(ask(ctx, &l.object, "query", script.LockRemaining))
}
