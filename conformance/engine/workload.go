package engine

import (
	"cmp"
	"context"
	"fmt"
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

// String returns a step in a form that can be read in the report of a failure.
func (s Step) String() string {
	var text strings.Builder
	if s.UntilEnded || s.Insists || s.Strikes {
		fmt.Fprintf(&text, "(until the fault has ended: %v, until granted: %v, strikes: %v) ",
			s.UntilEnded, s.Insists, s.Strikes)
	}
	fmt.Fprintf(&text, "after %v %s %d %v", s.Pause, s.Op, s.N, s.Flag)
	if s.Hold > 0 {
		fmt.Fprintf(&text, " for %v", s.Hold)
	}
	if s.Patience > 0 {
		fmt.Fprintf(&text, " within %v", s.Patience)
	}
	return text.String()
}

// Histories implements [Subject].
func (p *Primitive[S, I, O]) Histories(t *testing.T, h *harness.Harness, reached *Coverage) {
	t.Helper()
	h = p.over(h)
	w := p.workload()
	draw := func(r *rapid.T) crowd {
		c := drawCrowd(r, []*workload{w}, []int{1, 2, 3}, []int{1})
		c.Picture = picture(t)
		return c
	}
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
