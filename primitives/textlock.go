package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// textLock is embedded by the locks whose key is a string with the owner that holds them.
type textLock struct{ leased }

// IsLocked reports whether there is a holder.
func (l *textLock) IsLocked(ctx context.Context) (bool, error) {
	return l.isHeld(ctx, func(string) bool { return true })
}

// IsHeldBy reports whether owner is the holder: see [Lease.Owner].
func (l *textLock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return l.isHeld(ctx, func(holder string) bool { return holder == owner })
}

// isHeld reports whether there is a holder that by accepts.
func (l *textLock) isHeld(ctx context.Context, by func(holder string) bool) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (bool, error) {
		holder, held, err := script.MutexHolder(ctx, l.base.Runner(), l.base.Key())
		return held && by(holder), err
	})
}

// Holder returns the Owner of the present holder: see [Lock.Holder].
func (l *textLock) Holder(ctx context.Context) (Holder, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (Holder, error) {
		owner, held, err := script.MutexHolder(ctx, l.base.Runner(), l.base.Key())
		if err == nil && !held {
			err = ErrNotHeld
		}
		return holderOf(owner, ""), err
	})
}

// Revoke is [Lock.Revoke] for this kind of lock. Waiters of a [Mutex] keep their places.
func (l *textLock) Revoke(ctx context.Context, owner string) (time.Duration, error) {
	return l.revoke(ctx, script.MutexRevoke, owner)
}
