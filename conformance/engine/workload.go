package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/primitives"
)

// workload is how a primitive is used by histories, faults and soaks: actors take steps on one object,
// and a model judges what they saw. A [Primitive] makes it.
type workload struct {
	name   string
	clause string                     // the promise that a violation breaks
	text   string                     // what that says
	key    func(object string) string // of the object's own key
	model  func() porcupine.Model
	ops    []string // the names of the steps; one that is listed twice is drawn twice as often

	// waiting is the one of ops that waits for as long as it takes, with a lease that is renewed. ""
	// for a primitive without leases, from which a fault may take something for ever: it has no cases of
	// faults, and its soaks have no faults in which a server forgets.
	waiting string
	reaches []string // situations that it gets into on every backend, if there is enough of it
	always  []string // those that each run gets into, however short
	waits   bool     // somebody waits
	retries bool     // those who wait ask again for the same

	lapse, recovery any // inputs of model: between the two the server may lose what it granted

	prepare func(ctx context.Context, e *harness.Env, object string)
	actor   func(a *actor) func(ctx context.Context, s Step)
	wake    func(ctx context.Context, waiter, waker Named) error
	rest    func(ctx context.Context, e *harness.Env, object string)
	look    func(ctx context.Context, e *harness.Env, object string, log *history.Log)

	// doubtful returns the input and output of an attempt without an answer that a call may go on
	// after, by another one; ok is false for another script.
	doubtful func(c backend.Call) (in, out any, ok bool)
}

// announced returns the steps of which waiters hear by messages, or by the ends of leases: all but
// deletions.
func (w *workload) announced() []string {
	return slices.DeleteFunc(slices.Clone(w.ops), func(op string) bool { return op == "delete" })
}

// actor is a sequential user of one object.
type actor struct {
	client  *primitives.Client
	lease   time.Duration // the client's watchdog lease
	object  string
	log     *history.Log
	process *history.Process

	remove func(ctx context.Context) error // removes the object's key behind the back of everybody
	later  func(after time.Duration, input any)
	reach  func(situation string)
}

// Step is one step of an actor.
type Step struct {
	Op       string        // one of the workload's
	Pause    time.Duration // before it
	Patience time.Duration // how long it may wait; 0: for as long as it takes
	Hold     time.Duration // how long it keeps what it got
	N        int           // 0 to 5: of what it takes several of, or how deep it nests
	Flag     bool
}

// String returns a step in a form that can be read in the report of a failure.
func (s Step) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "after %v %s %d %v", s.Pause, s.Op, s.N, s.Flag)
	if s.Hold > 0 {
		fmt.Fprintf(&text, " for %v", s.Hold)
	}
	if s.Patience > 0 {
		fmt.Fprintf(&text, " within %v", s.Patience)
	}
	return text.String()
}
