package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// siege is a trial of two clients, with three actors each, in whose midst a fault strikes. The first
// client's link is the one that faults of links hit. When the fault has ended, each actor must get
// the object once more, before the trial's time is over.
type siege struct {
	*trial
	fault fault
	where string

	// keeper is the actor that keeps the object while the fault strikes, for as long as hold. Those of
	// its client rest meanwhile, and those of the other client wait. Nobody: all do everything that
	// they can.
	keeper int
	hold   time.Duration

	kept, ended  chan struct{} // the object is, and the fault has
	warm, served atomic.Int32  // how many actors have had the object once, and waiters after the fault
}

// nobody keeps the object.
const nobody = -1

// settle is what the others get to come to waiting, once an actor has the object.
const settle = 50 * time.Millisecond

// sieges returns those of a case: with the fault at the holder's client and at the waiters', while the
// object is kept for longer than the fault and while it is released in the midst of it, and among
// mixed work.
func (f fault) sieges() (all []*siege) {
	within, beyond := f.lasts/2+settle, max(f.lasts+2*settle, f.keep)
	all = []*siege{{where: "at the holder, who keeps the object", keeper: 0, hold: beyond}}
	// A fault of the whole server is the same for both, and a long one is not repeated three times.
	if f.lasts < time.Second && !f.alone {
		all = append(all, &siege{where: "at the holder, who releases", keeper: 0, hold: within})
	}
	if f.keep == 0 {
		all = append(all, &siege{where: "at the waiters", keeper: 1, hold: within})
	}
	if !f.calm {
		all = append(all, &siege{where: "at mixed work", keeper: nobody})
	}
	return all
}

// besiege runs the sieges of a fault, one after the other, by the same clients.
func besiege(ctx context.Context, e *harness.Env, w *workload, f fault) {
	all := f.sieges()
	c := crowd{
		Clients: 2, Lease: f.lease, Poll: longPoll, Batches: true,
		Objects: slices.Repeat([]schedule{{work: w, Actors: make([][]Step, 6)}}, len(all)),
		Picture: filepath.Join(os.TempDir(), "hasp-"+w.name+f.name+"-"+e.Tag),
	}
	if !e.Capabilities.PubSub {
		c.Poll = time.Second
	}
	r := c.start(ctx, e, new(Situations))
	for i, s := range all {
		s.trial, s.fault = r.trials[i], f
		must.In(s.where, func() { s.run(ctx) })
	}
}

// besieged is what a siege may take beside the fault and its keeper. With what a fault costs it is
// less than longLease.
const besieged = 8 * time.Second

// run fails also if a lease was lost that need not be.
func (s *siege) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.act, s.bound = s.acts, besieged+s.hold
	s.kept, s.ended = make(chan struct{}), make(chan struct{})
	grants := s.reached.copy()["grant"] + len(s.Actors)
	struck := must.Beside(func() { s.strike(ctx, grants) })
	err := must.Catch(func() { s.trial.run(ctx) })
	cancel()
	must.Do(errors.Join(err, <-struck))
	lost := s.reached.copy()["loss"]
	must.If(lost > 0 && s.keeper != nobody && !s.fault.loses && !s.fault.forgets,
		"%d renewed leases of %v were lost", lost, s.Lease)
}

// strike makes the fault, when there are more than so many grants.
func (s *siege) strike(ctx context.Context, grants int) {
	defer close(s.ended)
	harness.Eventually(ctx, "the grant before the fault", func() bool { return s.reached.copy()["grant"] > grants })
	close(s.kept)
	time.Sleep(settle)
	at := &scene{Harness: s.Harness, key: s.work.key(s.object), reach: s.reached.add}
	if len(s.links) > 0 {
		at.links = s.links[:1]
	}
	s.fault.strike(ctx, at, s.running)
}

// acts lets an actor act until it has got the object after the fault. Before all else each gets it
// once: a client that has not subscribed yet polls early, which would hide that it misses a message.
func (s *siege) acts(ctx context.Context, actor int, take func(Step) bool) {
	s.gets(take, shortTime())
	s.warm.Add(1)
	awaitAll(ctx, "the actors before the fault", &s.warm, len(s.Actors))
	switch client, each := actor%s.Clients, len(s.Actors)/s.Clients; {
	case s.keeper == nobody:
		s.lasts(func() { take(s.anything()) })
		s.gets(take, shortTime())
	case client != s.keeper:
		harness.Await(ctx, "the grant before the fault", s.kept)
		s.lasts(func() { take(s.waits(shortTime())) })
		s.gets(take, shortTime())
		s.served.Add(1)
	default:
		if actor == s.keeper {
			s.gets(take, s.hold)
		}
		awaitAll(ctx, "the waiters", &s.served, each)
		s.gets(take, shortTime())
	}
}

// awaitAll waits until there are n of a kind of actors.
func awaitAll(ctx context.Context, which string, are *atomic.Int32, n int) {
	harness.Eventually(ctx, which, func() bool { return int(are.Load()) == n })
}

// lasts goes on with something until the fault has ended.
func (s *siege) lasts(something func()) {
	for !isClosed(s.ended) {
		something()
	}
}

// gets lets an actor take a step until it is granted the object.
func (s *siege) gets(take func(Step) bool, hold time.Duration) {
	for !take(s.waits(hold)) {
	}
}

// waits returns a step that waits for the object.
func (s *siege) waits(hold time.Duration) Step {
	return Step{Op: s.work.waiting, Pause: shortTime(), Hold: hold}
}

// anything draws a step of mixed work, which does not keep the object for long.
func (s *siege) anything() Step {
	step := drawStep(s.work.announced()).Example(rand.Int()) //nolint:gosec // A schedule.
	step.Hold %= workLease
	return step
}

// shortTime draws one.
func shortTime() time.Duration {
	return time.Millisecond + rand.N(5*time.Millisecond) //nolint:gosec // A schedule.
}
