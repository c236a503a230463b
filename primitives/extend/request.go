package extend

import (
	"context"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// Request runs one script whose outcome must not be lost. If the caller leaves before the answer,
// Late gets the outcome, and Close of the client waits for that. Pass the Request to one generated
// function, as its runner. It is used once: set it to a new value for another request.
//
// A caller leaves when its context ends. It gets the context's error, and also
// [backend.ErrIndeterminate] if the request may be executed.
type Request struct {
	Object *Object
	Late   LateHandler

	// AlwaysSend says that the request is sent even if ctx ends before. Otherwise the end of ctx
	// withdraws a request that was not sent yet.
	AlwaysSend bool

	// Grace is how long the caller still waits for the answer after its context has ended.
	Grace time.Duration

	// Limit is how long the caller waits for the answer at most. Zero means that only its context bounds
	// that.
	Limit time.Duration

	call     dispatch.Request
	left     bool // the caller has left, and Late gets the outcome; only the caller reads this field
	answered bool // the caller has the outcome, and no other goroutine uses the call
}

// requests has unused requests. A hold keeps no request, which would keep the caller's context, the
// keys, the arguments and the reply in memory.
var requests = sync.Pool{New: func() any { return new(Request) }}

// newRequest returns an unused request. The caller must free it.
func newRequest(o *Object, late LateHandler) *Request {
	q := requests.Get().(*Request) //nolint:forcetypeassert // It has nothing else.
	q.Object, q.Late = o, late
	return q
}

// free returns q to the pool after its run, and returns the shortage of replicas of its outcome.
// Without an outcome q may still be under way: then free keeps it.
func (q *Request) free() (shortage error) {
	if q.answered {
		shortage = q.call.Shortage
		*q = Request{}
		requests.Put(q)
	}
	return shortage
}

// LateHandler handles the outcome of a request whose caller has left.
type LateHandler interface {
	// HandleLate gets a runner that returns the outcome at once, whatever script it gets.
	// HandleLate calls the same generated function with r, under any context, and gets the result
	// that the caller would have got. It must not block: long work belongs in [Object.Go].
	HandleLate(r backend.ScriptRunner)
}

// Run implements [backend.ScriptRunner].
func (q *Request) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	q.call.Script, q.call.Keys, q.call.Args = script, keys, args
	q.call.AlwaysSend, q.call.Grace, q.call.Limit, q.call.Late = q.AlwaysSend, q.Grace, q.Limit, (*lateReceiver)(q)
	reply, err := q.Object.core.calls.Do(ctx, &q.call)
	q.answered = err == nil
	return reply, err
}

// lateReceiver is a request, for the dispatcher.
type lateReceiver Request

// CallerLeft implements [dispatch.LateReceiver].
func (q *lateReceiver) CallerLeft() {
	q.left = true
	q.Object.core.work.goOn()
	q.Object.core.orphans.Note(q.Object.id.Object, 1)
}

// LateOutcome implements [dispatch.LateReceiver].
func (q *lateReceiver) LateOutcome(outcome backend.Outcome, answered bool) {
	defer q.Object.core.work.leave()
	defer q.Object.core.orphans.Note(q.Object.id.Object, -1)
	if !answered {
		q.left = false
		return
	}
	q.Late.HandleLate(replay(outcome))
}

// replay is a runner that returns a known outcome. So the generated functions decode late outcomes,
// too.
type replay backend.Outcome

// Run implements [backend.ScriptRunner].
func (r replay) Run(
	context.Context, *backend.Script, []string, []string,
) (backend.Reply, error) {
	return r.Reply, r.Err
}
