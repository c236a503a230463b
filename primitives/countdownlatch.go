package primitives

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// CountDownLatch lets processes wait until something was done so many times: TrySetCount sets it,
// CountDown counts, and all that Wait go on when the count is 0, when the latch is deleted, or when
// its life ends. A latch that is not set has the count 0.
//
// Like a [sync.WaitGroup], it may be reused once every Wait has returned. A Wait that is still under
// way may wait for the new count as well; it never returns while it finds the count above 0.
//
// A CountDownLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RCountDownLatch, a decimal text at the name.
type CountDownLatch struct {
	number
	want wait.Want
}

// NewCountDownLatch returns the latch called name. It sends nothing. The methods return a
// [*FieldError] for an empty name. In a cluster a name with braces must have its hash tag in them;
// Java processes cannot use such a latch there.
func (c *Client) NewCountDownLatch(name string) *CountDownLatch {
	l := &CountDownLatch{number: c.newNumber("latch", name)}
	l.want = wait.Want{Object: l.key, Channel: c.latchChannel(l.key), Frees: latchFrees}
	return l
}

// latchChannel returns the channel of a latch. Redisson's has braces around the name, also if the
// name has some: then a sharded channel would be in another slot than the key.
func (c *Client) latchChannel(key string) string {
	if strings.Contains(key, "{") && c.sharded {
		return latchChannel + key
	}
	return latchChannel + "{" + key + "}"
}

// TrySetCount sets the latch to n, at least 1, and reports false if it is set.
func (l *CountDownLatch) TrySetCount(ctx context.Context, n int64) (bool, error) {
	invalid := l.invalid
	if n < 1 && invalid == nil {
		invalid = &FieldError{"n", fmt.Sprintf("%d is not in 1..%d", n, int64(math.MaxInt64))}
	}
	return call(ctx, &l.object, invalid, "set", func() (bool, error) {
		return script.LatchSet(ctx, l.client.calls, l.key, n, l.client.publish, l.want.Channel)
	})
}

// CountDown counts down by 1, and returns the count that is left. At 0 all waiters go on and the
// latch is deleted. It returns 0 as well for a latch that is not set, which stays so, and for one
// that a peer set to 0 or less, which is deleted. After an error that wraps
// [ErrIndeterminate] it may have counted; nothing is sent twice.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int64, err error) {
	return call(ctx, &l.object, l.invalid, "count down", func() (int64, error) {
		return script.LatchCountDown(ctx, l.client.calls, l.key, l.client.publish, l.want.Channel)
	})
}

// Count returns how often is still to be counted down; 0 if the latch is not set.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (int64, error) {
		return read(script.LatchCount(ctx, l.client.calls, l.key))
	})
}

// Wait returns nil when the count is 0. Until then it waits, until ctx ends, the client is closed or
// the backend fails. At 0 it takes one round trip. If its first look meets no server it returns
// [ErrUnavailable]; later it waits on through outages.
func (l *CountDownLatch) Wait(ctx context.Context) error {
	_, err := call(ctx, &l.object, l.invalid, "wait for", func() (struct{}, error) {
		look := &latchLook{latch: l}
		err := l.client.waiters.Wait(ctx, l.want, look)
		return struct{}{}, look.explain(ctx, err, nil)
	})
	return err
}

// Delete deletes the latch, and reports whether it was set. All waiters go on.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "delete", func() (bool, error) {
		return script.LatchDelete(ctx, l.client.calls, l.key, l.client.publish, l.want.Channel)
	})
}

// latchFrees reads a message on a latch's channel. "0" says that all may go; "1", of a count that
// was set, or from Redisson of a deletion, that one should look.
func latchFrees(payload string) int {
	if payload == "0" {
		return wait.All
	}
	return 1
}

// latchLook looks whether the latch is open.
type latchLook struct {
	latch *CountDownLatch
	refusals
}

// Try implements [wait.Attempt]. What lets one go lets all go.
func (l *latchLook) Try(ctx context.Context) (wait.Answer, error) {
	count, err := read(script.LatchCount(ctx, l.latch.client.calls, l.latch.key))
	answer := wait.Answer{RetryIn: -1}
	if count <= 0 {
		answer = wait.Answer{Granted: true, Free: wait.All}
	}
	return l.note(ctx, answer, err, false)
}
