package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// schedule is a history test before it runs: all that is left to chance but the order in which
// goroutines run.
type schedule struct {
	Links   []troubles // of each client
	Actors  [][]Step   // actor i uses client i modulo their number
	Lease   time.Duration
	Poll    time.Duration
	Batches bool // the links take batches
}

// drawSchedule draws a schedule, with troubles on the links.
func drawSchedule(t *rapid.T, w *workload) schedule {
	s := schedule{Lease: workLease, Poll: time.Hour} // Nothing but messages wakes a waiter.
	ops := w.ops
	if rapid.Bool().Draw(t, "messages alone") {
		s.Lease = time.Hour // Nor does the end of a lease.
		ops = slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return op == "delete" })
	}
	s.Batches = rapid.Bool().Draw(t, "batches")
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy links") > 0
	for range rapid.IntRange(1, 3).Draw(t, "clients") {
		s.Links = append(s.Links, drawTroubles(t, lossy))
	}
	for range rapid.IntRange(2, 8).Draw(t, "actors") {
		s.Actors = append(s.Actors, rapid.SliceOfN(drawStep(ops), 1, 8).Draw(t, "steps"))
	}
	if s.any("delete") {
		s.Poll = deletionPoll // No message is sent.
	}
	return s
}

// deletionPoll is how often waiters look for themselves where things end without a message.
const deletionPoll = 2 * time.Second

// any reports whether a step of that name is in the schedule.
func (s schedule) any(op string) bool {
	for _, steps := range s.Actors {
		for _, step := range steps {
			if step.Op == op {
				return true
			}
		}
	}
	return false
}

func drawStep(ops []string) *rapid.Generator[Step] {
	return rapid.Custom(func(t *rapid.T) Step {
		s := Step{
			Op:    rapid.SampledFrom(ops).Draw(t, "op"),
			Pause: drawDuration(t, "pause", 30*time.Millisecond),
			Hold:  drawDuration(t, "hold", 30*time.Millisecond),
			N:     rapid.IntRange(0, 5).Draw(t, "n"),
			Flag:  rapid.Bool().Draw(t, "flag"),
		}
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0: // beyond a lease that nobody renews, or what one who lost it may believe
			s.Hold += 2 * rapid.SampledFrom([]time.Duration{fixedLease, workLease}).Draw(t, "lease")
		case 1, 2: // often given up
			s.Patience = time.Millisecond + drawDuration(t, "patience", 60*time.Millisecond)
		}
		return s
	})
}

// drawTroubles draws those of one link. Without lossy every reply comes in time.
func drawTroubles(t *rapid.T, lossy bool) troubles {
	one := rapid.Custom(func(t *rapid.T) trouble {
		tr := trouble{
			Before: drawDuration(t, "before", 10*time.Millisecond),
			After:  drawDuration(t, "after", 10*time.Millisecond),
		}
		switch rapid.IntRange(0, 19).Draw(t, "trouble") {
		case 3, 4, 5:
			tr.Held = drawDuration(t, "held", 100*time.Millisecond)
		case 0, 6:
			if lossy {
				tr.Loss = rapid.SampledFrom([]loss{request, reply, broken, dial, late}).Draw(t, "loss")
			}
			if tr.Loss == late {
				tr.Before += drawDuration(t, "late", 500*time.Millisecond)
			}
		case 1:
			tr.Before += drawDuration(t, "slow", 500*time.Millisecond)
		case 2:
			tr.After += drawDuration(t, "slow", 500*time.Millisecond)
		}
		return tr
	})
	return troubles{
		Scripts:    rapid.SliceOfN(one, 0, 60).Draw(t, "scripts"),
		Subscribes: rapid.SliceOfN(durations(20*time.Millisecond), 0, 4).Draw(t, "subscribes"),
		Gaps:       rapid.SliceOfN(durations(40*time.Millisecond), 0, 10).Draw(t, "gaps"),
	}
}

// bound is how long the schedule may take, with actors after one another: longer, and a waiter
// stood before a free object.
func (s schedule) bound() time.Duration {
	sum := 20 * time.Second // Subscriptions, closing, a slow machine.
	for _, steps := range s.Actors {
		for _, step := range steps {
			sum += step.Pause + step.Hold
		}
	}
	for _, plan := range s.Links {
		for _, t := range plan.Scripts {
			sum += t.Held + t.Before + t.After
			if t.Loss != nothing {
				sum += deaf + workLease
			}
		}
		for _, gap := range plan.Gaps {
			sum += gap
		}
	}
	if s.Poll <= deletionPoll {
		sum += time.Duration(len(s.Actors)) * 10 * s.Poll
	}
	return sum
}

// lossless reports whether every script gets its reply.
func (s schedule) lossless() bool {
	return !slices.ContainsFunc(s.Links, func(plan troubles) bool {
		return slices.ContainsFunc(plan.Scripts, func(t trouble) bool { return t.Loss != nothing })
	})
}

// String returns the schedule in lines.
func (s schedule) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "leases of %v, polls every %v, in batches: %v\n", s.Lease, s.Poll, s.Batches)
	for i, plan := range s.Links {
		fmt.Fprintf(&text, "link of client %d: %+v\n", i, plan)
	}
	for i, steps := range s.Actors {
		fmt.Fprintf(&text, "actor %d of client %d:\n", i, i%len(s.Links))
		for _, step := range steps {
			fmt.Fprintf(&text, "    %v\n", step)
		}
	}
	return text.String()
}

// running is a schedule while it runs.
type running struct {
	*harness.Env
	schedule schedule
	work     *workload
	object   string
	links    []*troubled // of the clients, to the object
	log      *history.Log
	reached  *Situations
	extra    func() time.Duration // what faults have cost, beyond the schedule's bound
	cutShort error                // the cause of the end of its context
	whole    bool                 // nothing that is taken can be lost

	survived atomic.Pointer[string] // the last fault that it went through, until the next grant

	mu      sync.Mutex
	watcher *history.Process // records the faults of the server; nil: the history is over
}

// reach counts a situation.
func (r *running) reach(situation string) {
	r.reached.add(situation)
	if situation != "grant" {
		return
	}
	if fault := r.survived.Swap(nil); fault != nil {
		r.reached.add("grant after " + *fault)
	}
}

// note records a fault of the server, in the history's own terms.
func (r *running) note(input any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watcher != nil {
		r.watcher.Call(input).Return(nil)
	}
}

// later records what is sure when a time has passed.
func (r *running) later(after time.Duration, input any) {
	time.AfterFunc(after, func() { r.note(input) })
}

// over ends what note records.
func (r *running) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watcher = nil
}

// run runs the schedule on an object of its own, and checks what it recorded.
func (s schedule) run(ctx context.Context, e *harness.Env, w *workload, picture string, reached *Situations) {
	r := s.on(e, w, w.name, reached)
	r.whole = s.lossless()
	r.run(ctx, r.clients(ctx), picture)
}

// on returns the schedule before it runs, on an object of that name.
func (s schedule) on(e *harness.Env, w *workload, name string, reached *Situations) *running {
	log := history.New()
	return &running{
		Env: e, schedule: s, work: w, object: e.Apart(name), log: log, watcher: log.Process(),
		reached:  reached,
		extra:    func() time.Duration { return 0 },
		cutShort: fmt.Errorf("after %v somebody still waits", s.bound()),
	}
}

// run runs the schedule with clients, and checks what it recorded.
func (r *running) run(ctx context.Context, clients []*primitives.Client, picture string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.limit(ctx, func() { cancel(r.cutShort) })
	r.work.prepare(ctx, r.Env, r.object)
	r.actors(ctx, clients)
	r.over()
	r.wake(ctx, clients)
	if r.work.rest != nil && r.whole {
		r.reached.add("rest")
		must.In("what was taken is not back", func() { r.work.rest(ctx, r.Env, r.object) })
	}
	if r.work.look != nil {
		r.reached.add("last look")
		r.work.look(ctx, r.Env, r.object, r.log)
	}
	r.reached.addN("checked operations", r.log.Len())
	must.Do(r.log.Check(r.work.model(), &history.CheckOptions{Picture: picture}))
}

// wake has one client wait for what another one makes ready, over sound links.
func (r *running) wake(ctx context.Context, clients []*primitives.Client) {
	if r.work.wake == nil || !r.Capabilities.PubSub {
		return
	}
	for _, link := range r.links {
		link.replan(func(plan *troubles) { *plan = troubles{} })
	}
	name := r.object + "-wake"
	if r.work.wake(ctx, Named{clients[0], name}, Named{clients[len(clients)-1], name}) == nil {
		r.reached.add("woken")
	}
	must.If(ctx.Err() != nil, "waking one who waits: %w", context.Cause(ctx))
}

// limit cancels what waits for longer than the schedule explains.
func (r *running) limit(ctx context.Context, cancel func()) {
	begin := time.Now()
	for {
		left := r.schedule.bound() + r.extra() - time.Since(begin)
		if left <= 0 {
			cancel()
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

func (r *running) clients(ctx context.Context) (clients []*primitives.Client) {
	for _, plan := range r.schedule.Links {
		o := &primitives.Options{
			WatchdogLease: r.schedule.Lease, PollInterval: r.schedule.Poll, CloseTimeout: time.Hour,
		}
		c, _ := ClientOver(ctx, r.Env, o, func(b backend.Backend) backend.Backend {
			link := &troubled{Backend: b, plan: plan, reach: r.reach}
			r.links = append(r.links, link)
			w := newWatched(r.work.witnessed(inBatches(link, r.schedule.Batches), r.log), r.reach)
			return inBatches(w, r.schedule.Batches)
		})
		clients = append(clients, c)
	}
	return clients
}

// actors lets all actors take their steps, and fails with what they found wrong.
func (r *running) actors(ctx context.Context, clients []*primitives.Client) {
	must.Together(len(r.schedule.Actors), func(i int) {
		step := r.work.actor(&actor{
			client: clients[i%len(clients)], lease: r.schedule.Lease, object: r.object,
			log: r.log, process: r.log.Process(), remove: r.remove, later: r.later, reach: r.reach,
		})
		for _, s := range r.schedule.Actors[i] {
			time.Sleep(s.Pause)
			must.In(fmt.Sprintf("actor %d: %s", i, s.Op), func() { step(ctx, s) })
			must.If(ctx.Err() != nil, "actor %d: %s: %w", i, s.Op, context.Cause(ctx))
		}
	})
}

func (r *running) remove(ctx context.Context) error {
	_, err := r.Do(ctx, r.object, "DEL", r.object)
	return err
}
