package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	*runner
	crowd
	clients []*primitives.Client
	links   []harness.Link // of the clients, if they have any
	trials  []*trial       // one of each object
}

// start makes a crowd's clients and objects. No fault may strike meanwhile.
func (r *runner) start(ctx context.Context, c crowd, e *harness.Env) *running {
	one := &running{Env: e, runner: r, crowd: c}
	for i, s := range c.Objects {
		object := e.Apart(fmt.Sprintf("%s%d.", s.work, i)) // No name is part of another.
		one.trials = append(one.trials, newTrial(one, s, object))
	}
	o := &primitives.Options{WatchdogLease: c.Lease, PollInterval: c.Poll}
	for i := range c.Clients {
		client, in := ClientOver(ctx, e, o, func(b backend.Backend) backend.Backend { return one.over(b, i) })
		one.clients = append(one.clients, client)
		if in.Link != nil {
			one.links = append(one.links, in.Link)
		}
	}
	for _, t := range one.trials {
		t.work.prepare(ctx, e, t.object)
	}
	return one
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
	if !r.Batches {
		return single{&seer{single{link}, r.sees}}
	}
	return &seer{link, r.sees}
}

// sees counts a script's error, and notes in its object's trial that a script that may have run got no answer.
func (r *running) sees(c backend.Call, err error) {
	var server *backend.ServerError
	if errors.As(err, &server) {
		r.reached.add("error " + server.Code)
	}
	i := slices.IndexFunc(r.trials, func(t *trial) bool { return strings.Contains(c.Keys[0], t.object) })
	if i >= 0 && backend.MayHaveRun(err) {
		r.reached.add(c.Script.Name + " without an answer")
		r.trials[i].unanswered.Store(true)
	}
}

// run lets all actors act on all objects, and checks what happened to each.
func (r *running) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	struck := must.Start(func() { r.besiege(ctx) })
	err := must.Catch(func() { must.Together(len(r.trials), func(i int) { r.try(ctx, i) }) })
	cancel()
	must.Do(errors.Join(err, <-struck))
}

func (r *running) try(ctx context.Context, i int) {
	w := r.Objects[i].work
	if err := must.Catch(func() { r.trials[i].run(ctx) }); err != nil {
		must.Fail("object %d: %w\n%s\nclause %s:\n%s", i, err, r.describe(i), w.clause, w.text)
	}
}

// besiege makes the crowd's own fault, at the first client, when the first object is kept.
func (r *running) besiege(ctx context.Context) {
	if r.Fault == nil {
		return
	}
	t := r.trials[0]
	defer close(t.ended)
	harness.Await(ctx, "the object to be kept", t.kept)
	time.Sleep(settle)
	r.strike(ctx, *r.Fault, func([]*running) *scene { return r.scene(t, r.links[:min(1, len(r.links))]) })
}

// scene is where a fault happens that an object and some links of the crowd are hit by.
func (r *running) scene(t *trial, links []harness.Link) *scene {
	return &scene{Harness: r.h, key: t.work.keyOf(t.object), links: links, reach: r.reached.add}
}

// suffers takes into account that a fault begins. It may take holds from the crowd that their holders trust if
// the server forgets, or if a step of its clock ends leases that are shorter than the fault is for.
func (r *running) suffers(f fault) {
	for _, t := range r.trials {
		if f.forgets || f.steps && r.Lease < f.lease {
			t.forgetful.Store(true)
		}
	}
}

// siege is a schedule of two clients, with three actors each, during which a fault strikes. The first client's link is
// the one that faults of links hit. When the fault has ended, each actor must get the object once more.
type siege struct {
	schedule
	where string
	keeps bool // all leases are renewed while the fault lasts
}

const (
	nobody = -1                    // keeps the object
	settle = 50 * time.Millisecond // the other actors come to waiting, once an actor has the object
	// besieged is how long a siege may take in addition to the fault and its keeper: less than longLease.
	besieged = 8*time.Second + afterFaults
)

// sieges returns the sieges of a case.
func (f fault) sieges(w *workload) []siege {
	within, beyond := f.lasts/2+settle, max(f.lasts+2*settle, f.keep)
	all := []siege{w.siege("at the holder, who keeps the object", 0, beyond)}
	// A fault of the whole server is the same for both, and a long one is not repeated three times.
	if f.lasts < time.Second && !f.alone {
		all = append(all, w.siege("at the holder, who releases", 0, within))
	}
	if f.keep == 0 {
		all = append(all, w.siege("at the waiters", 1, within))
	}
	if !f.calm {
		all = append(all, w.siege("at mixed work", nobody, 0))
	}
	return all
}

// siege returns the siege in which an actor, the keeper, keeps the object for that time while the fault strikes. The
// others get it again and again until the fault has ended. Nobody: all do everything that they can.
func (w *workload) siege(where string, keeper int, hold time.Duration) siege {
	s := siege{schedule{work: w, Within: besieged + hold}, where, keeper != nobody}
	for actor := range 6 {
		brief := time.Duration(1+actor) * time.Millisecond
		once := Step{Op: w.waiting, Pause: brief, Hold: brief, Insists: true, Strikes: keeper == nobody && actor == 0}
		again, kept := once, once
		again.UntilEnded, again.Insists, kept.Hold, kept.Strikes = true, false, hold, true
		switch {
		case actor == keeper:
			s.Actors = append(s.Actors, []Step{once, kept, again, once})
		case keeper == nobody:
			s.Actors = append(s.Actors, []Step{once, {UntilEnded: true}, once})
		default:
			s.Actors = append(s.Actors, []Step{once, again, once})
		}
	}
	return s
}

// besiege runs the sieges of a fault, one after the other. It also fails if a lease was lost that need not be.
func (f fault) besiege(ctx context.Context, h *harness.Harness, w *workload) {
	for _, s := range f.sieges(w) {
		r := &runner{h: h, reached: new(Coverage)}
		c := crowd{
			Clients: 2, Lease: f.lease, Poll: longPoll, Batches: true, Objects: []schedule{s.schedule}, Fault: &f,
		}
		if !h.Capabilities.PubSub {
			c.Poll = time.Second
		} else if !s.keeps { // A reader whose lease is short and whose client gets no answer ends without a message.
			c.Poll = besieged / 3
		}
		must.In(s.where, func() { must.Do(r.run(ctx, c)) })
		lost := r.reached.copy()["loss"]
		must.Not(lost > 0 && s.keeps && !f.loses && !f.forgets,
			"%s: %d renewed leases of %v were lost", s.where, lost, f.lease)
	}
}

// trial is one object of a running crowd: its actors, and its history.
type trial struct {
	*running
	schedule
	object string
	ways   []*troubled // of the clients
	log    *history.Log

	// kept is closed when the object is kept, for the crowd's fault to strike, and ended when the fault has ended.
	kept, ended chan struct{}
	keep        sync.Once

	forgetful  atomic.Bool // the server may have forgotten what it granted
	unanswered atomic.Bool // a script that may have run got no answer
}

func newTrial(r *running, s schedule, object string) *trial {
	return &trial{
		running: r, schedule: s, object: object, log: history.New(),
		kept: make(chan struct{}), ended: make(chan struct{}),
	}
}

// run lets the actors act, and checks what was recorded, also of actors that did not come to their ends.
func (t *trial) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go t.limit(ctx, cancel)
	err := must.Catch(func() {
		must.Together(len(t.Actors), func(i int) { t.actor(ctx, i) })
		t.wake(ctx)
		t.rest(ctx)
	})
	t.work.look(ctx, t.Env, t.object, t.log)
	t.reached.addN("checked operations", t.log.Len())
	found := t.log.Check(t.work.model(t.forgetful.Load()), 0)
	must.Do(errors.Join(err, t.judge(found)))
}

// limit ends a trial that lasts for longer than its steps explain. The time of faults does not count.
func (t *trial) limit(ctx context.Context, cancel context.CancelCauseFunc) {
	const tick = 100 * time.Millisecond
	begin := time.Now()
	for left := t.bound(t.Poll); left > 0; {
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return
		}
		if !t.lasting.Load() {
			left -= tick
		}
	}
	cancel(fmt.Errorf("after %v somebody still waits", time.Since(begin).Round(time.Second)))
}

// actor lets an actor take its steps, and fails with what it found wrong.
func (t *trial) actor(ctx context.Context, i int) {
	now, granted := Step{}, false
	take := t.work.actor(&actor{
		client: t.clients[i%t.Clients], object: t.object,
		log: t.log, process: t.log.Process(),
		reach: func(situation string) {
			t.reached.add(situation)
			granted = granted || situation == "grant"
			if granted && now.Strikes {
				t.keep.Do(func() { close(t.kept) })
			}
		},
	})
	for _, s := range t.Actors[i] {
		if s.UntilEnded { // If they began earlier, they could starve the keeper: it waits in no order.
			harness.Await(ctx, "the object to be kept", t.kept)
		}
		for again := true; again; again = s.UntilEnded && !isClosed(t.ended) || s.Insists && !granted {
			now, granted = t.drawn(s), false
			time.Sleep(now.Pause)
			must.In(fmt.Sprintf("actor %d: %+v", i, now), func() { take(ctx, now) })
			must.Not(ctx.Err() != nil, "actor %d: %+v: %w", i, now, context.Cause(ctx))
		}
	}
}

// drawn returns a step, or draws it, if it may be any. That does not keep the object for long.
func (t *trial) drawn(s Step) Step {
	if s.Op == "" {
		s = drawStep(t.work.ops).Example(t.log.Len())
		s.Hold %= workLease
	}
	return s
}

// wake has one client wait for what another one makes ready, over sound links.
func (t *trial) wake(ctx context.Context) {
	if !t.work.waits || !t.Capabilities.PubSub {
		return
	}
	for _, way := range t.ways {
		way.calm(t.object)
	}
	name := t.object + "-wake"
	if t.work.wake(ctx, Named{t.clients[0], name}, Named{t.clients[t.Clients-1], name}) == nil {
		t.reached.add("woken")
	}
	must.Not(ctx.Err() != nil, "waking a waiter: %w", context.Cause(ctx))
}

// rest waits until all is back that was taken, if nothing that was taken can be lost: in real time a slow
// server may be given up.
func (t *trial) rest(ctx context.Context) {
	loses := slices.ContainsFunc(t.Links, func(plan troubles) bool {
		return slices.ContainsFunc(plan.Scripts, func(t trouble) bool { return t.Loss != nothing })
	})
	if t.Fault == nil && !t.soaks && !loses && (t.Bubble != nil || !t.unanswered.Load()) {
		must.In("what was taken is not back", func() { t.work.rest(ctx, t.Env, t.object) })
	}
}
