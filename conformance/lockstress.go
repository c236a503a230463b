package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// lockStressCases are about what went wrong in other libraries: races between the parts of a lock,
// and servers that change under it.
func lockStressCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
		{Name: "ReleaseRacesTheSubscription", Clause: "Lock.Waiting", needs: pubsub, check: checkRace},
		{Name: "ManyNamesAreWaitedFor", Clause: "Lock.Waiting", needs: pubsub, check: checkManyNames},
		{Name: "CancelledWaitsLeaveNothing", Clause: "Lock.GivingBack", check: checkCancelledWaits},
		{Name: "CancelledAcquiresLeaveNothing", Clause: "Lock.GivingBack", check: checkCancelledAcquires},
		{Name: "RelockAfterALossIsRenewed", Clause: "Lock.Renewal", check: checkRelock},
		{
			Name: "NothingIsSentAfterUnlock", Clause: "Lock.Renewal",
			needs: []need{needsRecord}, check: checkQuiet,
		},
		{
			Name: "BriefOutageKeepsTheLock", Clause: "Lock.Renewal",
			needs: []need{needsLink}, check: checkOutage,
		},
		{
			Name: "WaitersSurviveARestart", Clause: "Lock.Waiting", Alone: true,
			needs: []need{needsPubSub, needsRestart}, check: checkRestartWaiters,
		},
		{
			Name: "WaitersSurviveAMigration", Clause: "Lock.Waiting", Alone: true,
			needs: []need{needsPubSub, needsMigrate}, check: checkMigrationWaiters,
		},
	}
}

// checkRace releases at a random moment of the waiter's first refusal and its subscription.
func checkRace(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: never}
	first, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	for round := range 60 {
		name := e.key(fmt.Sprint("race", round)) // a channel that nobody has subscribed to yet
		lease, err := first.NewLock(name, nil).Lock(ctx)
		if err != nil {
			return err
		}
		got := lockLater(ctx, second.NewLock(name, nil))
		sleepUpTo(3 * time.Millisecond)
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
		next, err := soon(got)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err := next.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func checkManyNames(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: never}
	first, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	second, _, err := e.client(ctx, o)
	if err != nil {
		return err
	}
	names := 300
	if e.NoClient {
		names = 100 // All share one interpreter, which the race detector slows down.
	}
	leases := make([]*primitives.Lease, names)
	waiting := make([]<-chan acquired, len(leases))
	for i := range leases {
		name := fmt.Sprintf("%s:%d", e.tag, i) // over all slots
		if leases[i], err = first.NewLock(name, nil).Lock(ctx); err != nil {
			return err
		}
		waiting[i] = lockLater(ctx, second.NewLock(name, nil))
	}
	for _, lease := range leases {
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	for i, got := range waiting {
		lease, err := soon(got)
		if err != nil {
			return fmt.Errorf("name %d: %w", i, err)
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// randomly returns a context that is cancelled within a few round trips.
func randomly(ctx context.Context) (context.Context, context.CancelFunc) {
	after := time.Duration(rand.N(2000)) * time.Microsecond //nolint:gosec // A schedule.
	return context.WithTimeout(ctx, after)
}

// checkCancelledWaits gives up waiting at any moment, the making of the subscription included.
func checkCancelledWaits(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	for range 60 {
		waiting, cancel := randomly(ctx)
		_, err := b.Lock(waiting)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("Lock of a held lock returned %w", err)
		}
	}
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, e.channel(), 0); err != nil {
			return err
		}
	}
	got := lockLater(ctx, b)
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	next, err := soon(got)
	if err != nil {
		return err
	}
	return next.Unlock(ctx)
}

// checkCancelledAcquires gives up acquiring a free lock at any moment.
func checkCancelledAcquires(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	for range 60 {
		trying, cancel := randomly(ctx)
		lease, err := a.Lock(trying)
		cancel()
		switch {
		case err == nil:
			if err := lease.Unlock(ctx); err != nil {
				return err
			}
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
	next, err := soon(lockLater(ctx, b))
	if err != nil {
		return err
	}
	// What the cancelled attempts give back must not be this.
	time.Sleep(500 * time.Millisecond)
	return next.Unlock(ctx)
}

// checkRelock takes a lock again that was lost, by the same client.
func checkRelock(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{WatchdogLease: steadyLease})
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if _, err := e.Do(ctx, e.key("lock"), "DEL", e.key("lock")); err != nil {
		return err
	}
	again, err := soon(lockLater(ctx, lock))
	if err != nil {
		return err
	}
	held := again.Context(ctx)
	select {
	case <-held.Done():
		return fmt.Errorf("lost: %w", context.Cause(held))
	case <-time.After(afterSteady):
	}
	if !errors.Is(lease.Err(), primitives.ErrLost) {
		return fmt.Errorf("the first lease's error is %w, want ErrLost", lease.Err())
	}
	return again.Unlock(ctx)
}

// checkQuiet listens for renewals of what is not held any more.
func checkQuiet(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{WatchdogLease: steadyLease})
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	time.Sleep(steadyLease / 2) // It is renewed once.
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return err
	}
	time.Sleep(steadyLease / 2) // Longer than from one renewal to the next.
	commands, err := stop()
	if sent := matching(commands, e.key("lock")); err == nil && len(sent) > 0 {
		err = fmt.Errorf("sent after the last Unlock: %q", sent)
	}
	return err
}

// checkOutage cuts the holder off for longer than from one renewal to the next.
func checkOutage(ctx context.Context, e *env) error {
	const length = steadyLease
	c, in, err := e.client(ctx, &primitives.Options{WatchdogLease: length})
	if err != nil {
		return err
	}
	lease, err := c.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	held := lease.Context(ctx)
	time.Sleep(length/3 - length/10)
	in.Link.Refuse()
	time.AfterFunc(length/5, in.Link.Restore)
	select {
	case <-held.Done():
		return fmt.Errorf("lost: %w", context.Cause(held))
	case <-time.After(afterSteady):
	}
	return lease.Unlock(ctx)
}

// checkRestartWaiters restarts the server without its data: the locks are free, and no message says
// so.
func checkRestartWaiters(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	waiting := make([]<-chan acquired, 5)
	for i := range waiting {
		name := e.key(fmt.Sprint(i))
		if err := e.foreign(ctx, name, 0); err != nil {
			return err
		}
		waiting[i] = lockLater(ctx, c.NewLock(name, nil))
		channel := "redisson_lock__channel:" + name
		if err := e.awaitSubscribers(ctx, channel, 1); err != nil {
			return err
		}
	}
	if err := e.Restart(ctx, false); err != nil {
		return err
	}
	for i, got := range waiting {
		// A waiter whose script met the broken connection gets an error: it does not hang.
		if _, err := soon(got); err != nil && !errors.Is(err, backend.ErrIndeterminate) {
			return fmt.Errorf("waiter %d: %w", i, err)
		}
	}
	return nil
}

func checkMigrationWaiters(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	got := lockLater(ctx, b)
	if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
		return err
	}
	finish, err := e.Migrate(ctx, e.key("lock"))
	if err != nil {
		return err
	}
	if err := finish(ctx); err != nil {
		return err
	}
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	next, err := soon(got)
	if err != nil {
		return err
	}
	return next.Unlock(ctx)
}
