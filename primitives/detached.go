package primitives

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// detachedTimeout bounds a request that goes on after its caller has left.
const detachedTimeout = 5 * time.Second

// request is one that goes on after its caller has left. It keeps what it was answered: its caller may
// look at that after nil only.
type request interface {
	run(ctx context.Context) error
	late(err error) // is told what run returned, if the caller had left
}

// detached makes a request whose outcome somebody has to know even if ctx ends first: then its late
// gets it, in the background, which Close waits for. The caller gets ctx's error at once, which says
// that the outcome is unknown. The caller must have entered c.
func detached(ctx context.Context, c *Client, r request) error {
	if ctx.Done() == nil {
		return r.run(ctx)
	}
	f := &flight{values: ctx, client: c, request: r, done: make(chan struct{})}
	go f.fly()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return f.leave(ctx)
	}
}

// flight is a request that may outlive its caller. It is the context that the request runs under:
// that of the caller without its end. Like a context that is cancelled by a defer, it has ended once
// the request is over.
type flight struct {
	values  context.Context //nolint:containedctx // For the values alone.
	client  *Client
	request request

	done  chan struct{} // closed when the outcome is there for the caller, or when it is given up
	ended atomic.Bool   // by its outcome or by the caller's leaving, whichever comes first
	err   error
}

func (f *flight) fly() {
	f.err = f.request.run(f)
	if f.ended.CompareAndSwap(false, true) {
		close(f.done)
		return
	}
	defer f.client.leave()
	f.request.late(f.err)
}

// leave lets the request go on without its caller, unless its outcome is there.
func (f *flight) leave(ctx context.Context) error {
	f.client.stay()
	if !f.ended.CompareAndSwap(false, true) {
		f.client.leave()
		return f.err
	}
	bounded, cancel := context.WithTimeout(f.client.ctx, detachedTimeout)
	context.AfterFunc(bounded, func() { cancel(); close(f.done) })
	return backend.Indeterminate(ended(ctx))
}

// Deadline implements [context.Context].
func (f *flight) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements [context.Context].
func (f *flight) Done() <-chan struct{} { return f.done }

// Err implements [context.Context].
func (f *flight) Err() error {
	select {
	case <-f.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements [context.Context].
func (f *flight) Value(key any) any { return f.values.Value(key) }
