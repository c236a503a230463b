package fanout

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// batch bounds the channels of one call of a link, so that its answers come within
// Options.AnswerWithin over a slow network too.
const batch = 128

var (
	errIdle   = errors.New("link idle")
	errSilent = errors.New("link silent")
	errEnded  = errors.New("subscription ended by the server")
)

// line is the life of one link, from dialing to loss. Its worker makes all calls of the link.
type line struct {
	hub    *Hub
	node   string
	ctx    context.Context // ends when the link is lost or the hub closed
	cancel context.CancelCauseFunc
	wake   chan struct{}

	pinged    time.Time   // when last; only the worker uses it
	following atomic.Bool // a call of Left is under way

	// Hub.mu guards these.
	channels map[*channel]struct{}
	todo     []*channel // those whose state may ask for a call; repeats do no harm
}

// newLine starts a line to node. Hub.mu is held.
func (h *Hub) newLine(node string) *line {
	l := &line{
		hub: h, node: node,
		wake:     make(chan struct{}, 1),
		channels: map[*channel]struct{}{},
	}
	l.ctx, l.cancel = context.WithCancelCause(h.ctx)
	h.lines[node] = l
	h.workers.Add(1)
	go l.run()
	return l
}

// add makes the worker look at c. Hub.mu is held.
func (l *line) add(c *channel) {
	l.todo = append(l.todo, c)
	signal(l.wake)
}

// run is the line's worker.
func (l *line) run() {
	defer l.hub.workers.Done()
	link, err := l.dial()
	if err == nil {
		// Deferred, so that what was lost finds its new place without waiting for a slow Close.
		defer link.Close()
		err = l.serve(link)
	}
	l.cancel(err)
	l.scatter(err)
}

func (l *line) dial() (Link, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.hub.opts.DialWithin)
	defer cancel()
	return l.hub.dialer.Dial(ctx, l.node, l)
}

// scatter hands the channels of a line that ended to the router.
func (l *line) scatter(err error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines[l.node] == l {
		delete(h.lines, l.node)
	}
	jitter := newJitter() // one for all, so that they come back together
	for c := range l.channels {
		h.lose(c, err, jitter)
	}
}

// serve works until the link is lost, has been idle for long, or the hub is closed. A ping comes
// before other work, which might never end.
func (l *line) serve(link Link) error {
	l.pinged = time.Now()
	for {
		if err := l.pingIfDue(link); err != nil {
			return err
		}
		on, off := l.next()
		var err error
		switch {
		case len(off) > 0:
			err = l.unsubscribe(link, off)
		case len(on) > 0:
			err = l.subscribe(link, on)
		default:
			err = l.rest()
		}
		if err != nil {
			return err
		}
	}
}

// next takes what is to be subscribed, and what to be unsubscribed, from the list. Unsubscribing
// goes first; what is left over stays on the list.
func (l *line) next() (on, off []*channel) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	var later []*channel
	for i, c := range l.todo {
		if len(on) == batch || len(off) == batch {
			later = append(later, l.todo[i:]...)
			break
		}
		switch {
		case c.line != l:
		case c.state == idle && len(c.subs) == 0:
			l.forget(c)
		case c.state == idle:
			on = append(on, c)
		case c.state == acked && len(c.subs) == 0:
			c.state = unsubscribing
			off = append(off, c)
		}
	}
	l.todo = later
	if len(off) > 0 {
		l.todo = append(l.todo, on...)
		return nil, off
	}
	for _, c := range on {
		c.state = subscribing
	}
	return on, nil
}

// forget drops a channel that nobody wants and the server does not know. Hub.mu is held.
func (l *line) forget(c *channel) {
	delete(l.channels, c)
	c.line = nil
	if l.hub.channels[c.name] == c {
		delete(l.hub.channels, c.name)
	}
}

func (l *line) subscribe(link Link, on []*channel) error {
	ctx, cancel := context.WithTimeout(l.ctx, l.hub.opts.AnswerWithin)
	defer cancel()
	for i, err := range link.Subscribe(ctx, names(on)) {
		if err == nil {
			continue
		}
		if !errors.As(err, new(*backend.ServerError)) {
			return l.broken(ctx, err)
		}
		l.refused(on[i], err)
	}
	return nil
}

// refused takes a channel off the line that the server does not want to have there.
func (l *line) refused(c *channel, err error) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if c.line == l && c.state == subscribing {
		l.hub.lose(c, err, newJitter())
	}
}

func (l *line) unsubscribe(link Link, off []*channel) error {
	ctx, cancel := context.WithTimeout(l.ctx, l.hub.opts.AnswerWithin)
	defer cancel()
	if err := link.Unsubscribe(ctx, names(off)); err != nil {
		return l.broken(ctx, err)
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	for _, c := range off {
		// The answer may be still to come: it is then ignored, because it comes before that to
		// any later SUBSCRIBE.
		c.state = idle
		l.todo = append(l.todo, c)
	}
	return nil
}

// pingIfDue pings a link that was not pinged for long.
func (l *line) pingIfDue(link Link) error {
	if time.Since(l.pinged) < l.hub.opts.PingEvery || l.empty() {
		return nil
	}
	l.pinged = time.Now()
	l.follow(link)
	ctx, cancel := context.WithTimeout(l.ctx, l.hub.opts.AnswerWithin)
	defer cancel()
	if err := link.Ping(ctx); err != nil {
		return l.broken(ctx, err)
	}
	return nil
}

// follow asks beside all other work whether the client has left the link's node, unless the last
// question is still to be answered.
func (l *line) follow(link Link) {
	f, ok := link.(Follower)
	if !ok || !l.following.CompareAndSwap(false, true) {
		return
	}
	l.hub.workers.Go(func() {
		defer l.following.Store(false)
		ctx, cancel := context.WithTimeout(l.ctx, l.hub.opts.AnswerWithin)
		defer cancel()
		if err := f.Left(ctx); err != nil {
			l.Lost(err)
		}
	})
}

// rest waits for something to do, or until the next ping is due, and ends a line that was empty for
// long.
func (l *line) rest() error {
	empty := l.empty()
	wait := time.Until(l.pinged.Add(l.hub.opts.PingEvery))
	if empty {
		wait = l.hub.opts.Linger
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.wake:
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	case <-timer.C:
	}
	if empty {
		return l.leave()
	}
	return nil
}

func (l *line) empty() bool {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return len(l.channels) == 0
}

// leave ends a line that is still empty, so that no channel is placed on it any more.
func (l *line) leave() error {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if len(l.channels) > 0 {
		return nil
	}
	delete(l.hub.lines, l.node)
	return errIdle
}

// broken names the reason why a call of the link failed.
func (l *line) broken(ctx context.Context, err error) error {
	switch {
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case ctx.Err() != nil:
		return fmt.Errorf("%w for %s: %w", errSilent, l.hub.opts.AnswerWithin, err)
	}
	return err
}

func names(channels []*channel) []string {
	out := make([]string, len(channels))
	for i, c := range channels {
		out[i] = c.name
	}
	return out
}

// Subscribed implements [Events].
func (l *line) Subscribed(name string) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if c := l.hub.channels[name]; c != nil && c.line == l && c.state == subscribing {
		c.acknowledge()
		l.hub.reap(c)
	}
}

// Unsubscribed implements [Events].
func (l *line) Unsubscribed(name string) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	// Only an acknowledged channel can be lost here; otherwise this answers our own UNSUBSCRIBE.
	if c := l.hub.channels[name]; c != nil && c.line == l && c.state == acked {
		l.hub.lose(c, errEnded, newJitter())
	}
}

// Message implements [Events].
func (l *line) Message(name, payload string) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	c := l.hub.channels[name]
	if c == nil || c.line != l || c.state != acked {
		return
	}
	for s := range c.subs {
		s.push(backend.Event{Payload: payload})
	}
}

// Lost implements [Events].
func (l *line) Lost(err error) { l.cancel(fmt.Errorf("link lost: %w", err)) }
