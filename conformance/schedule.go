package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
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
func drawSchedule(t *rapid.T, w Workload) schedule {
	s := schedule{Lease: workLease, Poll: time.Hour} // Nothing but messages wakes a waiter.
	ops := w.Ops
	if rapid.Bool().Draw(t, "messages alone") {
		s.Lease = time.Hour // Nor does the end of a lease.
		ops = slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return op == "Delete" })
	}
	s.Batches = rapid.Bool().Draw(t, "batches")
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy links") > 0
	for range rapid.IntRange(1, 3).Draw(t, "clients") {
		s.Links = append(s.Links, drawTroubles(t, lossy))
	}
	for range rapid.IntRange(2, 8).Draw(t, "actors") {
		s.Actors = append(s.Actors, rapid.SliceOfN(drawStep(ops), 1, 8).Draw(t, "steps"))
	}
	if s.any("Delete") {
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
			N:     rapid.IntRange(0, 4).Draw(t, "n"),
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
				tr.Loss = rapid.SampledFrom([]loss{request, reply, link, dial, late}).Draw(t, "loss")
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

// durations generates whole milliseconds up to most, 0 in half of the cases.
func durations(most time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		n := rapid.IntRange(-int(most.Milliseconds()), int(most.Milliseconds())).Draw(t, "ms")
		return time.Duration(max(0, n)) * time.Millisecond
	})
}

func drawDuration(t *rapid.T, label string, most time.Duration) time.Duration {
	return durations(most).Draw(t, label)
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
	*env
	schedule schedule
	work     Workload
	object   string
	links    []*troubled // of the clients, to the object
	log      *history.Log
	reached  *situations
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
func (s schedule) run(
	ctx context.Context, e *env, w Workload, picture string, reached *situations,
) error {
	r := s.on(e, w, w.Name, reached)
	r.whole = s.lossless()
	clients, err := r.clients(ctx)
	if err != nil {
		return err
	}
	return r.run(ctx, clients, picture)
}

// on returns the schedule before it runs, on an object of that name.
func (s schedule) on(e *env, w Workload, name string, reached *situations) *running {
	log := history.New()
	return &running{
		env: e, schedule: s, work: w, object: e.apart(name), log: log, watcher: log.Process(),
		reached:  reached,
		extra:    func() time.Duration { return 0 },
		cutShort: fmt.Errorf("after %v somebody still waits", s.bound()),
	}
}

// run runs the schedule with clients, and checks what it recorded.
func (r *running) run(ctx context.Context, clients []*primitives.Client, picture string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.limit(ctx, func() { cancel(r.cutShort) })
	if r.work.Prepare != nil {
		if err := r.work.Prepare(ctx, clients[0], r.object); err != nil {
			return err
		}
	}
	err := r.actors(ctx, clients)
	r.over()
	for _, next := range []func(context.Context, []*primitives.Client) error{r.wake, r.rest, r.look} {
		if err != nil {
			return err
		}
		err = next(ctx, clients)
	}
	if err != nil {
		return err
	}
	r.reached.operations(r.log.Len())
	return r.log.Check(r.work.Model(), &history.CheckOptions{Picture: picture})
}

// wake has one client wait for what another one makes ready, over sound links.
func (r *running) wake(ctx context.Context, clients []*primitives.Client) error {
	if r.work.Wake == nil || !r.Capabilities.PubSub {
		return nil
	}
	for _, link := range r.links {
		link.replan(func(plan *troubles) { *plan = troubles{} })
	}
	name := r.object + "-wake"
	if r.work.Wake(ctx, Named{clients[0], name}, Named{clients[len(clients)-1], name}) == nil {
		r.reached.add("woken")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("waking one who waits: %w", context.Cause(ctx))
	}
	return nil
}

// rest waits until what was taken is back.
func (r *running) rest(ctx context.Context, clients []*primitives.Client) error {
	if r.work.Rest == nil || !r.whole {
		return nil
	}
	r.reached.add("rest")
	if err := r.work.Rest(ctx, clients[0], r.object); err != nil {
		return fmt.Errorf("what was taken is not back: %w, %w", err, context.Cause(ctx))
	}
	return nil
}

// look records what the object's key holds in the end. It fails if that is no number.
func (r *running) look(ctx context.Context, _ []*primitives.Client) error {
	if r.work.Look == nil {
		return nil
	}
	call := r.log.Process().Call(r.work.Look)
	reply, err := r.Do(ctx, r.object, "GET", r.object)
	if err != nil {
		call.Drop() // A server that is down.
		return nil
	}
	n, err := partsIn(reply, max(1, r.work.Parts))
	if err != nil {
		return fmt.Errorf("the key in the end: %w", err)
	}
	r.reached.add("last look")
	call.Return(r.work.Seen(n))
	return nil
}

// partsIn returns the number in the reply to a GET, in parts of 1; 0 if there is none.
func partsIn(reply backend.Reply, parts int64) (int64, error) {
	if reply.IsNil() {
		return 0, nil
	}
	text, err := reply.Text()
	if err != nil {
		return 0, err
	}
	return parsedParts(text, parts)
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

func (r *running) clients(ctx context.Context) (clients []*primitives.Client, err error) {
	for _, plan := range r.schedule.Links {
		c, _, err := r.clientOver(ctx, &primitives.Options{
			WatchdogLease: r.schedule.Lease, PollInterval: r.schedule.Poll,
			CloseTimeout: time.Hour,
		}, func(b backend.Backend) backend.Backend {
			link := &troubled{Backend: b, plan: plan, reach: r.reach}
			r.links = append(r.links, link)
			w := newWatched(r.witnessed(inBatches(link, r.schedule.Batches)), r.reach)
			return inBatches(w, r.schedule.Batches)
		})
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// witnessed returns b such that an attempt which a call goes on after by itself is recorded if it got
// no answer.
func (r *running) witnessed(b backend.Backend) backend.Backend {
	return r.work.witnessed(b, r.log)
}

// actors lets all actors take their steps, and returns what they found wrong.
func (r *running) actors(ctx context.Context, clients []*primitives.Client) error {
	failed := make([]error, len(r.schedule.Actors))
	var all sync.WaitGroup
	for i, steps := range r.schedule.Actors {
		step := r.work.Actor(&Actor{
			Client: clients[i%len(clients)], Lease: r.schedule.Lease, Object: r.object,
			Log: r.log, Process: r.log.Process(), Delete: r.delete, Later: r.later, Reach: r.reach,
		})
		all.Go(func() {
			if err := r.steps(ctx, step, steps); err != nil {
				failed[i] = fmt.Errorf("actor %d: %w", i, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (r *running) steps(
	ctx context.Context, take func(context.Context, Step) error, steps []Step,
) error {
	for _, s := range steps {
		time.Sleep(s.Pause)
		if err := take(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.Op, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", s.Op, context.Cause(ctx))
		}
	}
	return nil
}

func (r *running) delete(ctx context.Context) error {
	_, err := r.Do(ctx, r.object, "DEL", r.object)
	return err
}
