package extend

import (
	"context"

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

	call dispatch.Request
}

// LateHandler handles the outcome of a request whose caller has left.
type LateHandler interface {
	// HandleLate gets a runner that returns the outcome at once, whatever script it gets.
	// HandleLate calls the same generated function with r, under any context, and gets the result
	// that the caller would have got. It must not block: long work belongs in [Object.Go].
	HandleLate(r backend.ScriptRunner)
}

// Run implements [backend.ScriptRunner].
func (q *Request) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	q.call.Dispatcher, q.call.AlwaysSend = q.Object.core.calls, q.AlwaysSend
	q.call.Late, q.call.Leavers = q.Late, (*leavers)(q.Object)
	return q.call.Run(ctx, script, keys, args)
}

// leavers is an object, for the requests whose callers have left.
type leavers Object

// CallerLeft implements [dispatch.Leavers].
func (o *leavers) CallerLeft() {
	o.core.work.enterUnlessIdle() // Its caller is under way.
	o.core.orphans.Note(o.id.Object, 1)
}

func (o *leavers) LateHandled() {
	o.core.orphans.Note(o.id.Object, -1)
	o.core.work.leave()
}
