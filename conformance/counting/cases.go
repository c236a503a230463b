package counting

import (
	"context"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases returns the cases that do not follow from the declaration. Refresh sends the script of renewals:
// TestCountingSemaphoreRefresh and others of hasptest/primitives judge what it does for its holder.
func (o order) cases(promises map[string]string, name string) []harness.Case {
	if !o.queues() {
		return nil
	}
	return []harness.Case{
		harness.NewCase(promises, name+"TryAcquirePassesNobody", name+".Waiting", nil, o.passesNobody),
		harness.NewCase(promises, name+"GoesOnWithoutItsCounter", name+".Waiting", nil, o.goesOnWithoutItsCounter),
	}
}

// lasting asks for leases that are not renewed, and that last longer than any case.
func lasting(limit int64) lock.In { return lock.In{Op: lock.Acquire, Fixed: time.Hour, Limit: limit} }

// passesNobody tries while there is room, and another owner waits for it.
func (o order) passesNobody(ctx context.Context, e *harness.Env) {
	name := e.Key("object")
	s := o.of(engine.Clients(ctx, e, 1)[0], name, lasting(3))
	e.Command(ctx, "ZADD", name, strconv.FormatInt(-farOff, 10), "waits")
	e.Command(ctx, "ZADD", queueKey(name), "7", "waits")
	must.Refuse[*primitives.Lease]("trying", primitives.ErrNotAcquired)(s.TryAcquire(ctx))
	must.Not(must.Get(e.Command(ctx, "ZCARD", queueKey(name)).Int()) != 1, "a try is queued")
	e.Command(ctx, "ZADD", name, "-1", "waits") // Its place has ended.
	must.Do(must.Get(s.TryAcquire(ctx)).Release(ctx))
	must.Not(must.Get(e.Command(ctx, "EXISTS", name, queueKey(name)).Int()) != 0, "a place that has ended is still there")
	e.Command(ctx, "ZADD", name, "-1", "waited") // The queue has ended with all its waiters.
	must.Do(must.Get(s.TryAcquire(ctx)).Release(ctx))
	must.Not(must.Get(e.Command(ctx, "EXISTS", name).Int()) != 0, "a waiter whose queue has ended is still there")
}

// awaitQueue waits until n are in the queue.
func (o order) awaitQueue(ctx context.Context, e *harness.Env, name string, n int) {
	harness.Eventually(ctx, "the waiters", func() bool {
		return must.Get(e.Command(ctx, "ZCARD", queueKey(name)).Int()) == int64(n)
	})
}

// goesOnWithoutItsCounter loses the counter while two wait: a later waiter stays behind both.
func (o order) goesOnWithoutItsCounter(ctx context.Context, e *harness.Env) {
	clients, name := engine.Clients(ctx, e, 4), e.Key("object")
	held := must.Get(o.of(clients[0], name, lasting(1)).TryAcquire(ctx))
	var all []<-chan error
	came := make(chan int, 3)
	for i, c := range clients[1:] {
		all = append(all, must.Start(func() {
			lease := must.Get(o.of(c, name, lasting(1)).Acquire(ctx))
			came <- i
			must.Do(lease.Release(ctx))
		}))
		o.awaitQueue(ctx, e, name, i+1)
		if i == 1 {
			e.Command(ctx, "DEL", engine.SideName("", name)+":counter")
		}
	}
	must.Do(held.Release(ctx))
	for i, done := range all {
		harness.Finish("a waiter", done)
		must.Not(<-came != i, "a later one came before waiter %d", i)
	}
}
