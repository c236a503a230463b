package fanout

import (
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// subscription is one handler of a channel, with the events that wait for it.
type subscription struct {
	hub     *Hub
	handler backend.Handler
	limit   int
	began   time.Time

	// Hub.mu guards these. err may be read once ready is closed.
	channel      *channel
	acknowledged bool // the server acknowledged once
	ready        chan struct{}
	err          error

	mu      sync.Mutex
	queue   []backend.Event
	running bool // drain runs
	ended   bool
}

// Cancel implements [backend.Subscription]. A call of the handler that was about to begin may
// still run while Cancel returns.
func (s *subscription) Cancel() {
	s.stop()
	s.hub.remove(s, false)
}

// End implements [backend.Ender].
func (s *subscription) End() {
	s.stop()
	s.hub.remove(s, true)
}

func (s *subscription) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.queue = nil
}

// accept makes the subscription ready. Hub.mu is held.
func (s *subscription) accept() {
	s.acknowledged = true
	close(s.ready)
}

// push queues e for the handler. It never blocks.
func (s *subscription) push(e backend.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.queue = enqueue(s.queue, e, s.limit)
	if !s.running {
		s.running = true
		go s.drain()
	}
}

// enqueue appends e to queue. The last of limit places is kept for the notice that takes the place
// of events for which there is no room. A notice at the end stands for all that is dropped after
// it, because it is yet to be delivered.
func enqueue(queue []backend.Event, e backend.Event, limit int) []backend.Event {
	n := len(queue)
	if n >= limit-1 {
		e = backend.Event{Kind: backend.EventResubscribed}
	}
	if n > 0 && e.Kind == backend.EventResubscribed && queue[n-1].Kind == backend.EventResubscribed {
		return queue
	}
	return append(queue, e)
}

// drain calls the handler for what is queued, and ends when nothing is left.
func (s *subscription) drain() {
	for {
		e, ok := s.pop()
		if !ok {
			return
		}
		s.handler(e)
	}
}

func (s *subscription) pop() (backend.Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.running = false
		s.queue = nil
		return backend.Event{}, false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e, true
}
