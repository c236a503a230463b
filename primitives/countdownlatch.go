package primitives

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// CountDownLatch lets processes wait until something was done so many times: InitCount sets the
// count, and CountDown decrements it. Each Wait returns when the count is 0, which it is as well when
// the latch was deleted, has expired, or was never set: who may come before the latch is set calls
// WaitUntilSet first.
//
// Like a [sync.WaitGroup], it may be reused once every Wait has returned. A Wait that is still under
// way may wait for the new count as well; it never returns while it finds the count above 0.
//
// # Restarts
//
// A latch does not remember that it was counted down to 0: it is gone then, and InitCount sets it
// again. Nor does it know who has counted down: a process that restarts, and counts down again, lets the
// others go on too early. So give each run a latch of its own name, record what is done, and look at the
// records before setting the latch, before counting down, and after Wait. InitCountWithTTL ends the
// waiting for processes that do not come back.
//
// A CountDownLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RCountDownLatch, a decimal text at the name.
type CountDownLatch struct {
	number
	zero extend.WaitSpec // a count of 0
	set  extend.WaitSpec
}

// NewCountDownLatch returns the latch called name. It sends nothing. The methods return a
// [*FieldError] for an empty name. In a cluster a name with braces must have its hash tag in them;
// Java processes cannot use such a latch there.
func (c *Client) NewCountDownLatch(name string) *CountDownLatch {
	l := &CountDownLatch{number: c.newNumber("latch", name)}
	l.zero = extend.WaitSpec{Channel: l.channel(), FreeUnits: latchFreeUnits}
	l.set = extend.WaitSpec{
		Channel: l.zero.Channel, Condition: "set",
		FreeUnits: func(string) int { return extend.AllUnits }, // Whatever has happened, all look.
	}
	return l
}

// channel returns the channel of a latch. Redisson's has braces around the name, also if the name has
// some: then a sharded channel would be in another slot than the key.
func (l *CountDownLatch) channel() string {
	key := l.base.Key()
	if strings.Contains(key, "{") && l.base.Core().Capabilities().Sharded {
		return latchChannel + key
	}
	return latchChannel + "{" + key + "}"
}

// InitCount sets the latch to n, at least 1, and reports whether it did: a latch that is set stays as it is.
func (l *CountDownLatch) InitCount(ctx context.Context, n int64) (bool, error) {
	return l.trySet(ctx, l.validateCount(n), n, nil)
}

// InitCountWithTTL is InitCount for a latch that expires after the TTL, in whole milliseconds and at
// least one. Then Wait returns as at 0, at the latest at its next poll. A latch that is set keeps its count
// and its expiry.
func (l *CountDownLatch) InitCountWithTTL(ctx context.Context, n int64, ttl time.Duration) (bool, error) {
	invalid := l.validateCount(n)
	if invalid == nil {
		invalid = extend.AtLeast("ttl", ttl, time.Millisecond)
	}
	return l.trySet(ctx, invalid, n, &ttl)
}

func (l *CountDownLatch) trySet(ctx context.Context, invalid error, n int64, ttl *time.Duration) (bool, error) {
	return extend.Call(ctx, &l.base, invalid, "set", func() (bool, error) {
		return script.LatchSet(ctx, l.base.Runner(), l.base.Key(), n, ttl, l.publish(), l.zero.Channel)
	})
}

// validateCount checks the latch's arguments and a count.
func (l *CountDownLatch) validateCount(n int64) error {
	if l.invalid == nil && n < 1 {
		return &FieldError{Field: "n", Problem: fmt.Sprintf("%d is not in 1..%d", n, int64(math.MaxInt64))}
	}
	return l.invalid
}

// CountDown counts down by 1, and returns the count that is left. At 0 all waiters go on and the
// latch is deleted. It returns 0 as well for a latch that is not set, which stays so, and for one
// that a peer set to 0 or less, which is deleted. After an error that wraps
// [ErrIndeterminate] it may have counted; nothing is sent twice.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int64, err error) {
	return extend.Call(ctx, &l.base, l.invalid, "count down", func() (int64, error) {
		return script.LatchCountDown(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.zero.Channel)
	})
}

// Count returns how often is still to be counted down; 0 if the latch is not set.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return read(script.LatchCount(ctx, l.base.Runner(), l.base.Key()))
	})
}

// Wait returns nil when the count is 0. Until then it waits, until ctx ends, the client is closed or
// the backend fails. At 0 it takes one round trip. If its first look meets no server it returns
// [ErrUnavailable]; later it waits on through outages.
func (l *CountDownLatch) Wait(ctx context.Context) error {
	_, err := extend.Call(ctx, &l.base, l.invalid, "wait for", func() (struct{}, error) {
		return struct{}{}, l.base.Wait(ctx, l.zero, (*latchAttempt)(l))
	})
	return err
}

// WaitUntilSet returns nil when the latch is set, whatever its count. Until then it waits as Wait does. It
// lets a process that is to count down, and that may start first, wait for the one that sets the latch: a
// CountDown of a latch that is not set is lost. Who does not count down itself may come too late: a latch
// that was set and counted down to 0 before is not set, and WaitUntilSet waits for the next one.
func (l *CountDownLatch) WaitUntilSet(ctx context.Context) error {
	_, err := extend.Call(ctx, &l.base, l.invalid, "wait for", func() (struct{}, error) {
		return struct{}{}, l.base.Wait(ctx, l.set, (*latchSetAttempt)(l))
	})
	return err
}

// Delete deletes the latch, and reports whether it was set. All waiters go on.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "delete", func() (bool, error) {
		return script.LatchDelete(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.zero.Channel)
	})
}

// latchFreeUnits reads a message on a latch's channel. "0" means that all waiters may go on. "1" means
// that the count was set or, from Redisson, that the latch was deleted: one waiter tries.
func latchFreeUnits(payload string) int {
	if payload == "0" {
		return extend.AllUnits
	}
	return 1
}

// latchAttempt asks whether the count is 0.
type latchAttempt CountDownLatch

// Try implements [extend.Attempt]. A count of 0 lets all waiters go on.
func (l *latchAttempt) Try(ctx context.Context) (extend.Answer, error) {
	count, err := read(script.LatchCount(ctx, l.base.Runner(), l.base.Key()))
	if err != nil || count > 0 {
		return extend.Answer{}, err
	}
	return extend.Answer{Granted: true, Free: extend.AllUnits}, nil
}

// latchSetAttempt asks whether the latch is set.
type latchSetAttempt CountDownLatch

// Try implements [extend.Attempt]. A latch that is set lets all waiters go on.
func (l *latchSetAttempt) Try(ctx context.Context) (extend.Answer, error) {
	set, err := script.LatchIsSet(ctx, l.base.Runner(), l.base.Key())
	if err != nil || !set {
		return extend.Answer{}, err
	}
	return extend.Answer{Granted: true, Free: extend.AllUnits}, nil
}
