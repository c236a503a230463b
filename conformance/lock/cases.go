package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Cases returns what only a lock promises. What all primitives with leases do is engine.LeaseCases.
func Cases() []harness.Case {
	all := slices.Concat(cases, wireCases)
	for i, c := range all {
		all[i].Text = Promises[c.Clause]
	}
	return all
}

var cases = []harness.Case{
	{Name: "LockExcludes", Clause: "Lock.Exclusion", Run: func(ctx context.Context, e *harness.Env) {
		const clients, each, rounds = 3, 4, 10
		var s section
		var entered []<-chan error
		for range clients {
			c, _ := engine.NewClient(ctx, e, nil)
			for range each {
				entered = append(entered, s.enter(ctx, c.NewLock(e.Key("lock"), nil), rounds))
			}
		}
		s.verdict(entered, clients*each*rounds)
	}},
	{Name: "SharedLockValueExcludes", Clause: "Lock.Exclusion", Run: func(
		ctx context.Context, e *harness.Env,
	) {
		lock := newLock(ctx, e)
		var s section
		entered := make([]<-chan error, 6)
		for i := range entered {
			entered[i] = s.enter(ctx, lock, 10)
		}
		s.verdict(entered, 60)
		lease := must.Get(lock.Lock(ctx))
		_, err := lock.TryLock(lease.Context(ctx))
		must.In("TryLock under the lease's context", func() { must.Wrap(err, primitives.ErrNotAcquired) })
		unlock(ctx, lease)
	}},
	{Name: "TokensRise", Clause: "Lock.Token", Run: func(ctx context.Context, e *harness.Env) {
		a, b := newLock(ctx, e), newLock(ctx, e)
		last := int64(0)
		for range 5 {
			last = nextToken(ctx, a, last, 1)
			last = nextToken(ctx, b, last, 1)
		}
		e.Command(ctx, "DEL", token(a.Name()))
		must.In("after the token key was lost", func() { last = nextToken(ctx, a, last, 1) })
		const odd int64 = 1<<53 + 1 // no double has it
		e.Command(ctx, "SET", token(a.Name()), fmt.Sprint(odd))
		last = nextToken(ctx, b, last, odd+1)
		must.If(last != odd+1, "token %d after %d", last, odd)
	}},
	{Name: "LockQueries", Clause: "Lock.Queries", Run: func(ctx context.Context, e *harness.Env) {
		a, b := newLock(ctx, e), newLock(ctx, e)
		must.In("free", func() { wantState(ctx, b, "nobody", 0, 0, 0) })
		lease := must.Get(a.Lock(ctx))
		must.In("held", func() { wantState(ctx, b, lease.Owner(), 1, time.Second, 30*time.Second) })
		must.Return("ForceUnlock", true)(b.ForceUnlock(ctx))
		must.Return("ForceUnlock of a free lock", false)(b.ForceUnlock(ctx))
		must.In("Unlock after ForceUnlock", func() { must.Wrap(lease.Unlock(ctx), primitives.ErrNotHeld) })
		owner := foreign(ctx, e, a.Name(), 0)
		wantState(ctx, a, owner, 1, primitives.NoExpiry, primitives.NoExpiry)
	}},
	{
		Name: "LostForceUnlockFrees", Clause: "Lock.Queries", Needs: []harness.Need{harness.Faults},
		Run: func(ctx context.Context, e *harness.Env) {
			c, in := engine.NewClient(ctx, e, nil)
			lock := c.NewLock(e.Key("lock"), nil)
			for range 16 { // The scripts are loaded then, and the driver is connected.
				unlock(ctx, must.Get(lock.Lock(ctx)))
			}
			must.Get(lock.ForceUnlock(ctx))
			foreign(ctx, e, lock.Name(), 0)
			engine.SentOnce(ctx, e, lock.Name(), func() {
				engine.Lost(ctx, in.Link, lock.Name(), func() error {
					_, err := lock.ForceUnlock(ctx)
					return err
				})
			})
			Leased.AwaitFree(ctx, e, lock.Name(), harness.Patience/6)
		},
	},
	{Name: "BadInputSendsNothing", Clause: "Lock.Input", Run: func(ctx context.Context, e *harness.Env) {
		c, counted, _ := engine.CountedClient(ctx, e, nil)
		lock := c.NewLock(e.Key("lock"), nil)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		short := &primitives.LockOptions{Lease: 50 * time.Millisecond}
		wantField("name", lockErrors(ctx, c.NewLock("", nil))...)
		wantField("Lease", lockErrors(ctx, c.NewLock(e.Key("lock"), short))...)
		wantUnsent(context.Canceled, lockErrors(ended, lock)...)
		wantField("backend", clientError(nil, primitives.Options{}))
		wantField("WatchdogLease", clientError(counted, primitives.Options{WatchdogLease: 1}))
		wantField("PollInterval", clientError(counted, primitives.Options{PollInterval: 1}))
		wantField("Allowance", clientError(counted, primitives.Options{Allowance: time.Hour}))
		must.Do(c.Close(ctx))
		wantUnsent(primitives.ErrClosed, lockErrors(ctx, lock)...)
		must.If(counted.Calls.Load() != 0, "%d calls reached the backend", counted.Calls.Load())
	}},
}

// newLock returns the case's lock, of a client of its own.
func newLock(ctx context.Context, e *harness.Env) *primitives.Lock {
	c, _ := engine.NewClient(ctx, e, nil)
	return c.NewLock(e.Key("lock"), nil)
}

func unlock(ctx context.Context, lease *primitives.Lease) { must.Do(lease.Unlock(ctx)) }

// section is what must have one holder at a time.
type section struct{ inside, broken, done atomic.Int64 }

// enter locks, runs the section and unlocks, rounds times, beside the case.
func (s *section) enter(ctx context.Context, lock *primitives.Lock, rounds int) <-chan error {
	return must.Beside(func() {
		for range rounds {
			lease := must.Get(lock.Lock(ctx))
			if s.inside.Add(1) != 1 {
				s.broken.Add(1)
			}
			time.Sleep(rand.N(300 * time.Microsecond))
			s.inside.Add(-1)
			s.done.Add(1)
			unlock(ctx, lease)
		}
	})
}

// verdict waits for all that enter, and fails if two were in the section at a time, or not all.
func (s *section) verdict(entered []<-chan error, want int64) {
	for _, done := range entered {
		must.Do(<-done)
	}
	must.If(s.broken.Load() > 0, "two holders at a time, %d times", s.broken.Load())
	must.If(s.done.Load() != want, "%d critical sections ran, want %d", s.done.Load(), want)
}

// nextToken returns the next token, which must be higher than last.
func nextToken(ctx context.Context, lock *primitives.Lock, last, atLeast int64) int64 {
	lease := must.Get(lock.Lock(ctx))
	must.If(lease.Token() < atLeast || lease.Token() <= last,
		"token %d after %d, want at least %d", lease.Token(), last, atLeast)
	unlock(ctx, lease)
	return lease.Token()
}

// wantState fails unless a lock's queries say that owner holds it so often, and for at least and at
// most so much longer. Nobody holds it if that is 0.
func wantState(
	ctx context.Context, l *primitives.Lock, owner string, holds int64, least, most time.Duration,
) {
	must.Return("IsLocked", holds > 0)(l.IsLocked(ctx))
	must.Return("IsHeldBy", holds > 0)(l.IsHeldBy(ctx, owner))
	must.Return("HoldCount", holds)(l.HoldCount(ctx, owner))
	left := must.Get(l.Remaining(ctx))
	must.If(left < least || left > most, "%v remain, want %v to %v", left, least, most)
}

// lockErrors returns the errors of all that a lock can be asked.
func lockErrors(ctx context.Context, l *primitives.Lock) []error {
	_, lockErr := l.Lock(ctx)
	_, tryErr := l.TryLock(ctx)
	_, forceErr := l.ForceUnlock(ctx)
	_, lockedErr := l.IsLocked(ctx)
	_, heldErr := l.IsHeldBy(ctx, "x")
	_, countErr := l.HoldCount(ctx, "x")
	_, remainingErr := l.Remaining(ctx)
	return []error{lockErr, tryErr, forceErr, lockedErr, heldErr, countErr, remainingErr}
}

func clientError(b backend.Backend, o primitives.Options) error {
	_, err := primitives.New(b, &o)
	return err
}

func wantField(field string, errs ...error) {
	for i, err := range errs {
		must.In(fmt.Sprint("call ", i), func() { engine.WantField(err, field) })
	}
}

// wantUnsent fails unless all of errs wrap want, of calls that have surely not run.
func wantUnsent(want error, errs ...error) {
	for i, err := range errs {
		bad := !errors.Is(err, want) || backend.MayHaveRun(err)
		must.If(bad, "call %d returned %w, want %w", i, err, want)
	}
}
