// Package busy counts what is under way in a client so that Close can wait for it.
package busy

import (
	"context"
	"sync"
)

// Work is what is under way in one client: calls, and work in the background.
type Work struct {
	mu     sync.Mutex
	closed bool
	count  int
	idle   chan struct{} // closed when the client is closed and nothing is under way
}

// New returns the work of a client in which nothing is under way.
func New() *Work { return &Work{idle: make(chan struct{})} }

// BeginClose makes Enter fail from then on, and counts Close itself as work under way. It reports
// false if BeginClose was called before.
func (w *Work) BeginClose() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.closed = true
	w.count++
	return true
}

// IsClosed reports whether BeginClose was called.
func (w *Work) IsClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// Enter counts a call as work under way, until Leave. It reports false if the client is closed.
func (w *Work) Enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.count++
	return true
}

// EnterUnlessIdle counts work in the background as work under way. It must leave, too.
// EnterUnlessIdle reports false if the client is closed and nothing is under way.
func (w *Work) EnterUnlessIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed && w.count == 0 {
		return false
	}
	w.count++
	return true
}

// Continue counts work that continues after a call has left. It must leave, too.
func (w *Work) Continue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
}

// Leave ends a call, or work in the background.
func (w *Work) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.closed && w.count == 0 {
		close(w.idle)
	}
}

// AwaitIdle returns nil when the client is closed and nothing is under way any more, or ctx's error if that ends
// first.
func (w *Work) AwaitIdle(ctx context.Context) error {
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
