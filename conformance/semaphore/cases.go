package semaphore

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about waiters for several permits, and about the making of a semaphore.
func cases() []harness.Case {
	pubsub := []harness.Need{harness.PubSub}
	return []harness.Case{
		newCase("WakesWhoFits", "Waiting", pubsub, wakesWhoFits),
		newCase("WakesAllWhoFit", "Waiting", pubsub, wakesAllWhoFit),
		newCase("IsMadeByTheFirst", "Counts", pubsub, isMadeByTheFirst),
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

// livesForAnHour fails unless the semaphore lives for about an hour.
func livesForAnHour(ctx context.Context, s *primitives.Semaphore) {
	left := must.Get(s.RemainingTTL(ctx))
	must.If(left <= time.Hour-harness.Patience || left > time.Hour, "it lives for %v, want about an hour", left)
}

// isMadeByTheFirst has an Acquire with Permits make the semaphore with its TTL, which wakes a waiter without
// Permits. Release makes no semaphore if there are Permits, and TrySetPermits makes one with the TTL, too.
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
	must.Get(s.Delete(ctx))
	must.Return("TrySetPermits", true)(s.TrySetPermits(ctx, 5))
	livesForAnHour(ctx, s)
	short := clients[0].NewSemaphore(s.Name(), &primitives.SemaphoreOptions{TTL: time.Microsecond})
	engine.WantField(short.Acquire(ctx, 1), "TTL")
	negative := clients[0].NewSemaphore(s.Name(), &primitives.SemaphoreOptions{Permits: -1})
	engine.WantField(negative.Release(ctx, 1), "Permits")
}

// pollFindsItGone has two callers wait: the first without, the second with the option Permits. Another program
// deletes the semaphore without a message.
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
	harness.Finish("the second", waiting[1])
	harness.NotYet("the first", waiting[0])
	must.Do(c.NewSemaphore(name, nil).Release(ctx, 1))
	harness.Finish("the first", waiting[0])
}
