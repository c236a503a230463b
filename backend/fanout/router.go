package fanout

import (
	"context"
	"time"
)

// setAdrift gives c to the router, which is started if it does not run. node may be empty.
func (h *Hub) setAdrift(c *channel, node string) {
	c.state, c.line, c.node = adrift, nil, node
	if h.closed {
		return
	}
	h.adrift[c] = struct{}{}
	if h.routing {
		signal(h.nudge)
		return
	}
	h.routing = true
	h.workers.Add(1)
	go h.route()
}

// route puts channels that are adrift on lines, until there are none.
func (h *Hub) route() {
	defer h.workers.Done()
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

// placeAll finds the nodes of channels. One answer that fails stands for all: where asking takes
// long to fail, asking for each would hold up the others once asking succeeds again.
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

// nextDue returns the channels to place now, or how long there are none to place. If none is
// adrift it returns neither, and the router has ended.
func (h *Hub) nextDue() (due []destination, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for c := range h.adrift {
		rest := c.due.Sub(now)
		switch {
		case rest <= 0:
			due = append(due, destination{c, c.node})
		case wait == 0 || rest < wait:
			wait = rest
		}
	}
	if len(h.adrift) == 0 {
		h.routing = false
	}
	return due, wait
}

func (h *Hub) pauseRouter(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.nudge:
	case <-h.ctx.Done():
		return false
	}
	return true
}

// lookup is the outcome of asking for a channel's node.
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

// place puts c on the line to its node, unless it was cancelled meanwhile.
func (h *Hub) place(c *channel, found lookup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.adrift[c]; !ok || h.closed {
		return
	}
	if found.err != nil {
		h.lose(c, found.err, newJitter())
		return
	}
	delete(h.adrift, c)
	l := h.lines[found.node]
	if l == nil {
		l = h.newLine(found.node)
	}
	c.state, c.line = idle, l
	l.channels[c] = struct{}{}
	l.add(c)
}

// signal wakes the goroutine that waits on ch, or the next one that will.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
