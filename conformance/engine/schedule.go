package engine

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// crowd is a few clients that many actors use, on one object or on several at once, before it runs: all
// that is left to chance but the order in which goroutines run. What one object's history does not
// show is what objects do to each other, in a shared batch or connection.
type crowd struct {
	Clients int
	Lease   time.Duration // the watchdog's
	Poll    time.Duration
	Batches bool // the links take batches
	Objects []schedule
	Fault   *fault // strikes when the first object is kept, at the link of the first client; nil: none
}

// schedule is what a crowd does on one object, which has its own troubles on the clients' links.
type schedule struct {
	work   *workload
	Links  []troubles // of the first clients; those of the others are sound
	Actors [][]Step   // actor i uses client i modulo their number

	// Within is how long it may take. 0: what its steps and troubles may take.
	Within time.Duration
}

// drawnFrom returns the number from which to draw what runs in real time: rapid's, or another one each time.
func drawnFrom() int {
	if seed, err := strconv.Atoi(flag.Lookup("rapid.seed").Value.String()); err == nil && seed > 0 {
		return seed
	}
	return rand.IntN(1 << 30) //nolint:gosec // A test's schedule.
}

// drawCrowd draws a crowd that does some of works, on so many objects.
func drawCrowd(t *rapid.T, works []*workload, clients, objects []int) crowd {
	c := crowd{
		Clients: rapid.SampledFrom(clients).Draw(t, "clients"),
		Lease:   rapid.SampledFrom([]time.Duration{workLease, endlessLease}).Draw(t, "lease"),
		Poll:    Never, // Nothing but messages wakes a waiter.
		Batches: rapid.Bool().Draw(t, "batches"),
	}
	for range rapid.SampledFrom(objects).Draw(t, "objects") {
		w := rapid.SampledFrom(works).Draw(t, "workload")
		c.Objects = append(c.Objects, c.drawSchedule(t, w))
	}
	return c
}

// shortPoll is how often waiters look for themselves where a hold may end without a message.
const shortPoll = 2 * time.Second

// troubledLinks is how many links of a crowd have troubles with an object, at most.
const troubledLinks = 3

func (c crowd) drawSchedule(t *rapid.T, w *workload) schedule {
	s := schedule{work: w}
	lossy := rapid.IntRange(0, 3).Draw(t, "lossy links") > 0
	for range min(c.Clients, troubledLinks) {
		s.Links = append(s.Links, drawTroubles(t, lossy))
	}
	for range rapid.IntRange(2, 8).Draw(t, "actors") {
		s.Actors = append(s.Actors, rapid.SliceOfN(drawStep(w.ops), 1, 8).Draw(t, "steps"))
	}
	return s
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
		case 0: // beyond a lease that nobody renews, or what a holder may assume that has lost it
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

// afterFaults is what all faults together may cost after their ends, such as pauses before clients connect
// again. It does not grow with their number, or a waiter that is stuck would be given time for ever.
const afterFaults = 15 * time.Second

// bound is how long the schedule may take, with actors after one another: longer, and a waiter
// stood before a free object.
func (s schedule) bound(poll time.Duration) time.Duration {
	if s.Within > 0 {
		return s.Within
	}
	sum := 20*time.Second + afterFaults // Subscriptions, closing, a slow machine.
	for _, step := range slices.Concat(s.Actors...) {
		sum += step.Pause + step.Hold
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
	if poll <= shortPoll {
		sum += time.Duration(len(s.Actors)) * 10 * poll
	}
	return sum
}

// describe returns what the crowd does on an object, in lines.
func (c crowd) describe(object int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "leases of %v, polls every %v, in batches: %v\n", c.Lease, c.Poll, c.Batches)
	for i, plan := range c.Objects[object].Links {
		fmt.Fprintf(&text, "link of client %d: %+v\n", i, plan)
	}
	for i, steps := range c.Objects[object].Actors {
		fmt.Fprintf(&text, "actor %d of client %d:\n", i, i%c.Clients)
		for _, step := range steps {
			fmt.Fprintf(&text, "    %+v\n", step)
		}
	}
	return text.String()
}

// workload is how a primitive is used by histories, faults and soaks: actors take steps on one object,
// and a model judges what they saw.
type workload struct {
	usable
	clause string   // the promise that a violation breaks
	text   string   // the text of the clause
	ops    []string // the names of the steps; one that is listed twice is drawn twice as often

	// waiting is the one of ops that waits for as long as it takes, with a lease that is renewed. ""
	// for a primitive without leases, from which a fault may take something for ever: it has no cases of
	// faults, and its soaks have no faults in which a server forgets.
	waiting string
	always  []string // the situations that each run gets into, however short
	waits   bool     // somebody waits
}

// usable is a [Primitive], whatever its types are.
type usable interface {
	String() string
	keyOf(object string) string
	prepare(ctx context.Context, e *harness.Env, object string)
	actor(a *actor) func(ctx context.Context, s Step)
	wake(ctx context.Context, waiter, waker Named) error
	rest(ctx context.Context, e *harness.Env, object string)
	look(ctx context.Context, e *harness.Env, object string, log *history.Log)

	// model returns the model of histories; of a server that forgot what it had granted, if forgetful is true.
	model(forgetful bool) porcupine.Model
}

// actor is a sequential user of one object.
type actor struct {
	client  *primitives.Client
	object  string
	log     *history.Log
	process *history.Process
	reach   func(situation string)
}

// Step is one step of an actor.
type Step struct {
	Op       string        // one of the workload's; "": any, drawn each time that it is taken
	Pause    time.Duration // before it
	Patience time.Duration // how long it may wait; 0: for as long as it takes
	Hold     time.Duration // how long it keeps what it got
	N        int           // 0 to 5: of what it takes several of, or how deep it nests
	Flag     bool

	UntilEnded bool // it is repeated until the crowd's fault has ended
	Insists    bool // it is repeated until it is granted the object
	Strikes    bool // its first grant lets the crowd's fault strike
}

// Histories implements [Subject].
func (p *Primitive[S, I, O]) Histories(t *testing.T, h *harness.Harness, reached *Coverage) {
	t.Helper()
	h = p.over(h)
	w := p.workload()
	draw := func(r *rapid.T) crowd { return drawCrowd(r, []*workload{w}, []int{1, 2, 3}, []int{1}) }
	if h.Bubble == nil {
		realHistories(t, &runner{h: h, reached: reached}, draw)
	} else {
		virtualHistories(t, h, draw, reached)
	}
	reached.require(t, w.always)
	if w.waits && h.Capabilities.PubSub {
		reached.require(t, []string{"woken"})
	}
}

func virtualHistories(t *testing.T, h *harness.Harness, draw func(*rapid.T) crowd, reached *Coverage) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		c := draw(r)
		rapid.SyncTest(r, func(r *rapid.T) {
			defer outlast()
			one := &runner{h: h.Bubble(), reached: reached}
			if err := one.run(r.Context(), c); err != nil {
				r.Fatal(stable(err))
			}
		})
	})
}

// realHistories runs crowds side by side, since they mostly wait. What happens in real time does not happen again, so
// there is no use in making a crowd smaller: a failure prints all that was drawn.
func realHistories(t *testing.T, one *runner, draw func(*rapid.T) crowd) {
	t.Helper()
	first := drawnFrom()
	must.Together(cmp.Or(one.h.Rounds, 5), func(i int) {
		if err := one.run(t.Context(), rapid.Custom(draw).Example(first+i)); err != nil {
			t.Errorf("crowd %d: %v", first+i, err)
		}
	})
}
