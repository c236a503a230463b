package primitives

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// CountDownLatch lets processes wait until something was done so many times: TrySetCount sets the
// count, and CountDown decrements it. Each Wait returns when the count is 0, which it is as well when
// the latch was deleted, has expired, or was never set.
//
// Like a [sync.WaitGroup], it may be reused once every Wait has returned. A Wait that is still under
// way may wait for the new count as well; it never returns while it finds the count above 0.
//
// A CountDownLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RCountDownLatch, a decimal text at the name.
type CountDownLatch struct {
	number
	want extend.Want
}

// NewCountDownLatch returns the latch called name. It sends nothing. The methods return a
// [*FieldError] for an empty name. In a cluster a name with braces must have its hash tag in them;
// Java processes cannot use such a latch there.
func (c *Client) NewCountDownLatch(name string) *CountDownLatch {
	l := &CountDownLatch{number: c.newNumber("latch", name)}
	l.want = extend.Want{Channel: l.channel(), FreeUnits: latchFreeUnits}
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

// TrySetCount sets the latch to n, at least 1, and reports false if it is set.
func (l *CountDownLatch) TrySetCount(ctx context.Context, n int64) (bool, error) {
	invalid := l.invalid
	if n < 1 && invalid == nil {
		invalid = &FieldError{Field: "n", Problem: fmt.Sprintf("%d is not in 1..%d", n, int64(math.MaxInt64))}
	}
	return extend.Call(ctx, &l.base, invalid, "set", func() (bool, error) {
		return script.LatchSet(ctx, l.base.Runner(), l.base.Key(), n, l.publish(), l.want.Channel)
	})
}

// CountDown counts down by 1, and returns the count that is left. At 0 all waiters go on and the
// latch is deleted. It returns 0 as well for a latch that is not set, which stays so, and for one
// that a peer set to 0 or less, which is deleted. After an error that wraps
// [ErrIndeterminate] it may have counted; nothing is sent twice.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int64, err error) {
	return extend.Call(ctx, &l.base, l.invalid, "count down", func() (int64, error) {
		return script.LatchCountDown(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.want.Channel)
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
		return struct{}{}, l.base.Wait(ctx, l.want, (*latchAttempt)(l))
	})
	return err
}

// Delete deletes the latch, and reports whether it was set. All waiters go on.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "delete", func() (bool, error) {
		return script.LatchDelete(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.want.Channel)
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
