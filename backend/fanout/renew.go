package fanout

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

const (
	// maxLeft is how many channels are left to a link before it is replaced early.
	maxLeft = 1000

	// redialWithin bounds the dialing of the next link. The pings of the link in use wait for it.
	redialWithin = time.Second
)

var errReplaced = errors.New("link replaced")

// takeover is what a worker knows about its link's replacement, by which the subscriptions end that are left to it.
type takeover struct {
	due    time.Time // when the link may be replaced
	taking bool      // the link does not yet serve alone

	// others are the channels that the link has subscribed besides the worker's: those left to it, or, while it is taking
	// over, all. True: a message has come.
	others map[string]bool
}

// leave forgets a channel without handlers that the link cannot unsubscribe. Hub.mu is held.
func (w *linkWorker) leave(c *channel) {
	w.forget(c)
	if w.others[c.name] = false; len(w.others) == maxLeft {
		w.due = time.Time{}
	}
}

// renewIn returns the time until the link is to be replaced, if channels are left to it.
func (w *linkWorker) renewIn() time.Duration {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if len(w.others) == 0 {
		return math.MaxInt64
	}
	return time.Until(w.due)
}

// renew hands the channels over to a worker with another link, and then returns errReplaced. If that cannot be dialed, this
// link stays.
func (w *linkWorker) renew(link containedLink) error {
	wanted := w.wanted()
	if len(wanted) == 0 {
		return w.endIfEmpty()
	}
	n := w.hub.newWorker(w.node)
	n.taking = true
	next, err := n.dial(redialWithin)
	if err != nil {
		n.cancel(err)
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		w.due = n.due
		return context.Cause(w.ctx)
	}
	for some := range slices.Chunk(wanted, channelsPerCall) {
		if err = n.subscribe(next, some); err != nil {
			break
		}
	}
	if err == nil {
		err = w.ping(link)
	}
	if err != nil {
		n.cancel(err)
		next.Close()
		return err
	}
	n.takeOver(w, next)
	return errReplaced
}

// takeOver starts n with the channels of w, whose link has now reported all that was published before n's had subscribed.
func (n *linkWorker) takeOver(w *linkWorker, next containedLink) {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	for c := range w.channels {
		if _, subscribed := n.others[c.name]; subscribed || c.state == idle {
			delete(w.channels, c)
			n.channels[c], c.worker = struct{}{}, n
			n.add(c)
		}
	}
	n.start(func() (containedLink, error) { return next, nil })
}

// finish ends a takeover. What the link reports after the answer to a ping was published after the last link's; what it
// reported before may have come there, too, or may not: the handlers get a notice.
func (w *linkWorker) finish(link containedLink) error {
	if !w.taking {
		return nil
	}
	if err := w.ping(link); err != nil {
		return err
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.taking = false
	for c := range w.channels {
		if w.others[c.name] {
			c.acknowledge()
		}
		delete(w.others, c.name)
	}
	return nil
}
