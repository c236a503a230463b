package semaphore

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about the making of a semaphore.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "SemaphoreIsMadeByTheFirst", "Semaphore.Counts", []harness.Need{harness.PubSub}, isMadeByTheFirst),
		harness.NewCase(Promises, "SemaphorePollFindsItGone", "Semaphore.Waiting", nil, pollFindsItGone),
	}
}

// livesForAnHour fails unless the semaphore lives for about an hour.
func livesForAnHour(ctx context.Context, s *primitives.Semaphore) {
	left := must.Get(s.TTL(ctx))
	must.Not(left <= time.Hour-harness.Patience || left > time.Hour, "it lives for %v, want about an hour", left)
}

// isMadeByTheFirst has an Acquire with Permits make the semaphore with its TTL, which wakes a waiter without
// Permits. Release makes no semaphore if there are Permits, and InitPermits makes one with the TTL, too.
func isMadeByTheFirst(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	s := clients[1].NewSemaphore(e.Key("permits"), &primitives.SemaphoreOptions{Permits: 3, TTL: time.Hour})
	must.Do(s.Release(ctx, 1))
	must.Return("Exists", false)(s.Exists(ctx))
	waiting := must.Start(func() { must.Do(clients[0].NewSemaphore(s.Name(), nil).Acquire(ctx, 1)) })
	e.AwaitSubscribers(ctx, "redisson_sc:"+s.Name(), 1)
	must.Do(s.Acquire(ctx, 1))
	harness.Finish("the waiter", waiting)
	must.Return("AvailablePermits", 1)(s.AvailablePermits(ctx))
	livesForAnHour(ctx, s)
	must.Refuse[struct{}]("TryAcquire", primitives.ErrNotAcquired)(struct{}{}, s.TryAcquire(ctx, 2))
	must.Do(s.Release(ctx, 1))
	must.Return("AvailablePermits", 2)(s.AvailablePermits(ctx))
	must.Get(s.Delete(ctx))
	must.Do(s.TryAcquire(ctx, 3))
	must.Return("AvailablePermits", 0)(s.AvailablePermits(ctx))
	must.Get(s.Delete(ctx))
	must.Return("InitPermits", true)(s.InitPermits(ctx, 5))
	livesForAnHour(ctx, s)
	short := clients[0].NewSemaphore(s.Name(), &primitives.SemaphoreOptions{TTL: time.Microsecond})
	engine.WantField(short.Acquire(ctx, 1), "TTL")
	negative := clients[0].NewSemaphore(s.Name(), &primitives.SemaphoreOptions{Permits: -1})
	engine.WantField(negative.Release(ctx, 1), "Permits")
}

// pollFindsItGone has two callers wait: the first without, the second with the option Permits. Another program
// deletes the semaphore without a message.
func pollFindsItGone(ctx context.Context, e *harness.Env) {
	c, runs := engine.CountedClient(ctx, e, &primitives.Options{PollInterval: 500 * time.Millisecond})
	name := e.Key("permits")
	e.Command(ctx, "SET", name, "0")
	var waiting []<-chan error
	for _, o := range []*primitives.SemaphoreOptions{nil, {Permits: 1}} {
		looks := runs.Load() + 3 // Of both: the first ones, and polls.
		waiting = append(waiting, must.Start(func() { must.Do(c.NewSemaphore(name, o).Acquire(ctx, 1)) }))
		harness.Eventually(ctx, "it to have looked", func() bool { return runs.Load() >= looks })
	}
	e.Command(ctx, "DEL", name)
	harness.Finish("the second", waiting[1])
	harness.NotYet("the first", waiting[0])
	must.Do(c.NewSemaphore(name, nil).Release(ctx, 1))
	harness.Finish("the first", waiting[0])
}
