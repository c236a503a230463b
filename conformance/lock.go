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

// acquired is the outcome of a Lock that runs beside the case.
type acquired struct {
	lease *primitives.Lease
	err   error
}

// lockLater calls Lock beside the case.
func lockLater(ctx context.Context, lock *primitives.Lock) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		lease, err := lock.Lock(ctx)
		got <- acquired{lease, err}
	}()
	return got
}

// soon waits for a Lock, for far less than the leases of these cases.
func soon(got <-chan acquired) (*primitives.Lease, error) {
	select {
	case a := <-got:
		return a.lease, a.err
	case <-time.After(Patience / 4):
		return nil, fmt.Errorf("not acquired within %v", Patience/4)
	}
}

// pair makes two clients and their locks of one name.
func (e *env) pair(ctx context.Context, o *primitives.Options) (a, b *primitives.Lock, err error) {
	first, _, err := e.client(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	second, _, err := e.client(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	name := e.key("lock")
	return first.NewLock(name, nil), second.NewLock(name, nil), nil
}

// channel is the channel of the lock of these cases.
func (e *env) channel() string { return "redisson_lock__channel:" + e.key("lock") }

func checkWake(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	for range 10 {
		lease, err := a.Lock(ctx)
		if err != nil {
			return err
		}
		got := lockLater(ctx, b)
		if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
		next, err := soon(got)
		if err != nil {
			return err
		}
		if err := next.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// foreign makes a hold of another program, without a message when it ends.
func (e *env) foreign(ctx context.Context, key string, lease time.Duration) error {
	_, err := e.Do(ctx, key, "HSET", key, "another:1", "1")
	if err == nil && lease > 0 {
		_, err = e.Do(ctx, key, "PEXPIRE", key, fmt.Sprint(lease.Milliseconds()))
	}
	return err
}

func checkExpiryWakes(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	if err := e.foreign(ctx, e.key("lock"), 400*time.Millisecond); err != nil {
		return err
	}
	lease, err := soon(lockLater(ctx, a))
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

func checkPoll(ctx context.Context, e *env) error {
	a, _, err := e.pair(ctx, &primitives.Options{PollInterval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := e.foreign(ctx, e.key("lock"), 0); err != nil {
		return err
	}
	got := lockLater(ctx, a)
	if e.Capabilities.PubSub {
		if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
			return err
		}
	}
	if _, err := e.Do(ctx, e.key("lock"), "DEL", e.key("lock")); err != nil {
		return err
	}
	lease, err := soon(got)
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

// checkRoundTrips counts what is sent for the lock, by scripts that are loaded.
func checkRoundTrips(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	lock := c.NewLock(e.key("lock"), nil)
	if err := e.warm(ctx, lock); err != nil {
		return err
	}
	stop, err := e.Record(ctx)
	if err != nil {
		return err
	}
	const pairs = 10
	for range pairs {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	commands, err := stop()
	if sent := matching(commands, e.tag); err == nil && len(sent) != 2*pairs {
		err = fmt.Errorf("%d pairs of lock and unlock took %d commands: %q", pairs, len(sent), sent)
	}
	return err
}

// checkPassOn releases while waiters give up: those that stay must not miss the wake.
func checkPassOn(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	for round := range 15 {
		lease, err := a.Lock(ctx)
		if err != nil {
			return err
		}
		leaving, leave := context.WithCancel(ctx)
		var leavers []<-chan acquired
		for range 3 {
			leavers = append(leavers, lockLater(leaving, b))
		}
		stays := lockLater(ctx, b)
		if err := e.awaitSubscribers(ctx, e.channel(), 1); err != nil {
			leave()
			return err
		}
		go leave()
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
		for _, got := range leavers {
			if a := <-got; a.err == nil {
				_ = a.lease.Unlock(ctx)
			}
		}
		last, err := soon(stays)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err := last.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
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
	const odd = 1<<53 + 1 // no double has it
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

// checkBadInput counts the calls that reach the backend.
func checkBadInput(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	counted := &counter{Backend: b}
	c, err := primitives.New(counted, nil)
	if err != nil {
		return err
	}
	short := primitives.LockOptions{Lease: 50 * time.Millisecond}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := errors.Join(
		wantField(lockError(ctx, c.NewLock("", nil)), "name"),
		wantField(lockError(ctx, c.NewLock(e.key("lock"), &short)), "Lease"),
		wantError(lockError(ended, c.NewLock(e.key("lock"), nil)), context.Canceled),
		wantField(clientError(nil, nil), "backend"),
		wantField(clientError(b, &primitives.Options{WatchdogLease: 1}), "WatchdogLease"),
		wantField(clientError(b, &primitives.Options{PollInterval: 1}), "PollInterval"),
		wantField(clientError(b, &primitives.Options{Allowance: never}), "Allowance"),
		c.Close(ctx),
		wantError(lockError(ctx, c.NewLock(e.key("lock"), nil)), primitives.ErrClosed),
	); err != nil {
		return err
	}
	if n := counted.calls.Load(); n != 0 {
		return fmt.Errorf("%d calls reached the backend", n)
	}
	return nil
}

// counter counts the calls of a backend.
type counter struct {
	backend.Backend
	calls atomic.Int64
}

func (c *counter) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	c.calls.Add(1)
	return c.Backend.Run(ctx, s, keys, args)
}

func (c *counter) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	c.calls.Add(1)
	return c.Backend.Subscribe(ctx, channel, handler)
}

// lockError returns the errors of all that a lock can be asked.
func lockError(ctx context.Context, l *primitives.Lock) []error {
	_, lockErr := l.Lock(ctx)
	_, tryErr := l.TryLock(ctx)
	_, forceErr := l.ForceUnlock(ctx)
	_, lockedErr := l.IsLocked(ctx)
	_, heldErr := l.IsHeldBy(ctx, "x")
	_, countErr := l.HoldCount(ctx, "x")
	_, remainingErr := l.Remaining(ctx)
	return []error{lockErr, tryErr, forceErr, lockedErr, heldErr, countErr, remainingErr}
}

func clientError(b backend.Backend, o *primitives.Options) []error {
	_, err := primitives.New(b, o)
	return []error{err}
}

func wantField(errs []error, field string) error {
	for i, err := range errs {
		var bad *primitives.FieldError
		if !errors.As(err, &bad) || bad.Field != field {
			return fmt.Errorf("call %d returned %w, want a FieldError of %s", i, err, field)
		}
	}
	return nil
}

func wantError(errs []error, want error) error {
	for i, err := range errs {
		if !errors.Is(err, want) || backend.MayHaveRun(err) {
			return fmt.Errorf("call %d returned %w, want %w", i, err, want)
		}
	}
	return nil
}
