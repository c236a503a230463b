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
	// over, all, with the messages that have come.
	others map[string][]string

	// delivered has the messages that the last link has delivered since this one was dialed. It is nil unless the
	// worker is replaced, or takes over.
	delivered map[string][]string
}

// leave forgets a channel without handlers that the link cannot unsubscribe. Hub.mu is held.
func (w *linkWorker) leave(c *channel) {
	w.forget(c)
	if w.others[c.name] = nil; len(w.others) == maxLeft {
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
	n.taking, n.delivered = true, w.record()
	next, err := n.dial(redialWithin)
	if err != nil {
		n.cancel(err)
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		w.due, w.delivered = n.due, nil
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

// record makes the worker note what it delivers to handlers.
func (w *linkWorker) record() map[string][]string {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.delivered = map[string][]string{}
	return w.delivered
}

// note adds a message to some of one channel, of which it keeps the last. Hub.mu is held.
func (w *linkWorker) note(some []string, payload string) []string {
	return append(some[max(0, len(some)+1-w.hub.opts.Queue):], payload)
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

// finish ends a takeover. What the link reports after the answer to a ping was published after the last link's. What it
// reported before may have come there, too: the handlers get what has not, and a notice, since equal messages cannot be
// distinguished.
func (w *linkWorker) finish(link containedLink) error {
	if !w.taking {
		return nil
	}
	if err := w.ping(link); err != nil {
		return err
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for c := range w.channels {
		if came := w.others[c.name]; len(came) > 0 {
			c.acknowledge()
			c.push(missed(came, w.delivered[c.name])...)
		}
		delete(w.others, c.name)
	}
	w.taking, w.delivered = false, nil
	return nil
}

// missed returns the messages that came, without those that were delivered.
func missed(came, delivered []string) (missed []string) {
	for _, message := range came {
		if i := slices.Index(delivered, message); i >= 0 {
			delivered = slices.Delete(delivered, i, i+1)
		} else {
			missed = append(missed, message)
		}
	}
	return missed
}
