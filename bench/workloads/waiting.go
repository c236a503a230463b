package workloads

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// waiting returns the workloads about the time from a release until its waiters have it.
func waiting() []benchmark.Workload {
	return []benchmark.Workload{
		{Name: "wake_up", Sizes: []int{1}, Unit: "waiters", Short: 1, Weight: 10, Rounds: 5, Subjects: on((*setup).wakeUp)},
		{Name: "latch", Sizes: []int{1000}, Unit: "waiters", Short: 1, Weight: 10, Rounds: 5, Subjects: on(latch)},
	}
}

// settled is how long one must wait before the release: it has subscribed by then, and its retries are slow.
const settled = 20 * time.Millisecond

// wakeUp has one client hold a lock, and another wait for it.
func (s *setup) wakeUp() (all []benchmark.Subject) {
	for _, c := range s.contenders() {
		all = append(all, benchmark.Subject{Name: c.name, Turn: s.wake(c.open(), c.open())})
	}
	return all
}

// wake is a turn of hand-overs from the one to the other and back, each from the call of the release on. It ends
// with a waiter that is stuck.
func (s *setup) wake(one, other benchmark.Lock) benchmark.Turn {
	return func(ctx context.Context) (o benchmark.Outcome, err error) {
		ctx, cancel := context.WithTimeout(ctx, 10*s.Turn+stuckAfter)
		defer cancel()
		unlock, err := one(ctx)
		if err != nil {
			return o, err
		}
		o.Other = map[string]float64{"stuck": 0}
		for end := time.Now().Add(10 * s.Turn); time.Now().Before(end); one, other = other, one {
			next, waited, err := wakeOne(ctx, unlock, other)
			switch {
			case ranOut(ctx, err):
				o.Other["stuck"] = 1
				return o, nil
			case err != nil:
				return o, err
			}
			o.Ops++
			o.Waits, unlock = append(o.Waits, waited), next
		}
		return o, leave(ctx, unlock)
	}
}

// wakeOne releases a lock for which another waits, and returns what releases the other's. If one of the two fails,
// it returns when both have ended, and nobody holds the lock.
func wakeOne(
	ctx context.Context, unlock func(context.Context) error, lock benchmark.Lock,
) (next func(context.Context) error, waited time.Duration, err error) {
	var at time.Time
	var failed error
	var waiter sync.WaitGroup
	waiter.Go(func() {
		next, failed = lock(ctx)
		at = time.Now()
	})
	time.Sleep(settled)
	released := time.Now()
	err = leave(ctx, unlock)
	waiter.Wait()
	if err != nil && failed == nil {
		failed = leave(ctx, next)
	}
	return next, at.Sub(released), errors.Join(err, failed)
}

// latchClients is how many clients the waiters at a latch are of.
const latchClients = 8

// latch has goroutines of several clients wait for a latch, which is counted down then.
func latch(s *setup) []benchmark.Subject {
	latches := make([]*primitives.CountDownLatch, latchClients)
	for i := range latches {
		latches[i] = s.client(true).NewCountDownLatch("shared")
	}
	return []benchmark.Subject{{Name: "CountDownLatch", Turn: func(ctx context.Context) (benchmark.Outcome, error) {
		return open(ctx, latches, s.Size)
	}}}
}

// open sets a latch, and opens it when all wait. It returns when all have ended.
func open(ctx context.Context, latches []*primitives.CountDownLatch, waiters int) (o benchmark.Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*settled+stuckAfter)
	defer cancel()
	if _, err = latches[0].InitCount(ctx, 1); err != nil {
		return o, err
	}
	ends, errs := make([]time.Time, waiters), make([]error, waiters)
	var waiting sync.WaitGroup
	for i := range waiters {
		waiting.Go(func() {
			errs[i] = latches[i%len(latches)].Wait(ctx)
			ends[i] = time.Now()
		})
	}
	time.Sleep(10 * settled) // All have subscribed by then; one that had not would count as woken at once.
	start := time.Now()
	if _, err = latches[0].CountDown(ctx); err != nil {
		cancel()
	}
	waiting.Wait()
	o = benchmark.Outcome{Ops: 1, Took: time.Since(start)}
	for _, end := range ends {
		o.Waits = append(o.Waits, end.Sub(start))
	}
	return o, errors.Join(append(errs, err)...)
}
