package primitives

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// detachedTimeout bounds a request that goes on after its caller has left.
const detachedTimeout = 5 * time.Second

// request is one that goes on after its caller has left: then late gets its outcome.
type request[T any] interface {
	run(ctx context.Context) (T, error)
	late(value T, err error)
}

// detached makes a request whose outcome somebody has to know even if ctx ends first: then its late
// gets it, in the background, which Close waits for. The caller gets ctx's error at once, which says
// that the outcome is unknown. The caller must have entered c.
func detached[T any](ctx context.Context, c *Client, r request[T]) (T, error) {
	if ctx.Done() == nil {
		return r.run(ctx)
	}
	f := &flight[T]{
		values: ctx, client: c, request: r, quit: make(chan struct{}),
		landed: make(chan struct{}),
	}
	go f.fly()
	select {
	case <-f.landed:
		return f.value, f.err
	case <-ctx.Done():
		return f.leave(ctx)
	}
}

// flight is a request that may outlive its caller. It is the context that the request runs under:
// that of the caller without its end.
type flight[T any] struct {
	values  context.Context //nolint:containedctx // For the values alone.
	client  *Client
	request request[T]

	quit   chan struct{} // closed when the request is given up
	landed chan struct{} // closed when its outcome is there for the caller
	ended  atomic.Bool   // by its outcome or by the caller's leaving, whichever comes first
	value  T
	err    error
}

func (f *flight[T]) fly() {
	f.value, f.err = f.request.run(f)
	if f.ended.CompareAndSwap(false, true) {
		close(f.landed)
		return
	}
	defer f.client.leave()
	f.request.late(f.value, f.err)
}

// leave lets the request go on without its caller, unless its outcome is there.
func (f *flight[T]) leave(ctx context.Context) (T, error) {
	f.client.stay()
	if !f.ended.CompareAndSwap(false, true) {
		f.client.leave()
		<-f.landed
		return f.value, f.err
	}
	bounded, cancel := context.WithTimeout(f.client.ctx, detachedTimeout)
	context.AfterFunc(bounded, func() { cancel(); close(f.quit) })
	var none T
	return none, backend.Indeterminate(ended(ctx))
}

// Deadline implements [context.Context].
func (f *flight[T]) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements [context.Context].
func (f *flight[T]) Done() <-chan struct{} { return f.quit }

// Err implements [context.Context].
func (f *flight[T]) Err() error {
	select {
	case <-f.quit:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements [context.Context].
func (f *flight[T]) Value(key any) any { return f.values.Value(key) }
