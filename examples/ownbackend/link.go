package redigobackend

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

var errLost = errors.New("connection lost")

// Node implements [fanout.Dialer]: all channels are on the one node.
func (d *driver) Node(context.Context, string) (string, error) { return "", nil }

// Dial implements [fanout.Dialer]. It goes around the pool, which would count the connection, and
// on closing it would wait for the server to confirm that it has unsubscribed, on a silent link for
// ever.
func (d *driver) Dial(
	ctx context.Context, _ string, events fanout.Events,
) (fanout.Link, error) {
	conn, err := promptly(ctx, func() (redis.Conn, error) {
		if d.pool.DialContext != nil {
			return d.pool.DialContext(ctx)
		}
		return d.pool.Dial()
	})
	if err != nil {
		return nil, err
	}
	l := &link{
		conn:    redis.PubSubConn{Conn: conn},
		events:  events,
		answers: make(chan error),
		closed:  make(chan struct{}),
	}
	go l.receive()
	return l, nil
}

// link implements [fanout.Link].
type link struct {
	conn    redis.PubSubConn
	events  fanout.Events
	answers chan error // one for each command, in the order of the commands
	once    sync.Once
	closed  chan struct{}
}

// Subscribe implements [fanout.Link].
func (l *link) Subscribe(ctx context.Context, channels []string) []error {
	return l.ask(ctx, "SUBSCRIBE", channels)
}

// Unsubscribe implements [fanout.Link].
func (l *link) Unsubscribe(ctx context.Context, channels []string) error {
	return errors.Join(l.ask(ctx, "UNSUBSCRIBE", channels)...)
}

// ask sends a command for each channel, in one write, and waits for as many answers. Each names one
// channel only: an error reply names none, and belongs to the command whose turn it is.
func (l *link) ask(ctx context.Context, command string, channels []string) []error {
	// The writing heeds no context, nor does it time out. The hub closes the link then anyway.
	defer context.AfterFunc(ctx, l.Close)()
	for _, channel := range channels {
		_ = l.conn.Conn.Send(command, channel) // Flush returns its error, too.
	}
	if err := l.conn.Conn.Flush(); err != nil {
		return slices.Repeat([]error{err}, len(channels))
	}
	errs := make([]error, len(channels))
	for i := range errs {
		select {
		case errs[i] = <-l.answers:
		case <-l.closed:
			errs[i] = errLost
		}
	}
	return errs
}

// receive reports what arrives until the connection is lost or closed. It is the link's goroutine.
func (l *link) receive() {
	defer l.Close()
	for {
		// Without the pool's read time-out: silence is for the hub to judge, which pings.
		switch m := l.conn.ReceiveWithTimeout(0).(type) {
		case redis.Message:
			l.events.Message(m.Channel, string(m.Data))
		case redis.Subscription:
			if m.Kind == "subscribe" {
				l.events.Subscribed(m.Channel)
			} else {
				l.events.Unsubscribed(m.Channel)
			}
			l.answer(nil)
		case redis.Error:
			l.answer(backend.ParseServerError(m.Error()))
		case error:
			l.events.Lost(m)
			return
		}
	}
}

// answer hands the result of the first command yet to be answered to ask.
func (l *link) answer(err error) {
	select {
	case l.answers <- err:
	case <-l.closed:
	}
}

// Close implements [fanout.Link]. Redigo does not promise that Close may run during a Receive, but does so
// itself when a context ends.
func (l *link) Close() {
	l.once.Do(func() {
		close(l.closed)
		_ = l.conn.Close()
	})
}
