package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Request is one call. It is used once: set it to a new value for another call. Once Run has
// returned an outcome, no other goroutine uses the Request.
type Request struct {
	Dispatcher *Dispatcher

	// Set by Run.
	Script *backend.Script
	Keys   []string
	Args   []string

	// AlwaysSend says that the call is sent even if its caller leaves before. Otherwise a call that
	// was not sent yet is withdrawn then.
	AlwaysSend bool

	// Insistent says that the call is sent even if its node is away: it keeps or gives back what its caller has.
	Insistent bool

	// Contained turns a panic of the driver into an error, for callers that are goroutines of this
	// module.
	Contained bool

	// Grace is how long the caller still waits for the answer after its context has ended.
	Grace time.Duration

	// Limit is how long the caller waits for the answer at most. Zero means that only its context bounds
	// that.
	Limit time.Duration

	// Hasty says that the caller has another answer at hand: the call is offered to the server once, and if it
	// fails, or gets no answer within Limit, its node is away for further hasty calls. It has a key.
	Hasty bool

	// Late gets the outcome if the caller has left, and Leavers counts it. Nil: the outcome is dropped.
	Late    LateHandler
	Leavers Leavers

	// Heard is 1 more than how many clients heard the message that the script published; 0: unknown.
	Heard int64

	// Replicas is the number of replicas for which to wait after the call was executed, and
	// ReplicaTimeout is the longest time. 0: none. Such a call is sent alone, on a connection of
	// its own, unless it is of [Runner.Waiting]. The backend must support it: see [Dispatcher.WaitsForReplicas].
	Replicas       int
	ReplicaTimeout time.Duration

	// Shortage comes with the outcome of a call that was executed. It is nil if enough replicas
	// have acknowledged the call. Otherwise it wraps [backend.ErrReplicas].
	Shortage error

	closing   context.Context //nolint:containedctx // The dispatcher's; nil: the caller stays when the client begins to close.
	leaseEnds int64           // of a call of [Runner.Waiting]: when it is too late, in nanoseconds by the wall clock

	values   context.Context //nolint:containedctx // For the values alone.
	claim    *backend.Claim  // a separate value: the backend may keep it when the request is used for another call
	state    atomic.Int32
	answered chan struct{} // receives a value when the caller can read the outcome
	outcome  backend.Outcome
	panicked any    // a panic of the driver, instead of an outcome
	batch    *batch // guarded by the dispatcher's mutex; nil: the call is queued
	ended    bool   // Run has returned an outcome
}

// LateHandler handles the outcome of a call whose caller has left.
type LateHandler interface {
	// HandleLate gets a runner that returns the outcome, whatever script it gets: so the functions that luagen
	// makes decode late outcomes, too. It must not block.
	HandleLate(r backend.ScriptRunner)
}

// Leavers counts the calls whose callers have left.
type Leavers interface {
	CallerLeft()
	LateHandled() // is called once for each CallerLeft
}

// requests has unused requests. A hold keeps no request, which would keep the caller's context, the
// keys, the arguments and the reply in memory.
var requests = sync.Pool{New: func() any { return new(Request) }}

// NewRequest returns a request that the caller must free.
func (d *Dispatcher) NewRequest(late LateHandler, leavers Leavers) *Request {
	r := requests.Get().(*Request) //nolint:forcetypeassert // It has nothing else.
	r.Dispatcher, r.Late, r.Leavers = d, late, leavers
	return r
}

// Free returns the shortage of replicas of r's outcome, and keeps r for another call. Without an outcome r may
// still be under way: then Free does nothing.
func (r *Request) Free() (shortage error) {
	if r.ended {
		shortage = r.Shortage
		*r = Request{}
		requests.Put(r)
	}
	return shortage
}

// HasLeft reports whether Late gets the outcome. Only the caller asks.
func (r *Request) HasLeft() bool { return r.state.Load() == callerLeft }

// NoteHeard notes how many clients heard the message of r's script.
func (r *Request) NoteHeard(clients int64) { r.Heard = 1 + clients }

// replay is a runner that returns a known outcome.
type replay backend.Outcome

// Run implements [backend.ScriptRunner].
func (r replay) Run(context.Context, *backend.Script, []string, []string) (backend.Reply, error) {
	return r.Reply, r.Err
}

// The states of a request. A request leaves callerWaits once.
const (
	callerWaits int32 = iota // the caller waits for the outcome
	callerDone               // the caller has the outcome, or needs none
	callerLeft               // the caller has left, and Late gets the outcome
)

// Run implements [backend.ScriptRunner]. When ctx ends, it waits for r.Grace, and then returns an
// error that wraps ctx's error, and also [backend.ErrIndeterminate] if the call may be executed. After
// r.Limit it returns such an error without ctx's. It raises a panic of the driver in the caller, unless
// r is Contained. If no other call is under way, the caller itself may send the call: see [Dispatcher.sendDirectly].
func (r *Request) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	d := r.Dispatcher
	r.Script, r.Keys, r.Args = script, keys, args
	if err := ctx.Err(); err != nil && !r.AlwaysSend {
		return backend.Reply{}, err
	}
	if err := d.askAway(ctx, r); err != nil {
		return backend.Reply{}, err
	}
	r.values, r.answered, r.claim = ctx, d.newSignal(), new(backend.Claim)
	if ctx.Value(retries{}) != nil {
		r.closing = d.closing
	}
	switch {
	case r.leaseEnds != 0:
		d.enqueueWaiting(r)
	case r.Replicas > 0:
		d.sendAlone(r)
	case d.sendDirectly(ctx, r):
		return d.outcome(r)
	default:
		d.enqueue(r)
	}
	if ended := r.await(ctx); ended != nil {
		if err := d.leave(r, ended); err != nil {
			d.noteSilence(r, ended)
			return backend.Reply{}, err
		}
	}
	return d.outcome(r)
}

// outcome returns the outcome of r, which no other goroutine uses any more.
func (d *Dispatcher) outcome(r *Request) (backend.Reply, error) {
	d.signals.Put(r.answered)
	r.ended = true
	if r.panicked != nil && !r.Contained {
		panic(r.panicked)
	}
	return r.outcome.Reply, r.outcome.Err
}

func (d *Dispatcher) newSignal() chan struct{} {
	if c, ok := d.signals.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// await returns nil when r has its outcome. Otherwise it returns the reason why the caller waits no
// longer.
func (r *Request) await(ctx context.Context) error {
	var limit <-chan time.Time
	var closing <-chan struct{}
	if r.Limit > 0 {
		timer := time.NewTimer(r.Limit)
		defer timer.Stop()
		limit = timer.C
	}
	if r.closing != nil {
		closing = r.closing.Done()
	}
	select {
	case <-r.answered:
		return nil
	case <-limit:
		return r.noAnswer()
	case <-closing:
		return context.Cause(r.closing)
	case <-ctx.Done():
		if r.waitFor(r.Grace) {
			return nil
		}
		return ctx.Err()
	}
}

// noAnswer returns the reason of a caller that has waited for r.Limit.
func (r *Request) noAnswer() error { return fmt.Errorf("%w %s", errNoAnswer, r.Limit) }

func (r *Request) waitFor(grace time.Duration) bool {
	if grace == 0 {
		return false
	}
	select {
	case <-r.answered:
		return true
	case <-time.After(grace):
		return false
	}
}

// leave ends the caller's waiting for r, for the given reason. If the outcome has come meanwhile, it
// returns nil.
func (d *Dispatcher) leave(r *Request, ended error) error {
	if !r.AlwaysSend && r.claim.Cancel() {
		if !d.move(r, callerDone) {
			<-r.answered // Until then r is in use.
			return nil
		}
		if why := r.claim.Err(); why != nil {
			return fmt.Errorf("%w: %w", ended, why)
		}
		return r.unanswered(ended)
	}
	if r.Late != nil {
		r.Leavers.CallerLeft()
	}
	if !d.move(r, callerLeft) {
		if r.Late != nil {
			r.Leavers.LateHandled()
		}
		<-r.answered // As above.
		return nil
	}
	if !r.Script.Retry.Writes() {
		return r.unanswered(ended)
	}
	return backend.Indeterminate(ended)
}

// unanswered returns the error of a call that certainly wrote nothing, and whose caller has left for the given
// reason.
func (r *Request) unanswered(ended error) error {
	if errors.Is(ended, errNoAnswer) {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ended)
	}
	return ended
}

// move changes the state of r from callerWaits. It reports false if the outcome came before.
func (d *Dispatcher) move(r *Request, to int32) bool {
	d.mu.Lock()
	moved := r.state.CompareAndSwap(callerWaits, to)
	b := r.batch
	d.mu.Unlock()
	if moved && b != nil {
		b.callerStopsWaiting()
	}
	return moved
}

// settle ends r with its outcome, and reports whether its caller waited for that.
func (r *Request) settle() bool {
	if r.state.CompareAndSwap(callerWaits, callerDone) {
		r.answered <- struct{}{}
		return true
	}
	if r.state.Load() == callerLeft && r.Late != nil {
		defer r.Leavers.LateHandled()
		r.Late.HandleLate(replay(r.outcome))
	}
	return false
}

// Run implements [backend.ScriptRunner]. If the caller leaves before the call is sent, the call is
// withdrawn.
func (d *Dispatcher) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	return (&Request{Dispatcher: d}).Run(ctx, script, keys, args)
}

// Runner runs calls whose Requests are alike.
type Runner struct {
	*Dispatcher
	Insistent, Contained, Hasty bool          // as in [Request]
	Limit                       time.Duration // as in [Request]
}

// Run implements [backend.ScriptRunner], like [Dispatcher.Run].
func (r *Runner) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	q := &Request{
		Dispatcher: r.Dispatcher, Insistent: r.Insistent, Contained: r.Contained, Hasty: r.Hasty, Limit: r.Limit,
	}
	return q.Run(ctx, script, keys, args)
}
