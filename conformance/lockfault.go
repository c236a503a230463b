package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// lockFaultCases are about locks over links that fail.
func lockFaultCases() []Case {
	link := []need{needsLink}
	return []Case{
		{Name: "SilentLinkNeverOverlaps", Clause: "Lock.Lease", needs: link, check: checkOverlap},
		{Name: "SlowLinkAcquires", Clause: "Lock.Waiting", needs: link, check: checkSlowLink},
		{Name: "StalledLinkAcquires", Clause: "Lock.Waiting", needs: link, check: checkStall},
		{
			Name: "BrokenLinkWakesAWaiter", Clause: "Lock.Waiting",
			needs: []need{needsLink, needsPubSub}, check: checkBrokenWait,
		},
		{
			Name: "CancelledLockLeavesNothing", Clause: "Lock.GivingBack",
			needs: link, check: checkCancelled,
		},
		{
			Name: "CancelledLockTouchesNoLaterHold", Clause: "Lock.GivingBack",
			needs: link, check: checkLaterHold,
		},
		{
			Name: "CancelledLockWithoutReplyLeavesNothing", Clause: "Lock.GivingBack",
			needs: link, check: checkNoReply,
		},
		{
			Name: "LostAcquireIsGivenBack", Clause: "Lock.GivingBack",
			needs: link, check: checkLostAcquire,
		},
		{Name: "LostUnlockFrees", Clause: "Lock.Unlock", needs: link, check: checkLostUnlock},
		{Name: "LostForceUnlockFrees", Clause: "Lock.Queries", needs: link, check: checkLostForce},
		{Name: "LostRenewalIsRepeated", Clause: "Lock.Renewal", needs: link, check: checkLostRenewal},
	}
}

// checkOverlap silences the holder's link, and notes when a waiter on another link gets the lock.
func checkOverlap(ctx context.Context, e *env) error {
	o := &primitives.Options{WatchdogLease: steadyLease / 4}
	first, in, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	lease, err := first.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	held := lease.Context(ctx)
	ended := make(chan time.Time, 1)
	go func() { <-held.Done(); ended <- time.Now() }()
	in.Link.Blackhole()
	next, err := soon(lockLater(ctx, second.NewLock(e.key("lock"), nil)))
	granted := time.Now()
	if err != nil {
		return err
	}
	if err := lease.Err(); !errors.Is(err, primitives.ErrLost) {
		return fmt.Errorf("two holders: the first's error is %w when the second holds", err)
	}
	select {
	case at := <-ended:
		if at.After(granted) {
			return fmt.Errorf("the first's context ended %v after the second's grant", at.Sub(granted))
		}
	case <-ctx.Done():
		return errors.New("the first's context did not end")
	}
	if lease.Token() >= next.Token() {
		return fmt.Errorf("token %d, then %d", lease.Token(), next.Token())
	}
	return next.Unlock(ctx)
}

// withinAPoll acquires a lock in no more time than a waiter may go without asking the server.
func withinAPoll(ctx context.Context, lock *primitives.Lock) (*primitives.Lease, error) {
	const poll = 5 * time.Second // the default of primitives.Options
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	return lock.Lock(ctx)
}

func checkSlowLink(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	in.Link.Delay(25 * time.Millisecond)
	for range 3 {
		lease, err := withinAPoll(ctx, c.NewLock(e.key("lock"), nil))
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkStall holds the link up once, while a lock is taken that was just freed.
func checkStall(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	for range 5 {
		in.Link.Delay(30 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, in.Link.Restore)
		lease, err := withinAPoll(ctx, lock)
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkBrokenWait frees the lock while no message reaches the waiter.
func checkBrokenWait(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: never}
	first, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, in, tries, err := e.countedClient(ctx, o)
	if err != nil {
		return err
	}
	lease, err := first.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	got := lockLater(ctx, second.NewLock(e.key("lock"), nil))
	// It parks after its second try, which the acknowledgement of its subscription brings about.
	if err := eventually(ctx, "the second try", func() (bool, error) {
		return tries.ended.Load() == 2, nil
	}); err != nil {
		return err
	}
	in.Link.Refuse()
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	in.Link.Restore()
	next, err := soon(got)
	if errors.Is(err, backend.ErrIndeterminate) {
		return nil // It was woken, and tried on a connection of the driver's that was broken too.
	}
	if err != nil {
		return err
	}
	// So may the release, on another of the driver's connections; it is repeated then.
	if err := next.Unlock(ctx); err != nil && !errors.Is(err, backend.ErrIndeterminate) {
		return err
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/6)
}

// granted waits until the server has granted the lock at key once: then its token exists.
func (e *env) granted(ctx context.Context) error {
	key := "redisson_lock_token:" + e.key("lock")
	return eventually(ctx, "the grant", func() (bool, error) {
		reply, err := e.Do(ctx, key, "EXISTS", key)
		return same(reply, backend.IntegerReply(1)), err
	})
}

// checkCancelled cancels an acquire whose script runs 400 ms later.
func checkCancelled(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	in.Link.Delay(soonEnded + 400*time.Millisecond) // The script runs so much after the cancelling.
	lockErr, err := promptly(prompt, "Lock", func() error {
		callCtx, cancel := cancelled(ctx)
		defer cancel()
		_, err := lock.Lock(callCtx)
		return err
	})
	if err != nil {
		return err
	}
	if !errors.Is(lockErr, context.Canceled) {
		return fmt.Errorf("got error %w, want one that wraps context.Canceled", lockErr)
	}
	if err := e.granted(ctx); err != nil {
		return err
	}
	if err := e.awaitFree(ctx, e.key("lock"), Patience/6); err != nil {
		return err
	}
	in.Link.Restore()
	if !e.Capabilities.PubSub {
		return nil
	}
	return e.awaitSubscribers(ctx, e.channel(), 0)
}

// checkNoReply cancels an acquire that is granted, and whose reply never comes.
func checkNoReply(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	lost := in.Link.LoseReply(func(words []string) bool { return runsScript(words, e.key("lock")) })
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { <-lost; cancel() }()
	lockErr, err := promptly(prompt, "Lock", func() error {
		_, err := lock.Lock(callCtx)
		return err
	})
	if err != nil {
		return err
	}
	if err := wantBoth(lockErr, context.Canceled); err != nil {
		return err
	}
	if err := e.granted(ctx); err != nil {
		return err
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/4)
}

// warm locks a few times, so that the scripts are loaded and the driver is connected, and removes
// the traces.
func (e *env) warm(ctx context.Context, lock *primitives.Lock) error {
	for range 16 {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	key := "redisson_lock_token:" + e.key("lock")
	_, err := e.Do(ctx, key, "DEL", key)
	return err
}

// checkLaterHold lets another attempt of the same client win while the release of a cancelled one
// is still to come.
func checkLaterHold(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	for range 5 {
		in.Link.Delay(2 * soonEnded) // Its release overtakes it where it can.
		callCtx, cancel := cancelled(ctx)
		_, lockErr := lock.Lock(callCtx)
		cancel()
		if !errors.Is(lockErr, context.Canceled) {
			return fmt.Errorf("got error %w, want one that wraps context.Canceled", lockErr)
		}
		in.Link.Restore()
		lease, err := soon(lockLater(ctx, lock))
		if err != nil {
			return err
		}
		// The releases of the cancelled attempt go on for up to a second or more.
		for range 20 {
			time.Sleep(25 * time.Millisecond)
			if held, err := lock.IsHeldBy(ctx, lease.Owner()); err != nil || !held {
				return fmt.Errorf("the later hold is gone: %t, %w", held, err)
			}
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}
