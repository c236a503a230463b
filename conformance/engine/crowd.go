package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// running is a crowd with its clients.
type running struct {
	*harness.Env
	crowd
	clients []*primitives.Client
	links   []harness.Link // of the clients, if they have any
	trials  []*trial       // one of each object
	reached *Situations

	// countUndecided is whether undecided histories are counted; else each is a failure.
	countUndecided bool

	mu     sync.Mutex
	struck time.Time     // when a fault that lasts began; zero: none lasts
	cost   time.Duration // how much longer everything may take for the faults that have ended
}

// start makes the crowd's clients and objects. No fault may strike meanwhile.
func (c crowd) start(ctx context.Context, e *harness.Env, reached *Situations) *running {
	r := &running{Env: e, crowd: c, reached: reached}
	for i, s := range c.Objects {
		log := history.New()
		r.trials = append(r.trials, &trial{
			running: r, schedule: s, number: i, bound: s.bound(c.Poll), log: log, watcher: log.Process(),
			object: e.Apart(fmt.Sprintf("%s%d.", s.work.name, i)), // No name is part of another.
			act:    s.act,
		})
	}
	o := &primitives.Options{WatchdogLease: c.Lease, PollInterval: c.Poll, CloseTimeout: time.Hour}
	for i := range c.Clients {
		client, in := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return r.over(b, i) })
		r.clients = append(r.clients, client)
		if in.Link != nil {
			r.links = append(r.links, in.Link)
		}
	}
	for _, t := range r.trials {
		t.work.prepare(ctx, e, t.object)
	}
	return r
}

// over returns the backend of a client: b behind the client's troubles, and watched.
func (r *running) over(b backend.Backend, client int) backend.Backend {
	link := &troubled{Backend: b, reach: r.reached.add, plans: map[string]*troubles{}}
	for _, t := range r.trials {
		t.ways = append(t.ways, link)
		if client < len(t.Links) {
			plan := t.Links[client]
			link.plans[t.object] = &plan
		}
	}
	seen := inBatches(&seer{inBatches(link, r.Batches), r.sees}, r.Batches)
	return inBatches(newWatched(seen, r.reached.add), r.Batches)
}

// sees records an attempt without an answer that a call may go on after, in its object's history.
func (r *running) sees(c backend.Call) (answered func(backend.Outcome)) {
	i := slices.IndexFunc(r.trials, func(t *trial) bool { return strings.Contains(c.Keys[0], t.object) })
	if i < 0 {
		return func(backend.Outcome) {}
	}
	t := r.trials[i]
	in, out, ok := t.work.doubtful(c)
	since := t.log.Now()
	return func(o backend.Outcome) {
		if !backend.MayHaveRun(o.Err) {
			return
		}
		t.unanswered.Store(true)
		if ok {
			t.log.Since(since, in, out)
		}
	}
}

// run lets all actors act on all objects, and checks what happened to each.
func (r *running) run(ctx context.Context) {
	must.Together(len(r.trials), func(i int) {
		w := r.Objects[i].work
		if err := must.Catch(func() { r.trials[i].run(ctx) }); err != nil {
			must.Fail("object %d: %w\n%s\nclause %s:\n%s", i, err, r.describe(i), w.clause, w.text)
		}
	})
}

// The names of what becomes of histories.
const (
	checkedHistories   = "checked histories"
	undecidedHistories = "undecided histories"
)

// judge counts a history. It returns what a check of it found, but for what is not a failure.
func (r *running) judge(found error) error {
	switch {
	case found == nil:
		r.reached.add(checkedHistories)
	case r.countUndecided && errors.Is(found, history.ErrUndecided):
		r.reached.add(undecidedHistories)
		return nil
	}
	return found
}

// lapses reports whether a fault may take holds from the crowd that their holders believe in: a step
// of the clock ends leases that are shorter than the fault is for.
func (r *running) lapses(f fault) bool { return f.forgets || f.steps && r.Lease < f.lease }

// suffers takes into account that a fault begins.
func (r *running) suffers(f fault) {
	for _, t := range r.trials {
		if r.lapses(f) {
			t.note(t.work.lapse)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.struck = time.Now()
}

// afterFaults is what all faults together cost after their ends, beyond what a schedule is allowed
// in any case: pauses before clients connect again. It is no more for more of them, or a waiter
// that is stuck would be given time for ever.
const afterFaults = 15 * time.Second

// recovers takes into account that a fault has ended.
func (r *running) recovers(f fault) {
	for _, t := range r.trials {
		if r.lapses(f) {
			t.note(t.work.recovery)
		}
		t.survived.Store(&f.name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cost == 0 {
		r.cost = afterFaults
	}
	r.cost += time.Since(r.struck)
	r.struck = time.Time{}
}

// delay returns how much longer everything may take for the faults so far.
func (r *running) delay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.struck.IsZero() {
		return r.cost
	}
	return r.cost + time.Since(r.struck)
}
