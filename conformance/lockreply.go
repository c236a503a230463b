package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// loseLockReply loses the reply to the next script on the lock.
func (e *env) loseLockReply(in *Instance) <-chan struct{} {
	return in.Link.CutReply(func(words []string) bool { return runsScript(words, e.key("lock")) })
}

// lostCall runs call while the reply to the lock's next script is lost.
func (e *env) lostCall(ctx context.Context, in *Instance, call func() error) error {
	lost := e.loseLockReply(in)
	err := call()
	select {
	case <-lost:
	case <-ctx.Done():
		return errors.New("no reply was lost")
	}
	if !errors.Is(err, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps ErrIndeterminate", err)
	}
	return nil
}

// sentTo counts how often each script was sent for the case's lock while call runs.
func (e *env) sentTo(ctx context.Context, call func() error) (most int, err error) {
	if e.Record == nil {
		return 1, call()
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return 0, err
	}
	err = call()
	commands, stopErr := stop()
	counts := map[string]int{}
	for _, words := range commands {
		if len(words) > 3 && words[3] == e.key("lock") {
			counts[words[1]]++
			most = max(most, counts[words[1]])
		}
	}
	return most, errors.Join(err, stopErr)
}

func checkLostAcquire(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	times, err := e.sentTo(ctx, func() error {
		return e.lostCall(ctx, in, func() error { _, err := lock.TryLock(ctx); return err })
	})
	if err != nil {
		return err
	}
	if times != 1 {
		return fmt.Errorf("the script was sent %d times", times)
	}
	if err := e.granted(ctx); err != nil {
		return err
	}
	if err := e.awaitFree(ctx, e.key("lock"), Patience/6); err != nil {
		return err
	}
	lease, err := soon(lockLater(ctx, lock))
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

// checkLostUnlock does not count: a release is repeated on purpose, since that is harmless.
func checkLostUnlock(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := e.lostCall(ctx, in, func() error { return lease.Unlock(ctx) }); err != nil {
		return err
	}
	if err := lease.Err(); !errors.Is(err, primitives.ErrReleased) {
		return fmt.Errorf("after an Unlock without a reply: %w, want ErrReleased", err)
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/6)
}

func checkLostForce(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	if _, err := lock.ForceUnlock(ctx); err != nil {
		return err
	}
	if err := e.foreign(ctx, e.key("lock"), 0); err != nil {
		return err
	}
	times, err := e.sentTo(ctx, func() error {
		return e.lostCall(ctx, in, func() error { _, err := lock.ForceUnlock(ctx); return err })
	})
	if err != nil {
		return err
	}
	if times != 1 {
		return fmt.Errorf("the script was sent %d times", times)
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/6)
}

func checkLostRenewal(ctx context.Context, e *env) error {
	const length = steadyLease
	c, in, err := e.client(ctx, &primitives.Options{WatchdogLease: length})
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	select {
	case <-e.loseLockReply(in):
	case <-ctx.Done():
		return errors.New("no renewal was sent")
	}
	held := lease.Context(ctx)
	select {
	case <-held.Done():
		return fmt.Errorf("after one lost renewal: %w", context.Cause(held))
	case <-time.After(afterSteady):
	}
	return lease.Unlock(ctx)
}
