package primitives

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// request is one that goes on after its caller has left: then late gets its outcome.
type request[T any] interface {
	run(ctx context.Context) (T, error)
	late(value T, err error)
}

// detached makes a request whose outcome somebody has to know even if ctx ends first: then its late
// gets it, in the background, which Close waits for. The caller gets ctx's error at once, which says
// that the outcome is unknown. The caller must have entered c.
func detached[T any, R request[T]](ctx context.Context, c *Client, r R) (T, error) {
	if ctx.Done() == nil {
		return r.run(ctx)
	}
	f := &flight[T, R]{values: ctx, request: r}
	w := c.dispatch(f)
	select {
	case <-w.landed:
	case <-ctx.Done():
		if f.leave(w) {
			var none T
			return none, backend.Indeterminate(ended(ctx))
		}
		<-w.landed
	}
	return f.value, f.err
}

// flight is a request that may outlive its caller. It is the context that the request runs under:
// that of the caller without its end.
type flight[T any, R request[T]] struct {
	values  context.Context //nolint:containedctx // For the values alone.
	request R
	quit    <-chan struct{} // the courier's

	ended atomic.Bool // by its outcome or by the caller's leaving, whichever comes first
	value T
	err   error
}

// fly implements [journey].
func (f *flight[T, R]) fly(w *courier) bool {
	f.quit = w.quit
	f.value, f.err = f.request.run(f)
	if f.ended.CompareAndSwap(false, true) {
		w.landed <- struct{}{}
		return true
	}
	defer w.client.leave()
	f.request.late(f.value, f.err)
	return false
}

// leave lets the request go on without its caller, and reports false if its outcome is there.
func (f *flight[T, R]) leave(w *courier) bool {
	w.client.stay()
	if !f.ended.CompareAndSwap(false, true) {
		w.client.leave()
		return false
	}
	w.bound()
	return true
}

// Deadline implements [context.Context].
func (f *flight[T, R]) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements [context.Context].
func (f *flight[T, R]) Done() <-chan struct{} { return f.quit }

// Err implements [context.Context].
func (f *flight[T, R]) Err() error {
	select {
	case <-f.quit:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements [context.Context].
func (f *flight[T, R]) Value(key any) any { return f.values.Value(key) }
