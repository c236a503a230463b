package fanout

import (
	"context"
	"time"
)

// unplace gives c to the router, and starts the router if it does not run. node may be empty.
func (h *Hub) unplace(c *channel, node string) {
	c.state, c.worker, c.node = unplaced, nil, node
	if h.closed {
		return
	}
	h.unplaced[c] = struct{}{}
	if h.routerRuns {
		signal(h.wakeRouter)
		return
	}
	h.routerRuns = true
	h.running.Add(1)
	go h.route()
}

// route gives unplaced channels to workers, until there are none.
func (h *Hub) route() {
	defer h.running.Done()
	for {
		due, wait := h.nextDue()
		if len(due) == 0 && wait == 0 {
			return
		}
		h.placeAll(due)
		if len(due) == 0 && !h.pauseRouter(wait) {
			return
		}
	}
}

// placeAll finds the nodes of channels. If one lookup fails it makes no others: they would fail as
// well, perhaps slowly, and delay the channels when lookups succeed again.
func (h *Hub) placeAll(due []destination) {
	var failed error
	for _, d := range due {
		found := lookup{node: d.node, err: failed}
		if d.node != "" {
			found.err = nil
		} else if failed == nil {
			found = h.nodeOf(d.channel.name)
			failed = found.err
		}
		h.place(d.channel, found)
	}
}

// destination is a channel with the node that MOVED named for it, or none.
type destination struct {
	channel *channel
	node    string
}

// nextDue returns the channels to place now, or the time until there is one. If no channel is unplaced
// it returns neither, and the router ends.
func (h *Hub) nextDue() (due []destination, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for c := range h.unplaced {
		rest := c.due.Sub(now)
		switch {
		case rest <= 0:
			due = append(due, destination{c, c.node})
		case wait == 0 || rest < wait:
			wait = rest
		}
	}
	if len(h.unplaced) == 0 {
		h.routerRuns = false
	}
	return due, wait
}

func (h *Hub) pauseRouter(wait time.Duration) bool {
	select {
	case <-time.After(wait):
	case <-h.wakeRouter:
	case <-h.ctx.Done():
		return false
	}
	return true
}

// lookup is the answer to the question for a channel's node.
type lookup struct {
	node string
	err  error
}

func (h *Hub) nodeOf(name string) lookup {
	ctx, cancel := context.WithTimeout(h.ctx, h.opts.DialWithin)
	defer cancel()
	node, err := h.dialer.Node(ctx, name)
	return lookup{node, err}
}

// place gives c to the worker for its node, unless c was cancelled meanwhile.
func (h *Hub) place(c *channel, found lookup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.unplaced[c]; !ok || h.closed {
		return
	}
	if found.err != nil {
		h.reroute(c, found.err, newJitter())
		return
	}
	if until := h.mutes[found.node].until; time.Now().Before(until) {
		c.due = until
		return
	}
	delete(h.unplaced, c)
	w := h.workers[found.node]
	if w == nil {
		w = h.newWorker(found.node)
		w.start(func() (containedLink, error) { return w.dial(h.opts.DialWithin) })
	}
	c.state, c.worker = idle, w
	w.channels[c] = struct{}{}
	w.add(c)
}

// signal wakes the goroutine that waits on ch, or the next one that will.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
