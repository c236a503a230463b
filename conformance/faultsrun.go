package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/primitives"
)

// siege is a steady workload of two clients, with three workers each, on one object, while a fault
// is made again and again. The first client's link is the one that faults of links hit.
type siege struct {
	*env
	fault   fault
	work    Workload
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
	take           func(context.Context, Step) error
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
func checkFault(ctx context.Context, e *env, w Workload, f fault) error {
	s, err := newSiege(ctx, e, w, f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	err = s.rounds(ctx)
	s.stopped.Store(true)
	select {
	case workErr := <-ended:
		err = errors.Join(err, workErr)
	case <-time.After(f.bound):
		err = errors.Join(err, fmt.Errorf("a worker still waits %v after the others have left", f.bound))
		cancel()
		<-ended
	}
	picture := filepath.Join(os.TempDir(), "hasp-"+w.Name+f.name+"-"+e.tag+".html")
	return errors.Join(err, s.log.Check(w.Model(), &history.CheckOptions{Picture: picture}))
}

func newSiege(ctx context.Context, e *env, w Workload, f fault) (*siege, error) {
	s := &siege{env: e, fault: f, work: w, log: history.New()}
	s.watcher = s.log.Process()
	s.scene = &scene{Harness: e.Harness, key: e.key(w.Name), reach: func(string) {}}
	o := &primitives.Options{WatchdogLease: f.lease, PollInterval: longPoll}
	if !e.Capabilities.PubSub {
		o.PollInterval = time.Second
	}
	var clients [2]*primitives.Client
	for i := range clients {
		c, in, err := e.clientOver(ctx, o, func(b backend.Backend) backend.Backend {
			return w.witnessed(b, s.log)
		})
		if err != nil {
			return nil, err
		}
		clients[i] = c
		if i == 0 && in.Link != nil {
			s.scene.links = []Link{in.Link}
		}
	}
	for i := range 6 {
		s.workers = append(s.workers, s.worker(i, clients[i%2]))
	}
	if w.Prepare == nil {
		return s, nil
	}
	return s, w.Prepare(ctx, clients[0], s.scene.key)
}

func (s *siege) worker(number int, c *primitives.Client) *worker {
	k := &worker{siege: s, number: number, client: number % 2, orders: make(chan order, 1)}
	k.take = s.work.Actor(&Actor{
		Client: c, Object: s.scene.key, Log: s.log, Process: s.log.Process(), Reach: k.reached,
		Delete: func(context.Context) error { return errors.New("nothing is deleted under faults") },
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

// run lets all workers work until they are stopped, and returns what they found wrong.
func (s *siege) run(ctx context.Context) error {
	failed := make([]error, len(s.workers))
	var all sync.WaitGroup
	for i, k := range s.workers {
		all.Go(func() {
			if err := k.run(ctx); err != nil {
				failed[i] = fmt.Errorf("worker %d: %w", i, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (k *worker) run(ctx context.Context) error {
	for !k.stopped.Load() && ctx.Err() == nil {
		if k.order.granted == nil && !k.ordered() && k.idle[k.client].Load() {
			k.rests.Store(true)
			time.Sleep(time.Millisecond)
			continue
		}
		k.rests.Store(false)
		step := k.next()
		time.Sleep(step.Pause)
		if err := k.take(ctx, step); err != nil {
			return fmt.Errorf("%v: %w", step, err)
		}
	}
	return nil
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
	step := Step{Op: k.work.Waiting, Pause: random(5 * time.Millisecond), Hold: random(5 * time.Millisecond)}
	switch {
	case k.order.granted != nil:
		step.Hold = k.order.hold
	case k.mixed.Load():
		step.Op = k.work.Ops[rand.IntN(len(k.work.Ops))] //nolint:gosec // A schedule.
		step.N = rand.IntN(4)                            //nolint:gosec // A schedule.
		if rand.IntN(2) == 0 {                           //nolint:gosec // A schedule.
			step.Patience = random(60 * time.Millisecond)
		}
		if rand.IntN(16) == 0 { //nolint:gosec // A schedule.
			step.Hold += fixedLease
		}
	}
	if step.Op == "Delete" { // It publishes nothing.
		step.Op = k.work.Waiting
	}
	return step
}

// settle is what the others get to come to waiting, once a worker has the object.
const settle = 50 * time.Millisecond

// rounds makes the fault at the holder's client and at the waiters', while the object is kept
// for longer than the fault and while it is released in the midst of it, and among mixed work.
func (s *siege) rounds(ctx context.Context) error {
	within, beyond := s.fault.lasts/2+settle, max(s.fault.lasts+2*settle, s.fault.keep)
	if err := s.round(ctx, 0, beyond); err != nil {
		return fmt.Errorf("at the holder, who keeps the object: %w", err)
	}
	// A fault of the whole server is the same for both, and a long one is not repeated three times.
	if s.fault.lasts < time.Second && !s.fault.alone {
		if err := s.round(ctx, 0, within); err != nil {
			return fmt.Errorf("at the holder, who releases: %w", err)
		}
	}
	if s.fault.keep == 0 {
		if err := s.round(ctx, 1, within); err != nil {
			return fmt.Errorf("at the waiters: %w", err)
		}
	}
	if n := s.losses.Load(); n > 0 && !s.fault.loses && !s.fault.forgets {
		return fmt.Errorf("%d renewed leases of %v were lost", n, s.fault.lease)
	}
	if s.fault.calm {
		return nil
	}
	if err := s.mixedRound(ctx); err != nil {
		return fmt.Errorf("at mixed work: %w", err)
	}
	return nil
}

// round makes the fault while one worker of client holder keeps the object, its others rest, and
// those of the other client wait. After it these must get the object, with nobody else to make it
// busy, and then all.
func (s *siege) round(ctx context.Context, holder int, hold time.Duration) error {
	s.idle[holder].Store(true)
	defer s.idle[holder].Store(false)
	if err := s.rest(ctx, holder); err != nil {
		return err
	}
	o := order{hold: hold, granted: make(chan struct{})}
	s.workers[holder].orders <- o
	select {
	case <-o.granted:
	case <-ctx.Done():
		return fmt.Errorf("before the fault: %w", ctx.Err())
	}
	time.Sleep(settle)
	if err := s.strike(ctx); err != nil {
		return err
	}
	if err := s.goesOn(ctx, 1-holder); err != nil {
		return err
	}
	s.idle[holder].Store(false)
	return s.goesOn(ctx, holder)
}

// rest waits until the workers of a client have ended their steps.
func (s *siege) rest(ctx context.Context, client int) error {
	return eventually(ctx, "the workers before the fault", func() (bool, error) {
		for _, k := range s.workers {
			if k.client == client && !k.rests.Load() {
				return false, nil
			}
		}
		return true, nil
	})
}

func (s *siege) mixedRound(ctx context.Context) error {
	s.mixed.Store(true)
	defer s.mixed.Store(false)
	time.Sleep(2 * settle)
	if err := s.strike(ctx); err != nil {
		return err
	}
	s.mixed.Store(false)
	return errors.Join(s.goesOn(ctx, 0), s.goesOn(ctx, 1))
}

// strike makes the fault, and records that the server may forget, if it may.
func (s *siege) strike(ctx context.Context) error {
	if s.fault.forgets {
		s.watcher.Call(s.work.Lapse).Return(nil)
		defer func() { s.watcher.Call(s.work.Recovery).Return(nil) }()
	}
	return s.fault.strike(ctx, s.scene)
}

// goesOn waits until every worker of a client has got the object once more.
func (s *siege) goesOn(ctx context.Context, client int) error {
	ctx, cancel := context.WithTimeout(ctx, s.fault.bound)
	defer cancel()
	before := make([]int64, len(s.workers))
	for i, k := range s.workers {
		before[i] = k.grants.Load()
	}
	for i, k := range s.workers {
		if k.client != client {
			continue
		}
		if err := eventually(ctx, "a grant", func() (bool, error) {
			return k.grants.Load() > before[i], nil
		}); err != nil {
			return fmt.Errorf("%v after the fault ended, worker %d of client %d has not got the object",
				s.fault.bound, k.number, client)
		}
	}
	return nil
}
