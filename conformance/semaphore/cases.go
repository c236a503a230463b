package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are a semaphore's alone.
func cases() []harness.Case {
	pubsub, faults := []harness.Need{harness.PubSub}, []harness.Need{harness.Faults}
	return []harness.Case{
		newCase("WakesWhoFits", "Waiting", pubsub, wakesWhoFits),
		newCase("WakesAllWhoFit", "Waiting", pubsub, wakesAllWhoFit),
		newCase("GrantWakesTheNext", "Waiting", pubsub, grantWakes),
		newCase("ManyWaitForAllAtOnce", "Waiting", pubsub, manyAtOnce),
		newCase("ReleaseUnderADoneContext", "GivingBack", nil, releaseDone),
		newCase("CancelledAcquireComesBack", "GivingBack", faults, cancelledComesBack),
		newCase("KeepsItsLife", "Counts", nil, keepsItsLife),
		newCase("IsMadeByTheFirst", "Counts", pubsub, isMadeByTheFirst),
		newCase("IsMadeOnce", "Limit", nil, isMadeOnce),
		newCase("PollFindsItGone", "Waiting", nil, pollFindsItGone),
	}
}

func newCase(
	name, clause string, needs []harness.Need, run func(context.Context, *harness.Env),
) harness.Case {
	return harness.NewCase(Promises, "Semaphore"+name, "Semaphore."+clause, needs, run)
}

// waitFor lets waiters for n permits each wait on one client each, and returns when they are parked.
func waitFor(
	ctx context.Context, e *harness.Env, clients []*primitives.Client, name string, n ...int,
) []<-chan error {
	waiting := make([]<-chan error, len(n))
	for i := range n {
		s := clients[i].NewSemaphore(name, nil)
		waiting[i] = must.Beside(func() { must.Do(s.Acquire(ctx, n[i])) })
	}
	e.AwaitSubscribers(ctx, "redisson_sc:"+name, int64(len(n)))
	return waiting
}

// wakesWhoFits has a waiter for five before one for one, on two clients and on one.
func wakesWhoFits(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	for i, other := range []*primitives.Client{clients[1], clients[0]} {
		s := clients[2].NewSemaphore(e.Key(fmt.Sprint("permits", i)), nil)
		must.Get(s.TrySetPermits(ctx, 0))
		waiting := waitFor(ctx, e, clients, s.Name(), 5)
		one := must.Beside(func() { must.Do(other.NewSemaphore(s.Name(), nil).Acquire(ctx, 1)) })
		must.Do(s.Release(ctx, 1))
		harness.Finish("the waiter for one", one)
		harness.NotYet("the waiter for five", waiting[0])
		must.Do(s.Release(ctx, 5))
		harness.Finish("the waiter for five", waiting[0])
		must.Return("AvailablePermits", 0)(s.AvailablePermits(ctx))
	}
}

func wakesAllWhoFit(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	s := clients[0].NewSemaphore(e.Key("permits"), nil)
	for name, release := range map[string]func(context.Context, int) error{
		"Release": s.Release, "AddPermits": s.AddPermits,
	} {
		waiting := waitFor(ctx, e, clients, s.Name(), 1, 2, 3)
		must.Do(release(ctx, 6))
		for _, done := range waiting {
			harness.Finish("a waiter after "+name, done)
		}
	}
	e.WantText(ctx, s.Name(), "0")
}

// grantWakes publishes less than there is: the rest is passed on by those that are granted.
func grantWakes(ctx context.Context, e *harness.Env) {
	c := engine.Clients(ctx, e, 1)[0]
	name := e.Key("permits")
	waiting := make([]<-chan error, 3)
	for i := range waiting {
		waiting[i] = must.Beside(func() { must.Do(c.NewSemaphore(name, nil).Acquire(ctx, 1)) })
	}
	e.AwaitSubscribers(ctx, "redisson_sc:"+name, 1)
	e.Command(ctx, "INCRBY", name, "3")
	e.Publish(ctx, "redisson_sc:"+name, "1")
	for _, done := range waiting {
		harness.Finish("a waiter", done)
	}
}

// manyAtOnce: single permits that come and go do not help a waiter for three, but three that are free
// at once do.
func manyAtOnce(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	s := clients[1].NewSemaphore(e.Key("permits"), nil)
	waiting := waitFor(ctx, e, clients, s.Name(), 3)[0]
	for range 10 {
		must.Do(s.Release(ctx, 2))
		must.Do(s.Acquire(ctx, 2))
		harness.NotYet("the waiter", waiting)
	}
	must.Do(s.Release(ctx, 2))
	must.Do(s.Release(ctx, 1))
	harness.Finish("the waiter", waiting)
}

func releaseDone(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	s := c.NewSemaphore(e.Key("permits"), nil)
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Release(done, 2); err != nil { // The answer may come at once.
		must.Wrap(err, backend.ErrIndeterminate, context.Canceled)
	}
	must.Wrap(s.Acquire(done, 1), context.Canceled)
	harness.Eventually(ctx, "the release", func() bool { return must.Get(s.AvailablePermits(ctx)) == 2 })
}

// cancelledComesBack gives up while the script is on its way: what it takes comes back.
func cancelledComesBack(ctx context.Context, e *harness.Env) {
	c, in := engine.NewClient(ctx, e, nil)
	s := c.NewSemaphore(e.Key("permits"), nil)
	must.Do(s.Release(ctx, 3))
	must.Do(s.Acquire(ctx, 1))
	must.Do(s.Release(ctx, 1))
	in.Link.Delay(300 * time.Millisecond)
	for left, take := range map[string]func(context.Context) error{
		"1": func(ctx context.Context) error { return s.Acquire(ctx, 2) },
		"2": func(ctx context.Context) error { return s.TryAcquire(ctx, 1) },
		"0": func(ctx context.Context) error { _, err := s.DrainPermits(ctx); return err },
	} {
		leaveInFlight(ctx, take)
		for _, text := range []string{left, "3"} {
			harness.Eventually(ctx, text+" to be free", func() bool {
				return harness.Same(e.Command(ctx, "GET", s.Name()), backend.StringReply(text))
			})
		}
	}
}

// leaveInFlight gives up take while it is under way. A driver that has to connect first may not have
// sent it by then; then it tries again.
func leaveInFlight(ctx context.Context, take func(context.Context) error) {
	for {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		err := take(short)
		cancel()
		must.Wrap(err, context.DeadlineExceeded)
		must.Do(ctx.Err())
		if errors.Is(err, backend.ErrIndeterminate) {
			return
		}
	}
}

// keepsItsLife: the end that it was made with stays, whatever is taken and released.
func keepsItsLife(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	s := c.NewSemaphore(e.Key("permits"), &primitives.SemaphoreOptions{TTL: time.Hour})
	must.Get(s.TrySetPermits(ctx, 5))
	must.Do(s.Acquire(ctx, 1))
	must.Do(s.Release(ctx, 1))
	must.Do(s.AddPermits(ctx, -1))
	must.Get(s.DrainPermits(ctx))
	livesForAnHour(ctx, s)
	short := c.NewSemaphore("x", &primitives.SemaphoreOptions{TTL: time.Microsecond})
	must.If(!errors.As(short.Acquire(ctx, 1), new(*primitives.FieldError)), "a life of a microsecond is taken")
}

// livesForAnHour fails if that is not what is left.
func livesForAnHour(ctx context.Context, s *primitives.Semaphore) {
	left := must.Get(s.RemainingTTL(ctx))
	must.If(left <= time.Hour-harness.Patience || left > time.Hour, "it lives for %v, want about an hour", left)
}

// isMadeByTheFirst: an Acquire with Permits makes the semaphore with its life, and wakes those who waited
// for it without Permits. Release makes none.
func isMadeByTheFirst(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	s := clients[1].NewSemaphore(e.Key("permits"), &primitives.SemaphoreOptions{Permits: 3, TTL: time.Hour})
	must.Do(s.Release(ctx, 1))
	must.Return("Exists", false)(s.Exists(ctx))
	waiting := waitFor(ctx, e, clients, s.Name(), 1)
	must.Do(s.Acquire(ctx, 1))
	harness.Finish("the waiter", waiting[0])
	must.Return("AvailablePermits", 1)(s.AvailablePermits(ctx))
	livesForAnHour(ctx, s)
	must.Refuse[struct{}]("TryAcquire", primitives.ErrNotAcquired)(struct{}{}, s.TryAcquire(ctx, 2))
	must.Do(s.Release(ctx, 1))
	must.Return("AvailablePermits", 2)(s.AvailablePermits(ctx))
	must.Get(s.Delete(ctx))
	must.Do(s.TryAcquire(ctx, 3))
	must.Return("AvailablePermits", 0)(s.AvailablePermits(ctx))
	negative := clients[0].NewSemaphore(s.Name(), &primitives.SemaphoreOptions{Permits: -1})
	engine.WantField(negative.Release(ctx, 1), "Permits")
}

// isMadeOnce has many try at once, on several clients, to be the first.
func isMadeOnce(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	var taken atomic.Int64
	must.Together(12, func(i int) {
		s := clients[i%len(clients)].NewSemaphore(e.Key("permits"), &primitives.SemaphoreOptions{Permits: 4})
		if err := s.TryAcquire(ctx, 1); err != nil {
			must.Wrap(err, primitives.ErrNotAcquired)
			return
		}
		taken.Add(1)
	})
	must.If(taken.Load() != 4, "%d of 4 permits were taken", taken.Load())
	e.WantText(ctx, e.Key("permits"), "0")
}

// pollFindsItGone has one wait who makes no semaphore, and behind it one who does. Another program deletes
// the semaphore without a message.
func pollFindsItGone(ctx context.Context, e *harness.Env) {
	c, counted, _ := engine.CountedClient(ctx, e, &primitives.Options{PollInterval: 500 * time.Millisecond})
	name := e.Key("permits")
	e.Command(ctx, "SET", name, "0")
	var waiting []<-chan error
	for _, o := range []*primitives.SemaphoreOptions{nil, {Permits: 1}} {
		looks := counted.Ended.Load() + 3 // Of both: the first ones, and polls.
		waiting = append(waiting, must.Beside(func() { must.Do(c.NewSemaphore(name, o).Acquire(ctx, 1)) }))
		harness.Eventually(ctx, "it to have looked", func() bool { return counted.Ended.Load() >= looks })
	}
	e.Command(ctx, "DEL", name)
	harness.Finish("the one who makes it", waiting[1])
	harness.NotYet("the other", waiting[0])
	must.Do(c.NewSemaphore(name, nil).Release(ctx, 1))
	harness.Finish("the other", waiting[0])
}
