package primitives

import (
	"context"
	"time"
)

// detachedTimeout bounds a request that goes on after its caller has left.
const detachedTimeout = 5 * time.Second

// courier is a goroutine that makes requests for callers who may leave before the outcome is there.
// It makes one after the other, as long as others are under way: a new goroutine for each, with its
// channels, would cost as much as all else that a primitive adds to the driver.
type courier struct {
	client   *Client
	journeys chan journey // closed after the last; nil before the first rest

	// landed gets an element for each outcome that the caller waits for. It has no buffer, so that the
	// courier is not sent out again before the caller has seen that.
	landed chan struct{}
	quit   chan struct{} // closed when the last request is given up
}

// journey is a request that a courier makes.
type journey interface {
	// fly makes the request, and reports false if the caller had left before its outcome.
	fly(w *courier) bool
}

func (w *courier) work(j journey) {
	for ok := true; ok; j, ok = <-w.journeys {
		if !j.fly(w) || !w.client.rest(w) {
			return
		}
	}
}

// bound bounds the courier's request, whose caller leaves. It is the courier's last.
func (w *courier) bound() {
	bounded, cancel := context.WithTimeout(w.client.ctx, detachedTimeout)
	context.AfterFunc(bounded, func() { cancel(); close(w.quit) })
}

// dispatch sends a courier on a journey.
func (c *Client) dispatch(j journey) *courier {
	if w := c.resting(); w != nil {
		w.journeys <- j
		return w
	}
	w := &courier{client: c, landed: make(chan struct{}), quit: make(chan struct{})}
	go w.work(j)
	return w
}

// resting returns a courier that rested, or nil.
func (c *Client) resting() *courier {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.couriers) - 1
	if last < 0 {
		return nil
	}
	w := c.couriers[last]
	c.couriers = c.couriers[:last]
	return w
}

// rest keeps a courier for the next journey, and reports false if there are enough for the calls
// under way. Its own caller is about to leave.
func (c *Client) rest(w *courier) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.couriers) >= c.busy-1 {
		return false
	}
	if w.journeys == nil {
		w.journeys = make(chan journey, 1)
	}
	c.couriers = append(c.couriers, w)
	return true
}

// dismiss ends couriers that rest while fewer calls are under way. c.mu is held.
func (c *Client) dismiss() {
	for last := len(c.couriers) - 1; last >= c.busy; last-- {
		close(c.couriers[last].journeys)
		c.couriers = c.couriers[:last]
	}
}
