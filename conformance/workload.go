package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/primitives"
)

// Workload is how one primitive is used by the history and fault tests: actors take steps on one
// object, and a model judges what they saw. A new primitive brings one, in [Workloads].
type Workload struct {
	// Name is that of the primitive, such as "Lock".
	Name string

	// Clause is the promise that a violation breaks; [Clause] gives its text.
	Clause string

	// Model explains the histories that actors record.
	Model func() porcupine.Model

	// Ops are the names of the steps. A name that is listed twice is drawn twice as often.
	Ops []string

	// Waiting is the one of Ops that waits for as long as it takes, with a lease that is renewed.
	// What has none, since what it takes can be lost for good, has no part in RunFaults, and in soaks
	// not in faults in which a server forgets.
	Waiting string

	// Lapse and Recovery are inputs of Model, recorded with no output: between the two the server
	// may lose what it granted, and only tokens rise.
	Lapse, Recovery any

	// Reaches are the situations that its histories get into on every backend, if there are enough
	// of them; see [Actor.Reach].
	Reaches []string

	// Always are the situations that each run of its histories and properties gets into, however short.
	Always []string

	// Wake lets a call of one client wait for an object until another client makes that ready, and
	// returns nil when the first has it; nil: nothing waits. It is asked at the end of each history,
	// over sound links.
	Wake func(ctx context.Context, waiter, waker Named) error

	// Rest returns when nobody has anything of an object any more, after a history in which every
	// script got its reply. Nil: nothing can be kept.
	Rest func(ctx context.Context, c *primitives.Client, name string) error

	// Look is an input of Model that asks for the number that the object's key holds, and Seen the
	// output when it holds n, counted in Parts of 1: 8 for eighths, 0 and 1 for whole numbers. They
	// are recorded once all actors have ended. Nil: nothing is.
	Look  any
	Seen  func(n int64) any
	Parts int64

	// Attempt, if not empty, is the script of an attempt that a call may go on after without an
	// answer, by another one. Doubt and Doubted are recorded of it, an input and output of Model.
	Attempt        string
	Doubt, Doubted any

	// Prepare readies the object before the actors begin; nil: nothing is to be done.
	Prepare func(ctx context.Context, c *primitives.Client, object string) error

	// Actor returns what takes the steps of one actor. An error says that something was promised
	// and not kept; what may fail in a step is not one.
	Actor func(a *Actor) func(ctx context.Context, s Step) error

	// machine, if not nil, makes what RunProperties drives, by acts, of which those that are listed
	// twice are drawn twice as often.
	machine func(ctx context.Context, e *env, s setting, virtual bool, reach func(string)) (machine, error)
	acts    []string
}

// witnessed returns b such that an attempt without an answer is recorded in log.
func (w Workload) witnessed(b backend.Backend, log *history.Log) backend.Backend {
	if w.Attempt == "" {
		return b
	}
	see := func(c backend.Call) func(backend.Outcome) {
		if c.Script.Name != w.Attempt {
			return func(backend.Outcome) {}
		}
		since := log.Now()
		return func(o backend.Outcome) {
			if backend.MayHaveRun(o.Err) {
				log.Since(since, w.Doubt, w.Doubted)
			}
		}
	}
	_, batches := b.(backend.Batcher)
	return inBatches(&seer{b, see}, batches)
}

// Actor is a sequential user of one object.
type Actor struct {
	// Client is the actor's client, which it may share with other actors.
	Client *primitives.Client

	// Lease is the client's watchdog lease.
	Lease time.Duration

	// Object is the name of the object that all actors of a history use.
	Object string

	// Log and Process record what the actor does.
	Log     *history.Log
	Process *history.Process

	// Delete removes the object's key behind the back of everybody.
	Delete func(ctx context.Context) error

	// Later records an input of the model, with no output, when a time has passed.
	Later func(after time.Duration, input any)

	// Reach counts a situation that the history got into, such as "refusal". All actors report
	// "grant", when they have got the object, and of "loss", when they find that they lost it.
	Reach func(situation string)
}

// Named is an object as one client sees it.
type Named struct {
	Client *primitives.Client
	Name   string
}

// Step is one step of an actor.
type Step struct {
	Op       string        // one of [Workload.Ops]
	Pause    time.Duration // before it
	Patience time.Duration // how long it may wait; 0: for as long as it takes
	Hold     time.Duration // how long it keeps what it got
	N        int           // of what it takes several of, or how deep it nests
}

// String returns a step in a form that can be read in the report of a failure.
func (s Step) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "after %v %s", s.Pause, s.Op)
	if s.N > 0 {
		fmt.Fprintf(&text, " %d", s.N)
	}
	if s.Hold > 0 {
		fmt.Fprintf(&text, " for %v", s.Hold)
	}
	if s.Patience > 0 {
		fmt.Fprintf(&text, " within %v", s.Patience)
	}
	return text.String()
}

// within makes a call that gives up after some patience; 0: never.
func within[T any](
	ctx context.Context, patience time.Duration, call func(context.Context) (T, error),
) (T, error) {
	if patience > 0 {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		ctx = limited
	}
	return call(ctx)
}

// Workloads returns those of all primitives.
func Workloads() []Workload {
	return []Workload{lockWorkload(), semaphoreWorkload(), latchWorkload(), longWorkload(), doubleWorkload()}
}

// leased returns those of works that may get all faults.
func leased(works []Workload) []Workload {
	return slices.DeleteFunc(slices.Clone(works), func(w Workload) bool { return w.Waiting == "" })
}
