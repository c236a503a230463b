package primitives

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// PartsLatch lets processes wait until each part of some work is done: Init sets how many parts there are,
// CountDown counts a part by its id, and Wait returns when all are counted. Unlike a [CountDownLatch] it
// remembers which parts are counted, and, for a while, that all were. So a part may be done and counted twice, for
// example by a process that restarts, and a latch that the server lost is an error. Use another name for each run.
//
// The number of the parts that are left is at the key of the CountDownLatch of that name, whose Wait waits for the
// parts, too. Its CountDown counts no part: a PartsLatch whose count it changes opens before all parts are
// counted, or is gone. So do not call it, nor Java's countDown, for such a name.
//
// A PartsLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson has none. Its processes may wait for such a latch as for an RCountDownLatch.
type PartsLatch struct {
	object
	parts string          // the key of the counted parts
	set   extend.WaitSpec // counting parts, or open
	open  extend.WaitSpec // all parts counted, or no latch
}

// NewPartsLatch returns the latch of parts called name, as [Client.NewLock] does.
func (c *Client) NewPartsLatch(name string) *PartsLatch {
	l := &PartsLatch{object: c.newObject("parts latch", name, numberKind)}
	l.parts = extend.SideName(latchPartsKey, l.base.Key())
	l.base = l.base.WithTypedKey("key of the parts", l.parts, "hash")
	l.set = latchSet(&l.object, "parts set")
	l.open = extend.WaitSpec{Channel: l.set.Channel, Condition: "open", FreeUnits: latchFreeUnits, Refusal: errCounting}
	return l
}

// Init sets the latch to n parts, at least 1. It expires after ttl, in whole milliseconds and at
// least one. Once all parts are counted, the server remembers for another ttl that they were. If the
// latch is set already, or known to have been opened, Init changes nothing and reports false: a process
// that restarts may repeat it. It also reports false if a CountDownLatch of that name is set.
// The command HKEYS of the key hasp_latch_parts:{name} lists the ids that were counted, and an empty field.
func (l *PartsLatch) Init(ctx context.Context, n int64, ttl time.Duration) (bool, error) {
	invalid := cmp.Or(l.invalid, within("n", n, 1, math.MaxInt64), extend.AtLeast("ttl", ttl, time.Millisecond))
	return extend.Call(ctx, &l.base, invalid, "set", func() (bool, error) {
		return script.LatchPartsSet(
			ctx, l.base.Runner(), l.base.Key(), l.parts, n, ttl, l.publish(), l.set.Channel)
	})
}

// CountDown counts the part with that id, unless it was counted before, and returns how many parts are
// left. At 0 all waiters continue. It may be repeated: after an error that wraps [ErrIndeterminate], or by
// another process that does a crashed worker's part again. A part of a latch that is open is not
// counted, and 0 parts are left. If Init has not set the latch, or the latch is gone, CountDown returns
// [ErrNoLatch].
func (l *PartsLatch) CountDown(ctx context.Context, partID string) (left int64, err error) {
	invalid := l.invalid
	if invalid == nil && partID == "" {
		invalid = &FieldError{Field: "partID", Problem: "empty"}
	}
	return extend.Call(ctx, &l.base, invalid, "count down", func() (int64, error) {
		return latchLeft(script.LatchPartsCountDown(
			ctx, l.base.Insistent(), l.base.Key(), l.parts, partID, l.publish(), l.set.Channel))
	})
}

// Left returns how many parts are not counted yet, 0 once the latch is open. If Init has not set the
// latch, or it is gone, Left returns [ErrNoLatch].
func (l *PartsLatch) Left(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return latchLeft(script.LatchPartsLeft(ctx, l.base.Runner(), l.base.Key(), l.parts))
	})
}

// Wait waits like [CountDownLatch.Wait], but knows why a latch has no count. Nil means that each part was
// counted. If Init has not set the latch, or it is gone, Wait returns [ErrNoLatch]: at its next poll at
// the latest. A process that may come before the latch is set calls WaitUntilSet, or Init itself: several
// may do so, and one of them sets it.
func (l *PartsLatch) Wait(ctx context.Context) error {
	return l.wait(ctx, l.open, func(left int64, _ bool) bool { return left == 0 })
}

// WaitUntilSet waits, like Wait, until Init has set the latch. It returns at once if the latch is open.
func (l *PartsLatch) WaitUntilSet(ctx context.Context) error {
	return l.wait(ctx, l.set, func(_ int64, set bool) bool { return set })
}

func (l *PartsLatch) wait(ctx context.Context, spec extend.WaitSpec, enough func(left int64, set bool) bool) error {
	return l.do(ctx, l.invalid, "wait for", func() error {
		set := false
		err := l.base.Wait(ctx, spec, latchAttempt(func(ctx context.Context) (bool, error) {
			left, found, err := script.LatchPartsLeft(ctx, l.base.Runner(), l.base.Key(), l.parts)
			set = found
			return enough(left, found), err
		}))
		_, err = latchLeft(0, set, err)
		return err
	})
}

// Delete deletes the latch, and reports whether there was one, or the server remembered that it was
// opened. All waiters continue, those of Wait with [ErrNoLatch].
func (l *PartsLatch) Delete(ctx context.Context) (bool, error) {
	return deleteLatch(ctx, &l.object, l.set.Channel)
}

// latchLeft returns [ErrNoLatch] for a latch that the server does not have.
func latchLeft(left int64, set bool, err error) (int64, error) {
	if err == nil && !set {
		err = ErrNoLatch
	}
	return left, err
}
