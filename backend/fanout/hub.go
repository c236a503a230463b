package fanout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Hub implements [backend.Subscriber] over a [Dialer]. It is safe for concurrent use.
type Hub struct {
	dialer  contained
	opts    Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // the link workers and the router

	mu         sync.Mutex
	closed     bool
	channels   map[string]*channel
	workers    map[string]*linkWorker // by node
	unplaced   map[*channel]struct{}  // those that have no worker
	mutes      map[string]mute        // by node
	routerRuns bool                   // the router runs
	wakeRouter chan struct{}          // makes the router check again
}

// New returns a hub over dialer. It sends nothing before the first Subscribe. It returns an error
// if an option is out of bounds.
func New(dialer Dialer, opts *Options) (*Hub, error) {
	o := opts.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{
		dialer: contained{dialer}, opts: o, ctx: ctx, cancel: cancel,
		channels:   map[string]*channel{},
		workers:    map[string]*linkWorker{},
		unplaced:   map[*channel]struct{}{},
		mutes:      map[string]mute{},
		wakeRouter: make(chan struct{}, 1),
	}, nil
}

// Subscribe implements [backend.Subscriber]. It blocks until the server has acknowledged the
// subscription, or ctx ends, or the server refuses it, or Options.SubscribeTimeout is used up, or the hub
// is closed ([backend.ErrClosed]). After an error no subscription is left.
func (h *Hub) Subscribe(ctx context.Context, name string, handler backend.Handler) (backend.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("subscribe %q: %w", name, err)
	}
	s := h.add(name, handler)
	select {
	case <-s.ready:
		if s.err != nil {
			return nil, fmt.Errorf("subscribe %q: %w", name, s.err)
		}
		return s, nil
	case <-ctx.Done():
		s.Cancel()
		return nil, fmt.Errorf("subscribe %q: %w", name, ctx.Err())
	}
}

// Close ends all subscriptions, connections and goroutines of the hub, and waits for the
// goroutines, but not for handlers that are running. Subscribe then returns [backend.ErrClosed].
// Closing twice is allowed, also from within a handler.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.cancel()
	for _, c := range h.channels {
		for s := range c.subs {
			h.fail(s, backend.ErrClosed)
		}
	}
	clear(h.channels)
	clear(h.unplaced)
	h.mu.Unlock()
	h.running.Wait()
}

// add registers a subscription, which is ready at once if the server has acknowledged the channel.
func (h *Hub) add(name string, handler backend.Handler) *subscription {
	s := &subscription{
		hub: h, handler: handler, limit: h.opts.Queue,
		began: time.Now(), ready: make(chan struct{}),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.fail(s, backend.ErrClosed)
		return s
	}
	c := h.channels[name]
	if c == nil {
		c = &channel{name: name, subs: map[*subscription]struct{}{}}
		h.channels[name] = c
		h.unplace(c, "")
	}
	s.channel = c
	c.subs[s] = struct{}{}
	switch c.state {
	case acked:
		s.accept()
	case idle:
		c.worker.add(c)
	}
	return s
}

// remove takes s from its channel. After the last one the link's worker unsubscribes (S5), if need be by replacing the
// link, and then at once if it is urgent.
func (h *Hub) remove(s *subscription, urgent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := s.channel
	if c == nil {
		return
	}
	if urgent && c.worker != nil {
		c.worker.due = time.Time{}
	}
	delete(c.subs, s)
	h.dropUnused(c)
}

// dropUnused drops or unsubscribes c if it has no subscriptions. While the server has not answered for
// c it does nothing: it is called again when the answer comes.
func (h *Hub) dropUnused(c *channel) {
	if len(c.subs) > 0 || h.channels[c.name] != c {
		return
	}
	switch c.state {
	case unplaced:
		delete(h.unplaced, c)
		delete(h.channels, c.name)
	case idle, acked:
		c.worker.add(c)
	}
}

// fail ends a subscription that was not acknowledged yet with err, or stops one that was.
func (h *Hub) fail(s *subscription, err error) {
	if s.channel != nil {
		delete(s.channel.subs, s)
	}
	s.stop()
	if !s.acknowledged && s.err == nil {
		s.err = err
		close(s.ready)
	}
}
