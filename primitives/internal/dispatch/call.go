package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Request is a call, and what becomes of it if its caller leaves. It is used once: after Do it is set
// to a new value, or left alone.
type Request struct {
	Script *backend.Script
	Keys   []string
	Args   []string

	// Must says that the call is sent even if its caller leaves before. Otherwise it is withdrawn
	// then, if that is not too late.
	Must bool

	// Grace is how long the caller stays when its context ends, for an answer that is on its way.
	Grace time.Duration

	// Contained makes a panic of the driver an error, for callers that are goroutines of ours.
	Contained bool

	// Heir gets the outcome if the caller has left the call behind. Nil: nobody needs it.
	Heir Heir

	values   context.Context //nolint:containedctx // For the values alone.
	claim    *backend.Claim  // apart: the backend may keep it when the request is used for another call
	state    atomic.Int32
	answered chan struct{} // gets a value when the outcome is there for the caller
	outcome  backend.Outcome
	panicked any    // what the driver raised in its place
	batch    *batch // guarded by the dispatcher's mutex; nil: the call is queued
}

// Heir acts on the outcome of a call in place of its caller.
type Heir interface {
	// Stay is called by Do before it leaves the call behind.
	Stay()

	// Late gets the outcome, once for each Stay, and must not block. If the call was answered in the
	// instant of Stay, answered is false: the caller has the outcome.
	Late(outcome backend.Outcome, answered bool)
}

// The states of a request. It leaves waiting once.
const (
	waiting int32 = iota // its caller waits
	over                 // its caller has the outcome, or needs none
	left                 // its caller has left it behind
)

// Do sends r, and returns the outcome. When ctx ends it returns at once, but for r.Grace, with an
// error that wraps ctx's, and [backend.ErrIndeterminate] too if the call may be executed. It panics
// with what the driver panics with, unless r is contained.
func (d *Dispatcher) Do(ctx context.Context, r *Request) (backend.Reply, error) {
	if err := ctx.Err(); err != nil && !r.Must {
		return backend.Reply{}, err
	}
	r.values, r.answered, r.claim = ctx, d.channel(), new(backend.Claim)
	d.enqueue(r)
	select {
	case <-r.answered:
	case <-ctx.Done():
		if !r.waitFor(r.Grace) {
			if err := d.leave(r, ctx.Err()); err != nil {
				return backend.Reply{}, err
			}
		}
	}
	d.channels.Put(r.answered)
	if r.panicked != nil && !r.Contained {
		panic(r.panicked)
	}
	return r.outcome.Reply, r.outcome.Err
}

// channel returns an empty channel for an answer.
func (d *Dispatcher) channel() chan struct{} {
	if c, ok := d.channels.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// waitFor reports whether the outcome comes within the grace.
func (r *Request) waitFor(grace time.Duration) bool {
	if grace == 0 {
		return false
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.answered:
		return true
	case <-timer.C:
		return false
	}
}

// leave ends the caller's part in r, whose context has ended with the given error. It returns nil if
// the outcome came in this instant.
func (d *Dispatcher) leave(r *Request, ended error) error {
	if !r.Must && r.claim.Withdraw() {
		if !d.move(r, over) {
			<-r.answered // Until then r is in use.
			return nil
		}
		if why := r.claim.Why(); why != nil {
			return fmt.Errorf("%w: %w", ended, why)
		}
		return ended
	}
	if r.Heir != nil {
		r.Heir.Stay()
	}
	if !d.move(r, left) {
		if r.Heir != nil {
			r.Heir.Late(backend.Outcome{}, false)
		}
		<-r.answered // As above.
		return nil
	}
	if !r.Script.Retry.Writes() {
		return ended
	}
	return backend.Indeterminate(ended)
}

// move moves r from waiting to another state, and reports false if its outcome came before. Its
// batch counts who waits.
func (d *Dispatcher) move(r *Request, to int32) bool {
	d.mu.Lock()
	moved := r.state.CompareAndSwap(waiting, to)
	b := r.batch
	d.mu.Unlock()
	if moved && b != nil {
		b.lose()
	}
	return moved
}

// settle ends r with its outcome, and reports whether its caller waited for that.
func (r *Request) settle() bool {
	if r.state.CompareAndSwap(waiting, over) {
		r.answered <- struct{}{}
		return true
	}
	if r.state.Load() == left && r.Heir != nil {
		r.Heir.Late(r.outcome, true)
	}
	return false
}

// Run implements [backend.ScriptRunner]. A call whose caller leaves is withdrawn, if that is not too
// late.
func (d *Dispatcher) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return d.Do(ctx, &Request{Script: script, Keys: keys, Args: args})
}

// Background runs calls for goroutines of ours, which no panic of the driver may end.
type Background struct{ *Dispatcher }

// Run implements [backend.ScriptRunner], as Run of the dispatcher does.
func (b Background) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return b.Do(ctx, &Request{Script: script, Keys: keys, Args: args, Contained: true})
}
