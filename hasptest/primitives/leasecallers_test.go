package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// run lets some callers use all locks.
func (w *traces) run(t *testing.T) {
	t.Helper()
	opts := &primitives.Options{WatchdogLease: w.lease, PollInterval: 5 * time.Second}
	clients := []*primitives.Client{w.server.client(t, opts), w.server.client(t, opts), w.server.over(t, batching{w.server}, opts)}
	var callers []*caller
	for range tracesEach {
		kind, fixed, replicas := w.rng.IntN(6), w.span()*time.Duration(w.rng.IntN(2)), max(0, w.rng.IntN(6)-3)
		if kind > 2 {
			kind = 0
		}
		if fixed > 0 {
			fixed = max(fixed, 100*time.Millisecond).Truncate(time.Millisecond)
		}
		l := w.newLife(replicas)
		for range 1 + w.rng.IntN(4) {
			lock := construct(t, clients[w.rng.IntN(len(clients))], []string{"Lock", "SpinLock", "FairLock"}[kind], l.key,
				settings{"Lease": fixed, "MaxDelay": 100 * time.Millisecond, "Replicas": replicas}).(primitives.Locker)
			c := &caller{life: l, rng: rand.New(rand.NewPCG(w.rng.Uint64(), 3)), lock: lock} //nolint:gosec // A test's schedule.
			callers = append(callers, c)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // A bug may let a release wait for ever.
	defer cancel()
	var all sync.WaitGroup
	for _, c := range callers {
		all.Go(func() { c.run(ctx) })
	}
	all.Go(func() { w.meddle(t, clients[0]) })
	all.Wait()
	time.Sleep(10 * time.Second) // No lease is longer.
	w.server.set(w.givenBack)
}

// givenBack fails if no release of a grant was ever sent.
func (w *traces) givenBack() {
	for _, l := range w.lives {
		for _, o := range l.of {
			if o.g > 0 && o.left == 0 {
				l.deviates(fmt.Sprintf("client %d keeps its grant", o.c))
			}
		}
	}
}

// batching is a server whose link takes batches. Each call has a fault of its own.
type batching struct{ *server }

// RunBatch implements backend.Batcher.
func (b batching) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			reply, err := b.Run(ctx, call.Script, call.Keys, call.Args)
			report(i, backend.Outcome{Reply: reply, Err: err})
		})
	}
	all.Wait()
}

// span draws a time that means something to a lease.
func (w *traces) span() time.Duration { return spanOf(w.rng, w.lease) }

func spanOf(rng *rand.Rand, lease time.Duration) time.Duration {
	near := time.Duration(rng.IntN(41)-20) * time.Millisecond
	return []time.Duration{lease/3 + near, lease - lease/10 + near, lease + near, 2*lease + near, 0}[rng.IntN(5)] +
		time.Duration(rng.IntN(60))*time.Millisecond + 7*time.Microsecond
}

// caller uses a lock again and again.
type caller struct {
	*life
	rng  *rand.Rand
	lock primitives.Locker
}

func (c *caller) run(ctx context.Context) {
	for range 1 + c.rng.IntN(3) {
		time.Sleep(spanOf(c.rng, c.traces.lease))
		limit := spanOf(c.rng, c.traces.lease) + time.Second
		if c.rng.IntN(4) == 0 { // Some leave before the answer.
			limit = time.Duration(c.rng.IntN(40)) * time.Millisecond
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		lock := c.lock.Lock
		if c.rng.IntN(3) == 0 {
			lock = c.lock.TryLock
		}
		if lease, err := lock(limited); err == nil {
			c.hold(ctx, lease)
		}
		cancel()
	}
}

// hold keeps a lease, works, and releases it. Now and then the process pauses, it re-enters the lock, or the context of
// the release ends.
func (c *caller) hold(ctx context.Context, lease *primitives.Lease) {
	o := c.took(lease)
	pause := spanOf(c.rng, c.traces.lease)
	for end := time.Now().Add(spanOf(c.rng, c.traces.lease)); ; {
		if !o.works(pause) || time.Now().After(end) {
			break
		}
		pause = time.Duration(c.rng.Int64N(int64(c.traces.lease / 5)))
		if c.rng.IntN(8) == 0 {
			if inner, err := c.lock.TryLock(lease.Reenter(ctx)); err == nil {
				_ = inner.Release(ctx)
			}
		}
	}
	c.server.set(func() { o.ending = true })
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.rng.IntN(200))*10*time.Millisecond)
	defer cancel()
	_ = lease.Release(ctx)
}

// meddle deletes keys, and sets the server's clock.
func (w *traces) meddle(t *testing.T, client *primitives.Client) {
	t.Helper()
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 4)) //nolint:gosec // A test's schedule.
	for range rng.IntN(6) {
		time.Sleep(spanOf(rng, w.lease))
		key := fmt.Sprintf("lock%d", rng.IntN(tracesEach))
		switch rng.IntN(4) {
		case 0:
			w.server.set(func() {
				w.server.do("DEL", key)
				w.lives[key].deleted()
			})
		case 1:
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = client.NewLock(key, nil).ForceUnlock(ctx)
			cancel()
		case 2:
			w.ahead(w.lease / 10)
		case 3:
			w.ahead(spanOf(rng, w.lease))
		}
	}
}

// ahead sets the server's clock forward.
func (w *traces) ahead(d time.Duration) {
	w.server.set(func() {
		w.server.embedded.Advance(d)
		for _, l := range w.lives {
			l.note("the server's clock is set forward by %v", d)
			for _, o := range l.of {
				o.gain += int64(d)
			}
			l.spec.setClock(l.spec.p.off + int64(d))
		}
	})
}

// acks makes two replicas lag, or fail to answer. A replica that answers has all earlier writes.
func (w *traces) acks(n int, timeout time.Duration) acks {
	if w.faults.IntN(6) == 0 {
		return acks{err: errors.New("EOF")}
	}
	a := acks{n: min(w.faults.IntN(10), 2), after: time.Duration(w.faults.IntN(10)) * time.Millisecond}
	if a.n < n {
		a.after = timeout
	}
	for _, l := range w.lives {
		if l.replicas <= a.n && l.spec.sync() {
			w.steps["sync"]++
		}
	}
	return a
}

// fault draws what a link does to a script.
func (w *traces) fault(string) fault {
	f := fault{
		before: time.Duration(w.faults.IntN(20)) * time.Millisecond,
		after:  time.Duration(w.faults.IntN(20)) * time.Millisecond,
	}
	switch w.faults.IntN(20) {
	case 0:
		f.broken = true
	case 1:
		f.lost = true
	case 2:
		f.before += spanOf(w.faults, w.lease)
	case 3:
		f.after += spanOf(w.faults, w.lease)
	case 4:
		f.early = true
	case 5:
		f.err = backend.ErrUnavailable
	}
	if w.crosses {
		f.err, f.after = backend.ErrCrossSlot, w.lease/4
	}
	return f
}
