package extend

import (
	"context"
	"sync"
)

// underWay counts the calls of one client, and its work in the background, so Close can wait for them.
type underWay struct {
	mu     sync.Mutex
	closed bool
	count  int
	idle   chan struct{} // closed when the client is closed and nothing is under way
}

// beginClose makes enter fail from then on, and counts Close itself as work under way. It reports
// false if beginClose was called before.
func (w *underWay) beginClose() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.closed = true
	w.count++
	return true
}

func (w *underWay) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// enter counts a call as work under way, until leave. If the client is closed, it returns an error.
func (w *underWay) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.count++
	return nil
}

// enterUnlessIdle counts work in the background as work under way. It must leave, too.
// enterUnlessIdle reports false if the client is closed and nothing is under way.
func (w *underWay) enterUnlessIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed && w.count == 0 {
		return false
	}
	w.count++
	return true
}

// leave ends a call, or work in the background.
func (w *underWay) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.closed && w.count == 0 {
		close(w.idle)
	}
}

// awaitIdle returns nil when the client is closed and nothing is under way any more, or ctx's error if that ends
// first.
func (w *underWay) awaitIdle(ctx context.Context) error {
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
