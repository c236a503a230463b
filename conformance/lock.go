package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// never is a poll interval that no case waits for: waiting ends by messages or by the holder's
// lease only.
const never = time.Hour

// lockCases are about who gets a lock, and when.
func lockCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
		{Name: "LockExcludes", Clause: "Lock.Exclusion", check: checkExcludes},
		{Name: "SharedLockValueExcludes", Clause: "Lock.Exclusion", check: checkSharedValue},
		{Name: "ReleaseWakesAWaiter", Clause: "Lock.Waiting", needs: pubsub, check: checkWake},
		{Name: "ExpiryWakesAWaiter", Clause: "Lock.Waiting", check: checkExpiryWakes},
		{Name: "PollFindsAFreeLock", Clause: "Lock.Waiting", check: checkPoll},
		{
			Name: "CancelledWaitersPassTheWakeOn", Clause: "Lock.Waiting",
			needs: pubsub, check: checkPassOn,
		},
		{
			Name: "FreeLockTakesOneRoundTrip", Clause: "Lock.Waiting",
			needs: []need{needsRecord}, check: checkRoundTrips,
		},
		{Name: "TokensRise", Clause: "Lock.Token", check: checkTokens},
		{Name: "LockQueries", Clause: "Lock.Queries", check: checkQueries},
		{Name: "LockConflict", Clause: "Lock.Queries", check: checkConflict},
		{Name: "BadInputSendsNothing", Clause: "Lock.Input", check: checkBadInput},
	}
}

// section is what must have one holder at a time.
type section struct {
	inside atomic.Int32
	broken atomic.Int32
	done   atomic.Int64
}

func (s *section) run() {
	if s.inside.Add(1) != 1 {
		s.broken.Add(1)
	}
	time.Sleep(time.Duration(rand.N(300)) * time.Microsecond) //nolint:gosec // A schedule.
	s.inside.Add(-1)
	s.done.Add(1)
}

func (s *section) verdict(want int64) error {
	if n := s.broken.Load(); n > 0 {
		return fmt.Errorf("two holders at a time, %d times", n)
	}
	if n := s.done.Load(); n != want {
		return fmt.Errorf("%d critical sections ran, want %d", n, want)
	}
	return nil
}

// enter locks, runs the section and unlocks, rounds times.
func (s *section) enter(ctx context.Context, lock *primitives.Lock, rounds int) error {
	for range rounds {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		s.run()
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func checkExcludes(ctx context.Context, e *env) error {
	const clients, each, rounds = 3, 4, 10
	var s section
	var group sync.WaitGroup
	errs := make(chan error, clients*each)
	for range clients {
		c, _, err := e.client(ctx, nil)
		if err != nil {
			return err
		}
		for range each {
			lock := c.NewLock(e.key("lock"), nil)
			group.Go(func() { errs <- s.enter(ctx, lock, rounds) })
		}
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return s.verdict(clients * each * rounds)
}

// checkSharedValue shares one Lock value, and tries it under contexts of the lease.
func checkSharedValue(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	var s section
	var group sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		group.Go(func() { errs[i] = s.enter(ctx, lock, 10) })
	}
	group.Wait()
	if err := errors.Join(errors.Join(errs...), s.verdict(60)); err != nil {
		return err
	}
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if _, err := lock.TryLock(lease.Context(ctx)); !errors.Is(err, primitives.ErrNotAcquired) {
		return fmt.Errorf("TryLock under the lease's context returned %w, want ErrNotAcquired", err)
	}
	return lease.Unlock(ctx)
}

func checkTokens(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	tokenKey := "redisson_lock_token:" + e.key("lock")
	last := int64(0)
	next := func(lock *primitives.Lock, atLeast int64) error {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		if lease.Token() < atLeast || lease.Token() <= last {
			return fmt.Errorf("token %d after %d, want at least %d", lease.Token(), last, atLeast)
		}
		last = lease.Token()
		return lease.Unlock(ctx)
	}
	for range 5 {
		if err := errors.Join(next(a, 1), next(b, 1)); err != nil {
			return err
		}
	}
	if _, err := e.Do(ctx, tokenKey, "DEL", tokenKey); err != nil {
		return err
	}
	if err := next(a, 1); err != nil {
		return fmt.Errorf("after the token key was lost: %w", err)
	}
	const odd int64 = 1<<53 + 1 // no double has it
	if _, err := e.Do(ctx, tokenKey, "SET", tokenKey, fmt.Sprint(odd)); err != nil {
		return err
	}
	if err := next(b, odd+1); err != nil {
		return err
	}
	if last != odd+1 {
		return fmt.Errorf("token %d after %d", last, odd)
	}
	return nil
}

func checkQueries(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	if err := wantState(ctx, b, "nobody", false, 0, 0, 0); err != nil {
		return fmt.Errorf("free: %w", err)
	}
	lease, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	if err := wantState(ctx, b, lease.Owner(), true, 1, time.Second, 30*time.Second); err != nil {
		return fmt.Errorf("held: %w", err)
	}
	if freed, err := b.ForceUnlock(ctx); err != nil || !freed {
		return fmt.Errorf("ForceUnlock returned %t, %w", freed, err)
	}
	if freed, err := b.ForceUnlock(ctx); err != nil || freed {
		return fmt.Errorf("ForceUnlock of a free lock returned %t, %w", freed, err)
	}
	if err := lease.Unlock(ctx); !errors.Is(err, primitives.ErrNotHeld) {
		return fmt.Errorf("Unlock after ForceUnlock returned %w, want ErrNotHeld", err)
	}
	if err := e.foreign(ctx, e.key("lock"), 0); err != nil {
		return err
	}
	return wantState(ctx, a, "another:1", true, 1, primitives.NoExpiry, primitives.NoExpiry)
}

// wantState checks what the queries of a lock say.
func wantState(
	ctx context.Context, l *primitives.Lock, owner string, locked bool, holds int64,
	least, most time.Duration,
) error {
	isLocked, err1 := l.IsLocked(ctx)
	isHeld, err2 := l.IsHeldBy(ctx, owner)
	count, err3 := l.HoldCount(ctx, owner)
	remaining, err4 := l.Remaining(ctx)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	if isLocked != locked || isHeld != (holds > 0) || count != holds {
		return fmt.Errorf("locked %t, held by %s %t, %d times", isLocked, owner, isHeld, count)
	}
	if remaining < least || remaining > most {
		return fmt.Errorf("%v remain, want %v to %v", remaining, least, most)
	}
	return nil
}

func checkConflict(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	key := e.key("lock")
	if _, err := e.Do(ctx, key, "SET", key, "data"); err != nil {
		return err
	}
	if _, err := a.TryLock(ctx); !errors.Is(err, primitives.ErrConflict) {
		return fmt.Errorf("TryLock of a string returned %w, want ErrConflict", err)
	}
	if _, err := a.ForceUnlock(ctx); !errors.Is(err, primitives.ErrConflict) {
		return fmt.Errorf("ForceUnlock of a string returned %w, want ErrConflict", err)
	}
	if got, err := e.Do(ctx, key, "GET", key); err != nil || !same(got, backend.StringReply("data")) {
		return fmt.Errorf("the string became %v, %w", got, err)
	}
	return nil
}
