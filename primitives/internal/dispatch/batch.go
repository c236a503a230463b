package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// batch has calls that are sent together. It is also the context under which they run, which ends
// when the batch has ended or is given up. It has a deadline only if its caller sends it, since each caller
// has its own. It has the values of a caller only if there is one caller: a value, such as the span of a trace,
// belongs to one caller.
type batch struct {
	began          time.Time
	deadline       time.Time // zero: none
	toSend         []backend.Call
	values         context.Context //nolint:containedctx // Of the only caller; nil: there are several.
	replicas       int             // for which the only call waits; 0: none
	replicaTimeout time.Duration   // for how long
	waitingCallers atomic.Int32    // callers that wait for an outcome
	ended          atomic.Bool
	replied        atomic.Bool // a call has a reply
	dispatcher     *Dispatcher

	mu            sync.Mutex
	calls         []*Request    // nil: the call has its outcome, and may be in use again
	open          int           // calls without an outcome
	done          chan struct{} // made by the first call of Done
	clientClosing bool
	timer         *time.Timer // gives up a batch that all callers have left

	// The slices of a batch of one call point to these, to be one allocation with it.
	oneToSend [1]backend.Call
	oneCall   [1]*Request
}

// newBatch returns a batch of the calls that were not withdrawn. The caller holds the dispatcher's
// mutex.
func newBatch(calls []*Request) *batch {
	b := &batch{began: time.Now()}
	b.calls, b.toSend = b.oneCall[:0], b.oneToSend[:0]
	if len(calls) > 1 {
		b.calls, b.toSend = make([]*Request, 0, len(calls)), make([]backend.Call, 0, len(calls))
	}
	for _, c := range calls {
		if !c.claim.Begin() {
			continue
		}
		c.batch = b
		b.calls = append(b.calls, c)
		b.toSend = append(b.toSend, backend.Call{
			Script: c.Script, Keys: c.Keys, Args: c.Args, Claim: c.claim,
		})
		if c.state.Load() == callerWaits {
			b.waitingCallers.Add(1)
		}
	}
	if len(b.calls) == 1 {
		b.values = b.calls[0].values
	}
	b.open = len(b.calls)
	return b
}

// run sends the batch. When it returns, each call has an outcome, whatever the backend does.
func (b *batch) run(d *Dispatcher) {
	defer b.finish(d)
	if b.waitingCallers.Load() == 0 {
		b.abandon()
	}
	switch {
	case b.replicas > 0:
		d.waiter.RunThenWait(b, b.toSend, b.replicas, b.replicaTimeout, b.report)
	case d.batcher != nil:
		d.batcher.RunBatch(b, b.toSend, b.report)
	default:
		only := b.toSend[0]
		reply, err := d.runner.Run(backend.WithClaim(b, only.Claim), only.Script, only.Keys, only.Args)
		b.report(0, backend.Outcome{Reply: reply, Err: err})
	}
}

// runThenWait sends the only call and waits for replicas. It starts when fewer than maxWaiting
// other calls wait for replicas. Until then the call can be withdrawn. A call that takes twice its timeout counts no
// more: its connection may be silent, or its node away.
func (b *batch) runThenWait(d *Dispatcher) {
	defer b.finish(d)
	call := b.toSend[0]
	call.Claim.NotSent(nil)
	select {
	case d.waiting <- struct{}{}:
		yield := sync.OnceFunc(func() { <-d.waiting })
		defer yield()
		defer time.AfterFunc(2*b.replicaTimeout, yield).Stop()
	case <-b.Done():
		return
	}
	if call.Claim.Begin() {
		d.waiter.RunThenWait(b, b.toSend, b.replicas, b.replicaTimeout, b.report)
	}
}

// split splits the error of an outcome into the script's error and the shortage of replicas that
// have acknowledged it.
func (b *batch) split(err error, acked int) (script, shortage error) {
	switch {
	case errors.Is(err, backend.ErrReplicas):
		return nil, err // The script ran.
	case err == nil && acked < b.replicas:
		return nil, fmt.Errorf("%w: %d of %d acknowledged within %s",
			backend.ErrReplicas, acked, b.replicas, b.replicaTimeout)
	}
	return err, nil
}

// refuse fails the calls of a batch without sending it: the dispatcher is closed.
func (b *batch) refuse(d *Dispatcher) {
	for place := range b.toSend {
		b.report(place, backend.Outcome{Err: backend.ErrClosed})
	}
	b.finish(d)
}

// report ends a call with its outcome, and the shortage of replicas.
func (b *batch) report(place int, outcome backend.Outcome) {
	script, shortage := b.split(outcome.Err, outcome.Acked)
	outcome.Err = script
	if outcome.Err == nil {
		b.replied.Store(true)
	}
	if c := b.take(place); c != nil {
		c.outcome, c.Shortage = outcome, shortage
		b.noteChange(place, outcome.Err)
		b.dispatcher.noteOutcome(c, b.toSend[place], time.Since(b.began), outcome.Err)
		if c.settle() {
			b.callerStopsWaiting()
		}
	}
}

// noteChange reports a call after which the server may have changed, although its caller may still wait. The claim has
// the last refusal before a repetition.
func (b *batch) noteChange(place int, err error) {
	call := &b.toSend[place]
	if b.dispatcher.OnChange == nil || len(call.Keys) == 0 {
		return
	}
	if serverChanged(err) || serverChanged(call.Claim.Err()) {
		b.dispatcher.OnChange(call.Keys[0])
	}
}

// serverChanged reports whether the server may have changed before a call failed with err: there was no answer, or the
// server refused the call, as a replica does, or a server that is loading its data.
func serverChanged(err error) bool {
	return errors.Is(err, backend.ErrIndeterminate) ||
		errors.Is(err, backend.ErrUnavailable) && errors.As(err, new(*backend.ServerError))
}

// take returns the call at place for its outcome, or nil if the call has an outcome.
func (b *batch) take(place int) *Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.calls[place]
	if c != nil {
		b.calls[place] = nil
		b.open--
	}
	return c
}

// sent reports whether the backend may have sent a call.
func (b *batch) sent() bool {
	return slices.ContainsFunc(b.toSend, func(c backend.Call) bool { return c.Claim.Begun() })
}

func (b *batch) unanswered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// errNoOutcome is the error of a call that the backend did not report before it returned.
var errNoOutcome = errors.New("the backend reported no outcome")

// finish ends the batch when the backend has returned. It raises a panic of the driver in callers
// that still wait.
func (b *batch) finish(d *Dispatcher) {
	value := recover()
	cause := errNoOutcome
	if value != nil {
		cause = fmt.Errorf("panic in the driver: %v", value)
	}
	d.batchDone(b)
	b.end(cause, value)
}

// errNoConnection is the error of a call that was not sent within unsentTimeout.
var errNoConnection = fmt.Errorf("%w: no connection within %s", backend.ErrUnavailable, unsentTimeout)

// failUnsent fails the calls that the backend has not sent yet. It must not send them any more.
func (b *batch) failUnsent() {
	for place, call := range b.toSend {
		b.mu.Lock()
		open := b.calls[place] != nil
		b.mu.Unlock()
		if open && call.Claim.Cancel() {
			b.report(place, backend.Outcome{Err: errNoConnection})
		}
	}
}

// giveUp ends the batch while the backend still waits for replies, which may come late or never.
func (b *batch) giveUp() { b.end(errors.New("no reply came in time"), nil) }

// end ends the batch's context, and the calls that have no outcome. A call that the backend has not
// sent is certainly not executed.
func (b *batch) end(cause error, panicked any) {
	if !b.endContext() {
		return
	}
	for place, call := range b.toSend {
		c := b.take(place)
		if c == nil {
			continue
		}
		c.outcome.Err, c.panicked = noReplyError(c.Script, cause), panicked
		if call.Claim.Cancel() {
			c.outcome.Err = fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
		}
		b.noteChange(place, c.outcome.Err)
		c.settle()
	}
}

// endContext reports false if the batch's context had ended before.
func (b *batch) endContext() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended.Swap(true) {
		return false
	}
	if b.done != nil {
		close(b.done)
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	return true
}

// noReplyError returns the error of a script that was sent, and got no reply.
func noReplyError(script *backend.Script, cause error) error {
	if script.Retry.Writes() {
		return backend.Indeterminate(cause)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, cause)
}

// callerStopsWaiting counts a caller that waits no longer. After the last caller it abandons the
// batch.
func (b *batch) callerStopsWaiting() {
	if b.waitingCallers.Add(-1) == 0 {
		b.abandon()
	}
}

// abandon starts the timer that gives up a batch without callers, unless all calls have outcomes.
func (b *batch) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == 0 || b.timer != nil {
		return
	}
	after := abandonedTimeout
	if b.clientClosing {
		after = closingTimeout
	}
	b.timer = time.AfterFunc(after, b.giveUpUnclaimed)
}

// giveUpUnclaimed gives up the calls of a batch without callers that are certainly not executed,
// and the other calls claimTimeout later.
func (b *batch) giveUpUnclaimed() {
	b.failUnsent()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open > 0 && !b.ended.Load() {
		b.timer = time.AfterFunc(claimTimeout, b.giveUp)
	}
}

// clientCloses shortens the time after which a batch without callers is given up.
func (b *batch) clientCloses() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clientClosing = true
	if b.timer != nil && b.open > 0 {
		b.timer.Reset(closingTimeout)
	}
}

func (b *batch) Deadline() (deadline time.Time, ok bool) { return b.deadline, !b.deadline.IsZero() }

func (b *batch) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil {
		b.done = make(chan struct{})
		if b.ended.Load() {
			close(b.done)
		}
	}
	return b.done
}

func (b *batch) Err() error {
	if b.ended.Load() {
		return context.Canceled
	}
	return nil
}

func (b *batch) Value(key any) any {
	if b.values != nil {
		return b.values.Value(key)
	}
	return nil
}
