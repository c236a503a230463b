package fanout

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	initialBackoff = 10 * time.Millisecond
	maxBackoff     = 500 * time.Millisecond
	maxMutePause   = 2 * time.Second // after links on which SUBSCRIBE is answered, but not acknowledged

	// stableAfter is how long a subscription must have been acknowledged so that its loss counts as a
	// first failure.
	stableAfter = time.Second
)

// channel is one server-side subscription with its handlers. Hub.mu guards it.
type channel struct {
	name    string
	subs    map[*subscription]struct{}
	state   channelState
	worker  *linkWorker // nil while unplaced
	node    string      // that MOVED named, while unplaced
	due     time.Time   // when to place it, while unplaced
	failed  int         // failures in a row
	ackedAt time.Time
}

// channelState is a state of a subscription, from the first handler's request to the end.
//
//	           the router places it on a connection
//	unplaced --------------------------------------> idle --> gone: no waiter needs it any more
//	 ^ ^                                             |  ^
//	 | |         the connection sends SUBSCRIBE      |  |
//	 | |   refused: again, in pauses that grow       v  |
//	 | '---------------------------------- subscribing  |
//	 |                                               |  |
//	 |      the server acknowledges: Subscribe       |  |
//	 |      returns, or, after a loss, each handler  |  |
//	 |      gets a gap (Resubscribed)                |  | UNSUBSCRIBE was answered
//	 |   the connection broke or went silent, or     v  |
//	 '-- its node is not the primary any more ---- acked -- unsubscribing
//	                                           messages     the last handler has
//	                                        to handlers     cancelled
//
// If the connection cannot unsubscribe, an acked channel without handlers is gone, and left to the connection.
type channelState int

const (
	unplaced      channelState = iota // it has no worker, the router places it
	idle                              // it has a worker, and is not subscribed
	subscribing                       // SUBSCRIBE is being sent
	acked                             // the server acknowledged
	unsubscribing                     // UNSUBSCRIBE is being sent
)

// acknowledge makes waiting subscriptions ready, and reports the gap to the others (S2).
func (c *channel) acknowledge() {
	c.state = acked
	c.ackedAt = time.Now()
	delete(c.worker.hub.mutes, c.worker.node)
	for s := range c.subs {
		if s.acknowledged {
			s.push(backend.Event{Kind: backend.EventResubscribed})
		} else {
			s.accept()
		}
	}
}

func (c *channel) push(payloads ...string) {
	for s := range c.subs {
		for _, payload := range payloads {
			s.push(backend.Event{Payload: payload})
		}
	}
}

// reroute gives c to the router after a failure or a loss. It fails the subscriptions that were not
// acknowledged yet, if err is final or if they have used up Options.SubscribeTimeout.
func (h *Hub) reroute(c *channel, err error, jitter float64) {
	if c.worker != nil {
		delete(c.worker.channels, c)
	}
	if c.state == acked && time.Since(c.ackedAt) >= stableAfter {
		c.failed = 0
	}
	for s := range c.subs {
		if !s.acknowledged && (final(err) || time.Since(s.began) >= h.opts.SubscribeTimeout) {
			h.fail(s, err)
		}
	}
	node := movedTo(err)
	c.due = time.Now().Add(backoff(c.failed, maxBackoff, jitter))
	c.failed++
	h.unplace(c, node)
	h.dropUnused(c)
}

// backoff returns the pause after a failure: 0 after the first one, then up to most. jitter is between 0 and 1.
func backoff(failed int, most time.Duration, jitter float64) time.Duration {
	if failed == 0 {
		return 0
	}
	full := min(initialBackoff<<min(failed-1, 16), most)
	return full/2 + time.Duration(jitter*float64(full/2))
}

func newJitter() float64 { return rand.Float64() }

// final reports whether err is a refusal that another try would meet again.
func final(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && !backend.NotExecuted(server.Code)
}

// movedTo returns the node that a MOVED refusal names: "MOVED slot host:port".
func movedTo(err error) string {
	var server *backend.ServerError
	if !errors.As(err, &server) || server.Code != "MOVED" {
		return ""
	}
	_, node, _ := strings.Cut(server.Message, " ")
	if strings.HasPrefix(node, ":") {
		return "" // the server does not know its own host; the dialer must
	}
	return node
}
