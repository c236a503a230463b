package fanout

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	firstPause = 10 * time.Millisecond
	mostPause  = 2 * time.Second

	// steady is how long a subscription must have lasted for its loss to count as the first of a
	// series.
	steady = time.Second
)

// channel is one server-side subscription with its handlers. Hub.mu guards it.
type channel struct {
	name    string
	subs    map[*subscription]struct{}
	state   state
	line    *line     // nil if adrift
	node    string    // where MOVED sent it, while adrift
	due     time.Time // when to place it, while adrift
	failed  int       // failures in a row
	ackedAt time.Time
}

type state int

const (
	adrift        state = iota // on no line, the router places it
	idle                       // on a line, not subscribed
	subscribing                // SUBSCRIBE is being sent
	acked                      // the server acknowledged
	unsubscribing              // UNSUBSCRIBE is being sent
)

// acknowledge makes waiting subscriptions ready, and reports the gap to the others (S2).
func (c *channel) acknowledge() {
	c.state = acked
	c.ackedAt = time.Now()
	for s := range c.subs {
		if s.live {
			s.push(backend.Event{Kind: backend.Resubscribed})
		} else {
			s.accept()
		}
	}
}

// lose hands c to the router after a failure or a loss, and gives up the subscriptions that err
// or their patience ends.
func (h *Hub) lose(c *channel, err error, jitter float64) {
	if c.line != nil {
		delete(c.line.channels, c)
	}
	if c.state == acked && time.Since(c.ackedAt) >= steady {
		c.failed = 0
	}
	for s := range c.subs {
		if !s.live && (final(err) || time.Since(s.began) >= h.opts.Patience) {
			h.fail(s, err)
		}
	}
	node := movedTo(err)
	c.due = time.Now().Add(pause(c.failed, jitter))
	c.failed++
	h.setAdrift(c, node)
	h.reap(c)
}

// pause is nothing for the first failure, then grows to mostPause. jitter is between 0 and 1.
func pause(failed int, jitter float64) time.Duration {
	if failed == 0 {
		return 0
	}
	full := min(firstPause<<min(failed-1, 16), mostPause)
	return full/2 + time.Duration(jitter*float64(full/2))
}

func newJitter() float64 { return rand.Float64() }

// final reports whether err is a refusal that will not pass.
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
