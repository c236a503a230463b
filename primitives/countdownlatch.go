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
// It may be set again once every Wait has returned, as a [sync.WaitGroup]. A Wait that has not may
// wait for the new count as well; it never returns while the count is above 0 at every moment that
// it looks.
//
// A CountDownLatch is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RCountDownLatch, a decimal text at the name.
type CountDownLatch struct {
	number
	want wait.Want
}

// NewCountDownLatch returns the latch called name. It sends nothing. An empty name is told by the
// methods, as a [*FieldError]. In a cluster a name with braces must have its hash tag in them; Java
// processes cannot use such a latch there.
func (c *Client) NewCountDownLatch(name string) *CountDownLatch {
	l := &CountDownLatch{number: c.newNumber("latch", name)}
	l.want = wait.Want{Object: l.key, Channel: c.latchChannel(l.key), Frees: latchFrees}
	return l
}

// latchChannel returns the channel of a latch. Redisson's has braces around the name, also if the
// name has some: then a sharded channel would be in another slot than the key.
func (c *Client) latchChannel(key string) string {
	if strings.Contains(key, "{") && c.backend.Capabilities().Sharded {
		return latchChannel + key
	}
	return latchChannel + "{" + key + "}"
}

// TrySetCount sets the latch to n, at least 1, and reports false if it is set.
func (l *CountDownLatch) TrySetCount(ctx context.Context, n int64) (bool, error) {
	invalid := l.invalid
	if n < 1 && invalid == nil {
		invalid = &FieldError{"n", fmt.Sprintf("%d is not in 1..%d", n, math.MaxInt64)}
	}
	return call(ctx, &l.object, invalid, "set", func() (bool, error) {
		return script.LatchSet(ctx, l.client.backend, l.key, n, l.client.publish, l.want.Channel)
	})
}

// CountDown counts down by 1, and returns the count that is left. At 0 all waiters go on. A latch
// that is not set stays so, with 0. After an error that wraps [backend.ErrIndeterminate] it may have
// counted; nothing is sent twice.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int64, err error) {
	return call(ctx, &l.object, l.invalid, "count down", func() (int64, error) {
		return script.LatchCountDown(ctx, l.client.backend, l.key, l.client.publish, l.want.Channel)
	})
}

// Count returns how often is still to be counted down; 0 if the latch is not set.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	return call(ctx, &l.object, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LatchCount(ctx, l.client.backend, l.key)
		return count, err
	})
}

// Wait returns nil when the count is 0. Until then it waits, until ctx ends, the client is closed or
// the backend fails. At 0 it takes one round trip.
func (l *CountDownLatch) Wait(ctx context.Context) error {
	_, err := call(ctx, &l.object, l.invalid, "wait for", func() (struct{}, error) {
		err := l.client.waiters.Wait(ctx, l.want, (*latchLook)(l))
		return struct{}{}, withCause(ctx, err)
	})
	return err
}

// Delete deletes the latch, and reports whether it was set. All waiters go on.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	return call(ctx, &l.object, l.invalid, "delete", func() (bool, error) {
		return script.LatchDelete(ctx, l.client.backend, l.key, l.client.publish, l.want.Channel)
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

// latchLook looks once whether the latch is open.
type latchLook CountDownLatch

// Try implements [wait.Attempt]. What lets one go lets all go.
func (l *latchLook) Try(ctx context.Context) (wait.Answer, error) {
	count, _, err := script.LatchCount(ctx, l.client.backend, l.key)
	if err != nil || count > 0 {
		return wait.Answer{RetryIn: -1}, err
	}
	return wait.Answer{Granted: true, Free: wait.All}, nil
}
