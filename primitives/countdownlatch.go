package primitives

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// What a latch lacks when the waiting ends.
var (
	errCounting = errors.New("the count is not 0")
	errNotSet   = errors.New("the latch is not set")
)

// CountDownLatch lets processes wait until something has been done n times: InitCount sets the
// count to n, CountDown decrements it, and Wait returns when the count is 0. The count of a latch
// that was never set, was deleted or has expired is 0, too: if a waiter may come before the latch
// is set, it calls WaitUntilSet first.
//
// Like a [sync.WaitGroup], a latch may be reused once every Wait has returned. A Wait that is still
// under way may wait for the new count as well. It never returns while it finds the count above 0.
//
// # Restarts
//
// A latch does not remember that it was counted down to 0: it no longer exists then, and InitCount
// sets it again. Nor does it remember which processes have counted down: if a process restarts and
// counts down again, the waiters continue too early. A [PartsLatch] remembers both, by an id for each
// part of the work. InitCountWithTTL ends the waiting for processes that do not come back.
//
// A CountDownLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RCountDownLatch, a decimal text at the name.
type CountDownLatch struct {
	number
	zero extend.WaitSpec // a count of 0
	set  extend.WaitSpec
}

// NewCountDownLatch returns the latch called name, as [Client.NewLock] does. In a cluster Java processes cannot use a
// latch whose name has braces.
func (c *Client) NewCountDownLatch(name string) *CountDownLatch {
	l := &CountDownLatch{number: c.newNumber("latch", name)}
	l.set = latchSet(&l.object, "set")
	l.zero = extend.WaitSpec{Channel: l.set.Channel, FreeUnits: latchFreeUnits, Refusal: errCounting}
	return l
}

// latchSet returns the condition of callers that wait until a latch is set. Redisson's channel has braces around the
// name, even if the name has braces: then a sharded channel would be in another slot than the key.
func latchSet(o *object, condition string) extend.WaitSpec {
	key := o.base.Key()
	if !strings.Contains(key, "{") || !o.base.Core().Capabilities().Sharded {
		key = "{" + key + "}"
	}
	return extend.WaitSpec{
		Channel: latchChannel + key, Condition: condition, Refusal: errNotSet,
		FreeUnits: func(string) int { return extend.AllUnits }, // After any message all waiters look.
	}
}

// InitCount sets the latch to n, at least 1. If the latch is set already, it changes nothing and
// reports false.
func (l *CountDownLatch) InitCount(ctx context.Context, n int64) (bool, error) {
	return l.trySet(ctx, nil, n, nil)
}

// InitCountWithTTL is InitCount for a latch that expires after ttl, in whole milliseconds and at
// least one. When the latch expires, Wait returns as if the count were 0, at its next poll at the
// latest. If the latch is set already, it keeps its count and its expiry.
func (l *CountDownLatch) InitCountWithTTL(ctx context.Context, n int64, ttl time.Duration) (bool, error) {
	return l.trySet(ctx, extend.AtLeast("ttl", ttl, time.Millisecond), n, &ttl)
}

func (l *CountDownLatch) trySet(ctx context.Context, invalid error, n int64, ttl *time.Duration) (bool, error) {
	invalid = cmp.Or(l.invalid, within("n", n, 1, math.MaxInt64), invalid)
	return extend.Call(ctx, &l.base, invalid, "set", func() (bool, error) {
		return script.LatchSet(ctx, l.base.Runner(), l.base.Key(), n, ttl, l.publish(), l.zero.Channel)
	})
}

// CountDown decrements the count by 1, and returns the rest. At 0 all waiters continue, and the
// latch is deleted. If the latch is not set, CountDown returns 0 and changes nothing. If another
// program has set it to 0 or less, CountDown returns 0 and deletes it. After an error that wraps
// [ErrIndeterminate] the count may have been decremented, once: a second CountDown may release the
// waiters too early. A second one of a [PartsLatch] does not.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int64, err error) {
	return extend.Call(ctx, &l.base, l.invalid, "count down", func() (int64, error) {
		return script.LatchCountDown(ctx, l.base.Insistent(), l.base.Key(), l.publish(), l.zero.Channel)
	})
}

// Count returns the count, or 0 if the latch is not set.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return read(script.LatchCount(ctx, l.base.Runner(), l.base.Key()))
	})
}

// Wait waits until the count is 0, ctx ends, the client is closed or the backend fails. Nil means
// that the count was 0, or that the server lost the latch: only a [PartsLatch] can distinguish them. If the
// count is 0 at once, Wait takes one round trip. If no server can be reached at first, Wait returns
// [ErrUnavailable]. Later it keeps waiting through outages.
func (l *CountDownLatch) Wait(ctx context.Context) error {
	return l.wait(ctx, l.zero, func(ctx context.Context) (bool, error) {
		count, err := read(script.LatchCount(ctx, l.base.Runner(), l.base.Key()))
		return count <= 0, err
	})
}

// WaitUntilSet waits, like Wait, until the latch is set, whatever its count. A process that counts
// down calls it if the latch may not be set yet: a CountDown of a latch that is not set is lost. A
// process that only waits may come too late: if the latch was set and counted down to 0 before, it
// is no longer set, and WaitUntilSet waits until it is set again.
func (l *CountDownLatch) WaitUntilSet(ctx context.Context) error {
	return l.wait(ctx, l.set, func(ctx context.Context) (bool, error) {
		return script.LatchIsSet(ctx, l.base.Runner(), l.base.Key())
	})
}

func (l *CountDownLatch) wait(ctx context.Context, spec extend.WaitSpec, ask latchAttempt) error {
	return l.do(ctx, l.invalid, "wait for", func() error { return l.base.Wait(ctx, spec, ask) })
}

// Delete deletes the latch, and reports whether there was one. All waiters continue. It also deletes a [PartsLatch]
// of that name.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	return deleteLatch(ctx, &l.object, l.zero.Channel)
}

func deleteLatch(ctx context.Context, o *object, channel string) (bool, error) {
	return extend.Call(ctx, &o.base, o.invalid, "delete", func() (bool, error) {
		parts := extend.SideName(latchPartsKey, o.base.Key())
		return script.LatchDelete(ctx, o.base.Runner(), o.base.Key(), parts, o.publish(), channel)
	})
}

// latchFreeUnits reads a message on a latch's channel. "0" means that all waiters may continue. "1"
// means that the count was set or, from Redisson, that the latch was deleted: one waiter tries.
func latchFreeUnits(payload string) int {
	if payload == "0" {
		return extend.AllUnits
	}
	return 1
}

// latchAttempt asks whether what a latch's waiter waits for is so.
type latchAttempt func(ctx context.Context) (bool, error)

// Try implements [extend.Attempt]. If it is so, all waiters continue.
func (ask latchAttempt) Try(ctx context.Context) (extend.Answer, error) {
	is, err := ask(ctx)
	if err != nil || !is {
		return extend.Answer{}, err
	}
	return extend.Answer{Granted: true, Free: extend.AllUnits}, nil
}
