package renew_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/lease"
)

// TestKeeperRandomSchedules watches leases over links that are slow and lose requests and replies, on
// a server on which keys are deleted, in virtual time. Whatever happens,
//
//   - nobody trusts a lease for longer than the server keeps it, less the clock drift
//   - a lease is lost when the last renewal that is known to have come through runs out, or when
//     the server says that it is not held, and neither before nor after
//   - a renewal is sent every third of a lease, and a tenth after one that failed
func TestKeeperRandomSchedules(t *testing.T) {
	t.Parallel()
	schedules := 1000
	if testing.Short() {
		schedules = 100
	}
	for seed := range uint64(schedules) {
		synctest.Test(t, func(t *testing.T) { newRandomWorld(t, seed).run() })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomWorld is a server with a random link, and what the exact model says of each lease.
type randomWorld struct {
	t      *testing.T
	rng    *rand.Rand // guarded by mu, like all below
	keeper *renew.Keeper

	mu     sync.Mutex
	leases map[string]*expectation
}

// expectation is what the model says of one lease.
type expectation struct {
	*randomWorld
	entry  renew.Entry
	server time.Time // until when the server keeps it; zero: it does not

	begun      time.Time
	granted    time.Time // zero: not yet
	validUntil time.Time // until when the holder may trust the lease
	sent       time.Time // when the request was sent that validUntil follows from
	tried      time.Time // when the last renewal ended; zero: none has
	trying     bool      // one is under way
	worked     bool      // the last renewal renewed
	gone       bool      // the loss was reported to the holder
}

func newRandomWorld(t *testing.T, seed uint64) *randomWorld {
	t.Helper()
	w := &randomWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		leases: map[string]*expectation{},
	}
	w.keeper = renew.NewKeeper(nil, new(atomic.Bool), zap.NewNop())
	return w
}

func (w *randomWorld) run() {
	var all sync.WaitGroup
	for i := range 5 {
		begin := w.upTo(time.Minute)
		all.Go(func() {
			time.Sleep(begin)
			w.watch(string(rune('a' + i)))
		})
	}
	all.Wait()
	w.keeper.Close()
	time.Sleep(time.Hour) // What is under way arrives.
}

func (w *randomWorld) upTo(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(most)))
}

func (w *randomWorld) chance(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n) == 0
}

// travel is one way of a script: mostly it takes a moment.
func (w *randomWorld) travel() {
	d := w.upTo(time.Second)
	if w.chance(6) {
		d += w.upTo(length)
	}
	time.Sleep(d)
}

// watch acquires a lease of its own, checks it for some time, and releases it.
func (w *randomWorld) watch(key string) {
	e := &expectation{randomWorld: w, begun: time.Now()}
	e.entry = renew.Entry{
		Key: key, Terms: &renew.Terms{Lease: length, ClockDrift: length / 10, Renewer: w}, OnLost: e,
	}
	w.mu.Lock()
	w.leases[key] = e
	w.mu.Unlock()
	w.keeper.Begin(&e.entry)
	w.travel()
	w.mu.Lock()
	e.server = time.Now().Add(length)
	w.mu.Unlock()
	w.travel()
	if !e.confirm() {
		return
	}
	deleted := w.chance(3)
	end, deletion := time.Now().Add(w.upTo(4*length)), time.Now().Add(w.upTo(4*length))
	for time.Now().Before(end) && e.check() {
		time.Sleep(w.upTo(length / 20))
		if deleted && time.Now().After(deletion) {
			e.change(func() { e.server = time.Time{} })
		}
	}
	if held := w.keeper.End(&e.entry); held != e.valid() {
		w.t.Errorf("End says %v at the end", held)
	}
	e.change(func() { e.gone = true })
}

func (e *expectation) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

// confirm is the arrival of the grant, which is good unless it is too late.
func (e *expectation) confirm() bool {
	now := time.Now()
	good := now.Before(e.begun.Add(length - length/10))
	e.change(func() {
		if e.granted = now; e.sent.IsZero() {
			e.sent = e.begun
		}
		e.validUntil = e.sent.Add(length - length/10)
		good = now.Before(e.validUntil)
	})
	if got := e.keeper.Confirm(&e.entry); got != good {
		e.t.Errorf("%v after it was sent the grant is confirmed: %v", now.Sub(e.begun), got)
	}
	return good
}

func (e *expectation) valid() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.gone && time.Now().Before(e.validUntil)
}

// check compares what the keeper says with the model, and reports whether the lease is held.
func (e *expectation) check() bool {
	remaining := e.keeper.Remaining(&e.entry)
	e.mu.Lock()
	defer e.mu.Unlock()
	want := max(0, time.Until(e.validUntil))
	if e.gone {
		want = 0
	}
	if remaining != want {
		e.t.Errorf("the keeper trusts it for %v, want %v", remaining, want)
	}
	// What was deleted it learns of by its next renewal.
	if left := time.Until(e.server) - length/10; !e.server.IsZero() && remaining > max(0, left) {
		e.t.Errorf("the keeper trusts it for %v, the server keeps it for %v more", remaining, left)
	}
	return remaining > 0
}

// HandleLoss implements [renew.LossHandler].
func (e *expectation) HandleLoss(*lease.LossError) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := time.Now(); !e.gone && now.Before(e.validUntil) {
		e.t.Errorf("lost %v too early", e.validUntil.Sub(now))
	} else if !e.trying {
		e.due(now)
	}
	e.gone = true
}

// Renew implements renew.Renewer.
func (w *randomWorld) Renew(
	ctx context.Context, _ backend.ScriptRunner, keys, _ []string, _ time.Duration,
) ([]batch.Status, error) {
	began := time.Now()
	replies := make(chan []batch.Status, 1)
	w.mu.Lock()
	for _, key := range keys {
		w.leases[key].due(began)
		w.leases[key].trying = true
	}
	w.mu.Unlock()
	lost := w.chance(8)
	go func() {
		w.travel()
		if statuses := w.renew(keys); !lost {
			w.travel()
			replies <- statuses
		}
	}()
	var statuses []batch.Status
	var err error
	select {
	case statuses = <-replies:
	case <-ctx.Done():
		err = backend.Indeterminate(ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, key := range keys {
		w.leases[key].answered(began, err == nil && statuses[i] == batch.Done,
			err == nil && statuses[i] == batch.NotHeld)
	}
	return statuses, err
}

// renew is what the server does.
func (w *randomWorld) renew(keys []string) []batch.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	statuses := make([]batch.Status, len(keys))
	for i, key := range keys {
		if e := w.leases[key]; time.Now().Before(e.server) {
			e.server, statuses[i] = time.Now().Add(length), batch.Done
		}
	}
	return statuses
}

// due checks that now it is not too late to send a renewal.
func (e *expectation) due(now time.Time) {
	latest := e.begun.Add(length / 3)
	if !e.sent.IsZero() {
		latest = e.sent.Add(length / 3)
	}
	if !e.tried.IsZero() && !e.worked {
		latest = e.tried.Add(length / 10)
	}
	if latest.Before(e.tried) {
		latest = e.tried
	}
	if now.After(latest) && !e.gone {
		e.t.Errorf("a renewal is %v late", now.Sub(latest))
	}
}

// answered notes what has become of a renewal.
func (e *expectation) answered(sent time.Time, renewed, notHeld bool) {
	now := time.Now()
	e.tried, e.trying, e.worked = now, false, renewed
	switch {
	case e.gone, !e.granted.IsZero() && !now.Before(e.validUntil):
	case renewed:
		e.sent = sent
		e.validUntil = sent.Add(length - length/10)
	case notHeld && !e.granted.IsZero() && sent.After(e.granted):
		e.validUntil = now
	}
}
