package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// siege is a steady workload of two clients, with three workers each, on one object, while a fault
// is made again and again. The first client's link is the one that faults of links hit.
type siege struct {
	*harness.Env
	fault   fault
	work    *workload
	scene   *scene
	log     *history.Log
	watcher *history.Process // records lapses
	workers []*worker
	losses  atomic.Int64

	mixed   atomic.Bool    // the workers do everything that they can; else they wait
	idle    [2]atomic.Bool // the workers of a client take no further step without an order
	stopped atomic.Bool
}

// worker is one actor of a siege.
type worker struct {
	*siege
	number, client int
	take           func(context.Context, Step)
	grants         atomic.Int64
	rests          atomic.Bool // it takes no step
	orders         chan order
	order          order // the one that it obeys, until it got the object
}

// order asks a worker to keep the object for a time, once.
type order struct {
	hold    time.Duration
	granted chan struct{}
}

// checkFault runs a workload under a fault. The history is checked also if work did not go on.
func checkFault(ctx context.Context, e *harness.Env, w *workload, f fault) {
	s := newSiege(ctx, e, w, f)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := must.Beside(func() { s.run(ctx) })
	err := must.Catch(func() { s.rounds(ctx) })
	s.stopped.Store(true)
	select {
	case workErr := <-ended:
		err = errors.Join(err, workErr)
	case <-time.After(f.bound):
		err = errors.Join(err, fmt.Errorf("a worker still waits %v after the others have left", f.bound))
		cancel()
		<-ended
	}
	picture := filepath.Join(os.TempDir(), "hasp-"+w.name+f.name+"-"+e.Tag+".html")
	must.Do(errors.Join(err, s.log.Check(w.model(), &history.CheckOptions{Picture: picture})))
}

func newSiege(ctx context.Context, e *harness.Env, w *workload, f fault) *siege {
	s := &siege{Env: e, fault: f, work: w, log: history.New()}
	s.watcher = s.log.Process()
	s.scene = &scene{Harness: e.Harness, key: e.Key(w.name), reach: func(string) {}}
	o := &primitives.Options{WatchdogLease: f.lease, PollInterval: longPoll}
	if !e.Capabilities.PubSub {
		o.PollInterval = time.Second
	}
	var clients [2]*primitives.Client
	for i := range clients {
		c, in := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return w.witnessed(b, s.log) })
		clients[i] = c
		if i == 0 && in.Link != nil {
			s.scene.links = []harness.Link{in.Link}
		}
	}
	for i := range 6 {
		s.workers = append(s.workers, s.worker(i, clients[i%2]))
	}
	w.prepare(ctx, e, s.scene.key)
	return s
}

func (s *siege) worker(number int, c *primitives.Client) *worker {
	k := &worker{siege: s, number: number, client: number % 2, orders: make(chan order, 1)}
	k.take = s.work.actor(&actor{
		client: c, object: s.scene.key, log: s.log, process: s.log.Process(), reach: k.reached,
	})
	return k
}

// reached notes what the worker got into.
func (k *worker) reached(situation string) {
	switch situation {
	case "grant":
		k.grants.Add(1)
		if k.order.granted != nil {
			close(k.order.granted)
			k.order = order{}
		}
	case "loss":
		k.losses.Add(1)
	}
}

// run lets all workers work until they are stopped, and fails with what they found wrong.
func (s *siege) run(ctx context.Context) {
	must.Together(len(s.workers), func(i int) {
		must.In(fmt.Sprint("worker ", i), func() { s.workers[i].run(ctx) })
	})
}

func (k *worker) run(ctx context.Context) {
	for !k.stopped.Load() && ctx.Err() == nil {
		if k.order.granted == nil && !k.ordered() && k.idle[k.client].Load() {
			k.rests.Store(true)
			time.Sleep(time.Millisecond)
			continue
		}
		k.rests.Store(false)
		step := k.next()
		time.Sleep(step.Pause)
		must.In(step.String(), func() { k.take(ctx, step) })
	}
}

// ordered reports whether the worker has got an order.
func (k *worker) ordered() bool {
	select {
	case k.order = <-k.orders:
		return true
	default:
		return false
	}
}

// next draws the worker's next step.
func (k *worker) next() Step {
	random := func(most time.Duration) time.Duration {
		return rand.N(most) + time.Millisecond //nolint:gosec // A schedule.
	}
	step := Step{Op: k.work.waiting, Pause: random(5 * time.Millisecond), Hold: random(5 * time.Millisecond)}
	switch {
	case k.order.granted != nil:
		step.Hold = k.order.hold
	case k.mixed.Load():
		step.Op = k.work.ops[rand.IntN(len(k.work.ops))] //nolint:gosec // A schedule.
		step.N = rand.IntN(6)                            //nolint:gosec // A schedule.
		step.Flag = rand.IntN(4) == 0                    //nolint:gosec // A schedule.
		if rand.IntN(2) == 0 {                           //nolint:gosec // A schedule.
			step.Patience = random(60 * time.Millisecond)
		}
		if rand.IntN(16) == 0 { //nolint:gosec // A schedule.
			step.Hold += fixedLease
		}
	}
	if step.Op == "delete" { // It publishes nothing.
		step.Op = k.work.waiting
	}
	return step
}

// settle is what the others get to come to waiting, once a worker has the object.
const settle = 50 * time.Millisecond

// rounds makes the fault at the holder's client and at the waiters', while the object is kept
// for longer than the fault and while it is released in the midst of it, and among mixed work.
func (s *siege) rounds(ctx context.Context) {
	within, beyond := s.fault.lasts/2+settle, max(s.fault.lasts+2*settle, s.fault.keep)
	must.In("at the holder, who keeps the object", func() { s.round(ctx, 0, beyond) })
	// A fault of the whole server is the same for both, and a long one is not repeated three times.
	if s.fault.lasts < time.Second && !s.fault.alone {
		must.In("at the holder, who releases", func() { s.round(ctx, 0, within) })
	}
	if s.fault.keep == 0 {
		must.In("at the waiters", func() { s.round(ctx, 1, within) })
	}
	n := s.losses.Load()
	must.If(n > 0 && !s.fault.loses && !s.fault.forgets, "%d renewed leases of %v were lost", n, s.fault.lease)
	if !s.fault.calm {
		must.In("at mixed work", func() { s.mixedRound(ctx) })
	}
}

// round makes the fault while one worker of client holder keeps the object, its others rest, and
// those of the other client wait. After it these must get the object, with nobody else to make it
// busy, and then all.
func (s *siege) round(ctx context.Context, holder int, hold time.Duration) {
	s.idle[holder].Store(true)
	defer s.idle[holder].Store(false)
	s.rest(ctx, holder)
	o := order{hold: hold, granted: make(chan struct{})}
	s.workers[holder].orders <- o
	harness.Await(ctx, "the grant before the fault", o.granted)
	time.Sleep(settle)
	s.strike(ctx)
	s.goesOn(ctx, 1-holder)
	s.idle[holder].Store(false)
	s.goesOn(ctx, holder)
}

// rest waits until the workers of a client have ended their steps.
func (s *siege) rest(ctx context.Context, client int) {
	harness.Eventually(ctx, "the workers before the fault", func() bool {
		return !slices.ContainsFunc(s.workers, func(k *worker) bool { return k.client == client && !k.rests.Load() })
	})
}

func (s *siege) mixedRound(ctx context.Context) {
	s.mixed.Store(true)
	defer s.mixed.Store(false)
	time.Sleep(2 * settle)
	s.strike(ctx)
	s.mixed.Store(false)
	s.goesOn(ctx, 0)
	s.goesOn(ctx, 1)
}

// strike makes the fault, and records that the server may forget, if it may.
func (s *siege) strike(ctx context.Context) {
	if s.fault.forgets {
		s.watcher.Call(s.work.lapse).Return(nil)
		defer func() { s.watcher.Call(s.work.recovery).Return(nil) }()
	}
	s.fault.strike(ctx, s.scene)
}

// goesOn waits until every worker of a client has got the object once more.
func (s *siege) goesOn(ctx context.Context, client int) {
	ctx, cancel := context.WithTimeout(ctx, s.fault.bound)
	defer cancel()
	before := make([]int64, len(s.workers))
	for i, k := range s.workers {
		before[i] = k.grants.Load()
	}
	for i, k := range s.workers {
		if k.client == client {
			harness.Eventually(ctx, fmt.Sprintf("worker %d of client %d to get the object within %v after the fault",
				k.number, client, s.fault.bound), func() bool { return k.grants.Load() > before[i] })
		}
	}
}
