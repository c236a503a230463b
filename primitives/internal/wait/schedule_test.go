package wait_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// TestWaitNeverLeavesAFreeLock runs random schedules of waiters that are cancelled, fail, lose
// requests and replies, fail to subscribe and miss messages, in virtual time. Whenever the lock stays free for longer
// than a wake-up takes while somebody waits, a wake-up was lost. In some schedules the first holder
// has died, so only the end of its lease frees the lock; in some no message arrives, and only
// polls help; in some a client takes itself for one of many. Otherwise polls are an hour apart.
func TestWaitNeverLeavesAFreeLock(t *testing.T) {
	t.Parallel()
	eachSeed(t, runSchedule)
}

// eachSeed runs many random schedules.
func eachSeed(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	schedules := 3000
	if testing.Short() {
		schedules = 300
	}
	for seed := range uint64(schedules) {
		synctest.Test(t, func(t *testing.T) { run(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runSchedule(t *testing.T, seed uint64) {
	t.Helper()
	s := newServer(seed)
	s.random, s.lossy = true, seed%4 == 2
	rng := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // A test's schedule.
	poll := hour
	if s.lossy {
		poll = 100 * time.Millisecond
	}
	if seed%4 == 3 {
		s.held, s.expires = true, time.Now().Add(time.Duration(rng.IntN(300))*time.Millisecond)
	}
	clients := []*wait.Waiters{s.client(t, poll), s.client(t, poll)}
	if seed%3 == 0 {
		clients[0].NoteCrowd("c", 100) // It tries up to 52 ms later.
	}
	var all sync.WaitGroup
	for range 12 {
		w, who := clients[rng.IntN(2)], drawWaiter(rng)
		all.Go(func() {
			ctx, cancel := who.begin(t.Context(), s)
			defer cancel()
			began := time.Now()
			if err := w.Wait(ctx, wakeOne("o"), s.attempt()); err != nil {
				return
			}
			s.checkIdle(t, began)
			time.Sleep(who.hold)
			s.release()
		})
	}
	start := time.Now()
	all.Wait()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the schedule took %s: a waiter was stuck", took)
	}
}

// randomWaiter is what one waiter of a random schedule does. Its times are multiples of 5 ms, so
// things happen at once.
type randomWaiter struct{ after, timeout, hold time.Duration }

func drawWaiter(rng *rand.Rand) randomWaiter {
	steps := func(n int) time.Duration { return time.Duration(rng.IntN(n)) * 5 * time.Millisecond }
	who := randomWaiter{after: steps(40), timeout: steps(80), hold: steps(8)}
	if rng.IntN(2) == 0 {
		who.timeout = hour / 2
	}
	return who
}

// begin returns when it is time, with the context of the waiting.
func (who randomWaiter) begin(
	ctx context.Context, s *server,
) (context.Context, context.CancelFunc) {
	time.Sleep(who.after)
	ctx, cancel := context.WithTimeout(ctx, who.timeout)
	s.set(func() { s.leavers = append(s.leavers, cancel) })
	return ctx, cancel
}

// TestWaitNeverLeavesFreeUnits is the same for objects of several units, of which waiters need one or
// many, and of which each release publishes how many are free. In every other schedule nobody gives back
// what he got: the units come in a few large lots, so no later release covers up a lost wake-up,
// and sometimes somebody waits on each client for more than there ever is.
func TestWaitNeverLeavesFreeUnits(t *testing.T) {
	t.Parallel()
	eachSeed(t, runUnits)
}

func runUnits(t *testing.T, seed uint64) {
	t.Helper()
	p := &pool{server: newServer(seed), free: 5}
	p.random = true
	rng := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // A test's schedule.
	lots := seed%2 == 1
	if lots {
		p.free = 0
	}
	sum := 0
	clients := []*wait.Waiters{p.client(t, hour), p.client(t, hour)}
	var all sync.WaitGroup
	for range 12 {
		w, who, need := clients[rng.IntN(2)], drawWaiter(rng), 1+max(0, rng.IntN(8)-3)
		sum += need
		all.Go(func() {
			ctx, cancel := who.begin(t.Context(), p.server)
			defer cancel()
			if w.Wait(ctx, p.wants(need), units{p, need}) == nil && !lots {
				time.Sleep(who.hold)
				p.give(need)
			}
		})
	}
	if seed%4 == 1 {
		stop := p.waitInVain(t.Context(), clients)
		defer stop()
	}
	for lots && sum > 0 {
		lot := min(sum, 1+rng.IntN(30))
		sum -= lot
		after := time.Duration(rng.IntN(80)) * 5 * time.Millisecond
		all.Go(func() { time.Sleep(after); p.give(lot) })
	}
	start := time.Now()
	all.Wait()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the schedule took %s: a waiter was stuck", took)
	}
}

// waitInVain waits on each client for more units than there ever are, until stop is called.
func (p *pool) waitInVain(ctx context.Context, clients []*wait.Waiters) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	for _, w := range clients {
		go func() { _ = w.Wait(ctx, p.wants(1000), units{p, 1000}) }()
	}
	return stop
}
