package embedded

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/hasp-go/hasp/backend"
)

// queueLimit bounds the messages that wait for one slow handler; beyond it they are dropped, and
// the handler hears of a gap.
const queueLimit = 4096

// feed is the pub/sub half of a backend: its connection to the server while anything is
// subscribed, and the subscriptions by channel.
type feed struct {
	server *Server

	// admin orders what is subscribed and unsubscribed at the server. It is taken before mu.
	admin sync.Mutex
	link  *link // nil while nothing is subscribed

	mu     sync.Mutex
	subs   map[string][]*subscription
	closed bool
}

// Subscribe implements [backend.Subscriber]. The server acknowledges at once.
func (f *feed) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("subscribe to %q: %w", channel, err)
	}
	f.admin.Lock()
	defer f.admin.Unlock()
	sub := &subscription{feed: f, channel: channel, handler: handler}
	first, err := f.add(sub)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %q: %w", channel, err)
	}
	if first {
		f.subscribe(channel)
	}
	return sub, nil
}

// add registers sub and reports whether it is the first on its channel.
func (f *feed) add(sub *subscription) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false, backend.ErrClosed
	}
	f.subs[sub.channel] = append(f.subs[sub.channel], sub)
	return len(f.subs[sub.channel]) == 1, nil
}

// subscribe subscribes at the server. The caller holds admin.
func (f *feed) subscribe(channel string) {
	if f.link == nil {
		f.link = &link{deliver: f.deliver}
		f.link.peer = server.NewPeer(bufio.NewWriter(f.link))
	}
	f.server.dispatch(f.link.peer, []string{"SUBSCRIBE", channel})
}

// remove ends sub, and the server's subscription if it was the last on its channel.
func (f *feed) remove(sub *subscription) {
	f.admin.Lock()
	defer f.admin.Unlock()
	f.mu.Lock()
	before := f.subs[sub.channel]
	// A new slice: deliver may be walking the old one.
	left := slices.DeleteFunc(slices.Clone(before), func(s *subscription) bool { return s == sub })
	f.subs[sub.channel] = left
	if len(left) == 0 {
		delete(f.subs, sub.channel)
	}
	f.mu.Unlock()
	if len(before) > 0 && len(left) == 0 {
		f.server.dispatch(f.link.peer, []string{"UNSUBSCRIBE", sub.channel})
		f.dropIdleLink()
	}
}

// dropIdleLink forgets a connection without subscriptions: with the last one, miniredis has ended
// its goroutines. The caller holds admin.
func (f *feed) dropIdleLink() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.subs) == 0 {
		f.link = nil
	}
}

func (f *feed) deliver(channel, payload string) {
	f.mu.Lock()
	subs := f.subs[channel]
	f.mu.Unlock()
	for _, sub := range subs {
		sub.push(backend.Event{Kind: backend.Message, Payload: payload})
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	var all []*subscription
	for _, subs := range f.subs {
		all = append(all, subs...)
	}
	f.mu.Unlock()
	for _, sub := range all {
		sub.Cancel()
	}
}

// link is the receiving end of a connection: miniredis writes what was published to it, one frame
// at a time, and blocks every client of the server until it returns.
type link struct {
	peer    *server.Peer
	deliver func(channel, payload string)
	partial []byte // a frame that is not complete; guarded by the peer's lock
}

// Write implements [io.Writer]. It never blocks.
func (l *link) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for len(l.partial) > 0 {
		rest := bytes.NewReader(l.partial)
		buffered := bufio.NewReader(rest)
		frame, err := server.ParseReply(buffered)
		if err != nil {
			break // the rest of the frame comes with another call
		}
		l.handle(frame)
		l.partial = l.partial[len(l.partial)-rest.Len()-buffered.Buffered():]
	}
	return len(p), nil
}

// handle passes a message on, and ignores acknowledgements: the command has returned by then.
func (l *link) handle(frame any) {
	if parts, ok := frame.([]any); ok && len(parts) == 3 && parts[0] == "message" {
		l.deliver(parts[1].(string), parts[2].(string))
	}
}

// subscription is one handler on one channel. It runs a goroutine only while events wait.
type subscription struct {
	feed    *feed
	channel string
	handler backend.Handler

	mu        sync.Mutex
	queue     []backend.Event
	running   bool
	cancelled bool
}

// Cancel implements [backend.Subscription].
func (s *subscription) Cancel() {
	s.mu.Lock()
	already := s.cancelled
	s.cancelled, s.queue = true, nil
	s.mu.Unlock()
	if !already {
		s.feed.remove(s)
	}
}

// push queues an event for the handler. A queue that is full becomes one gap.
func (s *subscription) push(event backend.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled {
		return
	}
	if len(s.queue) >= queueLimit {
		s.queue = s.queue[:0]
		event = backend.Event{Kind: backend.Resubscribed}
	}
	s.queue = append(s.queue, event)
	if !s.running {
		s.running = true
		go s.run()
	}
}

// run hands over what is queued, in order, and ends when nothing is left.
func (s *subscription) run() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		event := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		s.handler(event)
	}
}
