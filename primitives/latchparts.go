package primitives

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// InitParts sets the latch to n parts, at least 1, each of which [CountDownLatch.CountDownOnce] counts
// once. The latch expires after ttl, in whole milliseconds and at least one. Once all parts are counted,
// the server remembers for another ttl that they were. If the latch is set already, or known to have been
// opened, InitParts changes nothing and reports false: a process that restarts may repeat it.
// Expire does not prolong such a latch. Delete makes the server forget it.
// The command HKEYS of the key hasp_latch_parts:{name} lists the ids that were counted, and an empty field.
func (l *CountDownLatch) InitParts(ctx context.Context, n int64, ttl time.Duration) (bool, error) {
	invalid := l.validateCount(n)
	if invalid == nil {
		invalid = extend.AtLeast("ttl", ttl, time.Millisecond)
	}
	return extend.Call(ctx, &l.base, invalid, "set", func() (bool, error) {
		return script.LatchPartsSet(
			ctx, l.base.Runner(), l.base.Key(), l.parts, n, ttl, l.publish(), l.zero.Channel)
	})
}

// CountDownOnce counts the part with that id, unless it was counted before, and returns how many parts
// are left. At 0 all waiters continue. It may be repeated: after an error that wraps [ErrIndeterminate],
// or by another process that does a crashed worker's part again. A part of a latch that is open is not
// counted, and 0 parts are left. If InitParts has not set the latch, or the latch is gone, CountDownOnce
// returns [ErrNoLatch].
func (l *CountDownLatch) CountDownOnce(ctx context.Context, partID string) (left int64, err error) {
	invalid := l.invalid
	if invalid == nil && partID == "" {
		invalid = &FieldError{Field: "partID", Problem: "empty"}
	}
	return extend.Call(ctx, &l.base, invalid, "count down", func() (int64, error) {
		return latchLeft(script.LatchPartsCountDown(
			ctx, l.base.Insistent(), l.base.Key(), l.parts, partID, l.publish(), l.zero.Channel))
	})
}

// WaitParts waits like [CountDownLatch.Wait], but knows why a latch has no count. Nil means that each part
// was counted. If InitParts has not set the latch, or it is gone, WaitParts returns [ErrNoLatch]: at its
// next poll at the latest. A process that may come before the latch is set calls InitParts itself: several
// may do so, and one of them sets it. WaitUntilSet would not return once the latch is open.
func (l *CountDownLatch) WaitParts(ctx context.Context) error {
	_, err := extend.Call(ctx, &l.base, l.invalid, "wait for", func() (struct{}, error) {
		a := latchPartsAttempt{latch: l}
		err := l.base.Wait(ctx, l.open, &a)
		if err == nil && a.gone {
			err = ErrNoLatch
		}
		return struct{}{}, err
	})
	return err
}

// latchLeft returns [ErrNoLatch] for a latch that the server does not have.
func latchLeft(left int64, ok bool, err error) (int64, error) {
	if err == nil && !ok {
		err = ErrNoLatch
	}
	return left, err
}

// latchPartsAttempt asks whether all parts are counted, or can be no longer.
type latchPartsAttempt struct {
	latch *CountDownLatch
	gone  bool
}

// Try implements [extend.Attempt]. If the latch is gone, all waiters learn it.
func (a *latchPartsAttempt) Try(ctx context.Context) (extend.Answer, error) {
	base := &a.latch.base
	left, ok, err := script.LatchPartsLeft(ctx, base.Runner(), base.Key(), a.latch.parts)
	if err != nil || left > 0 {
		return extend.Answer{}, err
	}
	a.gone = !ok
	return extend.Answer{Granted: true, Free: extend.AllUnits}, nil
}
