package embedded

import (
	"bufio"
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/hasp-go/hasp/backend/fanout"
)

// hubOptions spare a hub what only a network needs: its pings, and connections kept for later.
var hubOptions = fanout.Options{PingEvery: 24 * time.Hour, IdleTimeout: time.Nanosecond}

// dialer implements [fanout.Dialer] over a server, which is its only node.
type dialer struct{ server *Server }

func (d dialer) Node(context.Context, string) (string, error) { return "", nil }

func (d dialer) Dial(_ context.Context, _ string, events fanout.Events) (fanout.Link, error) {
	return &link{server: d.server, events: events, channels: map[string]struct{}{}}, nil
}

// link implements [fanout.Link]. It is connected while any channel is subscribed, because that is
// how miniredis ends its goroutines: with the last channel of a connection.
type link struct {
	server *Server
	events fanout.Events

	mu       sync.Mutex // orders commands; not taken by what miniredis writes
	conn     *conn
	channels map[string]struct{}
}

// Subscribe returns when the server has answered, which it does at once.
func (l *link) Subscribe(_ context.Context, channels []string) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		l.conn = newConn(l.events)
	}
	for _, channel := range channels {
		l.channels[channel] = struct{}{}
	}
	l.server.dispatch(l.conn.peer, append([]string{"SUBSCRIBE"}, channels...))
	return nil
}

func (l *link) Unsubscribe(_ context.Context, channels []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, channel := range channels {
		delete(l.channels, channel)
	}
	if l.conn != nil {
		l.server.dispatch(l.conn.peer, append([]string{"UNSUBSCRIBE"}, channels...))
	}
	if l.conn != nil && len(l.channels) == 0 {
		l.conn.end()
		l.conn = nil
	}
	return nil
}

func (l *link) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.server.dispatch(l.conn.peer, []string{"UNSUBSCRIBE"})
		l.conn.end()
		l.conn = nil
	}
}

// conn is the receiving end of a connection. Miniredis writes acknowledgements and messages to it
// in whole frames, in the order in which they happened, and blocks the whole server until a write
// returns: it never blocks.
type conn struct {
	peer   *server.Peer
	events fanout.Events

	// The peer's lock guards these, and all calls of events.
	partial []byte // of a frame
	ended   bool
}

func newConn(events fanout.Events) *conn {
	c := &conn{events: events}
	c.peer = server.NewPeer(bufio.NewWriter(c))
	return c
}

// end makes the connection mute: a message that is on its way was published for subscriptions that
// have ended, and must not overtake what a new connection receives.
func (c *conn) end() {
	c.peer.Block(func(*server.Writer) { c.ended = true })
}

// Write implements [io.Writer]. A frame may come in pieces.
func (c *conn) Write(p []byte) (int, error) {
	if c.ended {
		return len(p), nil
	}
	c.partial = append(c.partial, p...)
	for len(c.partial) > 0 {
		source := bytes.NewReader(c.partial)
		buffered := bufio.NewReader(source)
		frame, err := server.ParseReply(buffered)
		if err != nil {
			break // the rest is still to come
		}
		c.report(frame)
		c.partial = c.partial[len(c.partial)-source.Len()-buffered.Buffered():]
	}
	return len(p), nil
}

func (c *conn) report(frame any) {
	parts, _ := frame.([]any)
	if len(parts) != 3 {
		return
	}
	channel, _ := parts[1].(string)
	switch parts[0] {
	case "subscribe":
		c.events.Subscribed(channel)
	case "unsubscribe":
		c.events.Unsubscribed(channel)
	case "message":
		payload, _ := parts[2].(string)
		c.events.Message(channel, payload)
	}
}
