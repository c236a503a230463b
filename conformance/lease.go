package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/pprof"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// leaseCases are about what is held, for how long, and how it ends.
func leaseCases() []Case {
	return []Case{
		{Name: "LeaseEndsByTheClock", Clause: "Lock.Lease", check: checkLeaseEnds},
		{Name: "BeliefEndsBeforeTheServers", Clause: "Lock.Lease", check: checkBelief},
		{Name: "WatchdogRenews", Clause: "Lock.Renewal", check: checkRenews},
		{
			Name: "LeasesOfSeveralSlotsAreRenewed", Clause: "Lock.Renewal",
			needs: []need{needsCluster}, check: checkRenewsSlots,
		},
		{Name: "RenewalMindsTheOwner", Clause: "Lock.Renewal", check: checkRenewalOwner},
		{Name: "BadKeyCostsOnlyItself", Clause: "Lock.Renewal", check: checkRenewalAlone},
		{Name: "UnlockFreesOnce", Clause: "Lock.Unlock", check: checkUnlock},
		{Name: "UnlockOfALostLeaseFreesNothing", Clause: "Lock.Unlock", check: checkUnlockLost},
		{Name: "UnlockUnderAnEndedContext", Clause: "Lock.Unlock", check: checkUnlockEnded},
		{Name: "ReenterSharesTheHold", Clause: "Lock.Reenter", check: checkReenter},
		{Name: "ReenterRefusesAnotherLease", Clause: "Lock.Reenter", check: checkReenterLease},
		{Name: "ReenterKeepsTheHoldToTheLast", Clause: "Lock.Reenter", check: checkReenterLast},
		{Name: "CloseEndsAll", Clause: "Lock.Close", check: checkClose},
		{Name: "CloseOfAClientLeavesNoGoroutine", Clause: "Lock.Close", check: checkClientGoroutines},
	}
}

// checkRenewsSlots holds locks of different slots, which no script may renew together.
func checkRenewsSlots(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{WatchdogLease: Patience / 10})
	if err != nil {
		return err
	}
	names := e.differentSlots()
	leases := make([]*primitives.Lease, len(names))
	for i, name := range names {
		if leases[i], err = c.NewLock(name, nil).Lock(ctx); err != nil {
			return err
		}
	}
	for i, name := range names {
		if err := e.awaitRenewal(ctx, leases[i], name); err != nil {
			return err
		}
	}
	return nil
}

// awaitRenewal returns when the server's lease of a lock has become longer.
func (e *env) awaitRenewal(ctx context.Context, lease *primitives.Lease, name string) error {
	last := time.Duration(math.MaxInt64)
	return eventually(ctx, "the renewal of "+name, func() (bool, error) {
		reply, err := e.Do(ctx, name, "PTTL", name)
		left, timeErr := reply.Duration(time.Millisecond)
		if err := errors.Join(err, timeErr, lease.Err()); err != nil {
			return false, err
		}
		renewed := left > last
		last = left
		return renewed, nil
	})
}

func checkLeaseEnds(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), &primitives.LockOptions{Lease: 500 * time.Millisecond})
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	leaseCtx := lease.Context(ctx)
	select {
	case <-leaseCtx.Done():
	case <-ctx.Done():
		return errors.New("the lease's context did not end")
	}
	select {
	case <-lease.Done():
	case <-ctx.Done():
		return errors.New("the lease's Done was not closed")
	}
	if cause := context.Cause(leaseCtx); !errors.Is(cause, primitives.ErrLost) {
		return fmt.Errorf("the context's cause is %w, want ErrLost", cause)
	}
	if err := lease.Err(); !errors.Is(err, primitives.ErrLost) || lease.Remaining() != 0 {
		return fmt.Errorf("%v remain and the error is %w, want ErrLost", lease.Remaining(), err)
	}
	late := lease.Context(ctx)
	if late.Err() == nil || !errors.Is(context.Cause(late), primitives.ErrLost) {
		return fmt.Errorf("a context of a lost lease has cause %w", context.Cause(late))
	}
	return nil
}

// checkBelief compares what the holder believes with what the server has, until the end.
func checkBelief(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	const length = 2 * time.Second
	lock := c.NewLock(e.key("lock"), &primitives.LockOptions{Lease: length})
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	granted := time.Now()
	for {
		asked := time.Now()
		believed := lease.Remaining()
		if believed == 0 {
			return nil
		}
		if most := length - length/10 - asked.Sub(granted); believed > most {
			return fmt.Errorf("the holder believes in %v, %v after a grant of %v", believed,
				asked.Sub(granted), length)
		}
		reply, err := e.Do(ctx, e.key("lock"), "PTTL", e.key("lock"))
		if err != nil {
			return err
		}
		left, err := reply.Duration(time.Millisecond)
		if err != nil {
			return err
		}
		// Once the belief has ended the holder releases, and there is nothing to compare.
		if took := time.Since(asked); took < believed && left+took < believed {
			return fmt.Errorf("the holder believed in %v, the server had %v", believed, left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

const (
	// steadyLease is one that is renewed in time also on a machine that stands still for seconds.
	steadyLease = 12 * time.Second
	// afterSteady is when a steadyLease has surely ended that was not renewed.
	afterSteady = steadyLease + steadyLease/4
)

func checkRenews(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, &primitives.Options{WatchdogLease: steadyLease})
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	held := lease.Context(ctx)
	select {
	case <-held.Done():
		return fmt.Errorf("lost: %w", context.Cause(held))
	case <-time.After(afterSteady):
	}
	if _, err := b.TryLock(ctx); !errors.Is(err, primitives.ErrNotAcquired) {
		return fmt.Errorf("TryLock of a renewed lock returned %w, want ErrNotAcquired", err)
	}
	return lease.Unlock(ctx)
}

// checkRenewalOwner gives the lock to another behind the holder's back.
func checkRenewalOwner(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, &primitives.Options{WatchdogLease: steadyLease})
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	key := e.key("lock")
	if _, err := e.Do(ctx, key, "DEL", key); err != nil {
		return err
	}
	const long = 10 * time.Minute
	if err := e.foreign(ctx, key, long); err != nil {
		return err
	}
	select {
	case <-lease.Done():
	case <-ctx.Done():
		return errors.New("the holder did not learn of its loss")
	}
	if err := lease.Err(); !errors.Is(err, primitives.ErrLost) {
		return fmt.Errorf("got error %w, want ErrLost", err)
	}
	if err := lease.Unlock(ctx); !errors.Is(err, primitives.ErrNotHeld) {
		return fmt.Errorf("Unlock returned %w, want ErrNotHeld", err)
	}
	return wantState(ctx, a, "another:1", true, 1, long-Patience, long)
}

// checkRenewalAlone makes one of many held locks something else.
func checkRenewalAlone(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, &primitives.Options{WatchdogLease: steadyLease})
	if err != nil {
		return err
	}
	leases := make([]*primitives.Lease, 20)
	for i := range leases {
		if leases[i], err = c.NewLock(e.key(fmt.Sprint(i)), nil).Lock(ctx); err != nil {
			return err
		}
	}
	bad := e.key("7")
	if _, err := e.Do(ctx, bad, "SET", bad, "data"); err != nil {
		return err
	}
	select {
	case <-leases[7].Done():
	case <-ctx.Done():
		return errors.New("the holder of the bad key did not learn of its loss")
	}
	time.Sleep(steadyLease)
	for i, lease := range leases {
		if err := lease.Err(); i != 7 && err != nil {
			return fmt.Errorf("lease %d, whose key is good: %w", i, err)
		}
	}
	return nil
}

func checkUnlock(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	held := lease.Context(ctx)
	if err := errors.Join(held.Err(), lease.Err(), lease.Unlock(ctx)); err != nil {
		return err
	}
	if !errors.Is(context.Cause(held), primitives.ErrReleased) {
		return fmt.Errorf("the context's cause is %w, want ErrReleased", context.Cause(held))
	}
	next, err := b.TryLock(ctx)
	if err != nil {
		return err
	}
	err = lease.Unlock(ctx)
	if !errors.Is(err, primitives.ErrNotHeld) || !errors.Is(err, primitives.ErrReleased) {
		return fmt.Errorf("a second Unlock returned %w, want ErrNotHeld and ErrReleased", err)
	}
	if err := wantState(ctx, a, next.Owner(), true, 1, time.Second, 30*time.Second); err != nil {
		return fmt.Errorf("after a second Unlock: %w", err)
	}
	return next.Unlock(ctx)
}

func checkUnlockLost(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	short := c.NewLock(a.Name(), &primitives.LockOptions{Lease: 2 * time.Second})
	lease, err := short.Lock(ctx)
	if err != nil {
		return err
	}
	select {
	case <-lease.Done():
	case <-ctx.Done():
		return errors.New("the lease did not end")
	}
	next, err := b.Lock(ctx)
	if err != nil {
		return err
	}
	err = lease.Unlock(ctx)
	if !errors.Is(err, primitives.ErrNotHeld) || !errors.Is(err, primitives.ErrLost) {
		return fmt.Errorf("Unlock returned %w, want ErrNotHeld and ErrLost", err)
	}
	if err := wantState(ctx, a, next.Owner(), true, 1, time.Second, 30*time.Second); err != nil {
		return err
	}
	return next.Unlock(ctx)
}

func checkUnlockEnded(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	err = lease.Unlock(ended)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps context.Canceled and ErrIndeterminate", err)
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/6)
}

// awaitFree waits until nobody holds the lock at key, for less than its lease.
func (e *env) awaitFree(ctx context.Context, key string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return eventually(ctx, "the lock to be free", func() (bool, error) {
		reply, err := e.Do(ctx, key, "EXISTS", key)
		return same(reply, backend.IntegerReply(0)), err
	})
}

func checkClose(ctx context.Context, e *env) error {
	first, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	second, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lease, err := first.NewLock(e.key("mine"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	other, err := second.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	waiting := lockLater(ctx, first.NewLock(e.key("lock"), nil))
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
			return err
		}
	}
	held := lease.Context(ctx)
	if err := first.Close(ctx); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	if _, err := soon(waiting); !errors.Is(err, primitives.ErrClosed) {
		return fmt.Errorf("the waiter got %w, want ErrClosed", err)
	}
	if !errors.Is(context.Cause(held), primitives.ErrClosed) {
		return fmt.Errorf("the context's cause is %w, want ErrClosed", context.Cause(held))
	}
	if err := e.awaitFree(ctx, e.key("mine"), Patience/6); err != nil {
		return err
	}
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, e.channel(), 0); err != nil {
			return err
		}
	}
	return errors.Join(first.Close(ctx), other.Unlock(ctx))
}

// checkClientGoroutines labels whatever goroutine is started by a client of primitives.
func checkClientGoroutines(ctx context.Context, e *env) (err error) {
	pprof.Do(ctx, pprof.Labels("conformance", e.tag), func(ctx context.Context) {
		err = e.liveWithLocks(ctx)
	})
	if err != nil {
		return err
	}
	return e.awaitNoGoroutine(ctx)
}

// liveWithLocks leads a client through a short life: held, waiting, renewing and given up.
func (e *env) liveWithLocks(ctx context.Context) error {
	in, err := e.New(ctx)
	if err != nil {
		return err
	}
	defer in.end()
	c, err := primitives.New(in.Backend, &primitives.Options{WatchdogLease: time.Second})
	if err != nil {
		return err
	}
	if _, err := c.NewLock(e.key("lock"), nil).Lock(ctx); err != nil {
		return err
	}
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	given := lockLater(waiting, c.NewLock(e.key("lock"), nil))
	lockLater(ctx, c.NewLock(e.key("lock"), nil))
	time.AfterFunc(500*time.Millisecond, giveUp)
	if a := <-given; !errors.Is(a.err, context.Canceled) {
		return fmt.Errorf("the waiter got %w, want context.Canceled", a.err)
	}
	return c.Close(ctx)
}
