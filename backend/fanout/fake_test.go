package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

var (
	errKilled = errors.New("connection reset")
	errDown   = errors.New("connection refused")
)

// network is a fake cluster with sharded pub/sub: a channel is served by one node, and a node
// serves any number of links. It implements fanout.Dialer.
type network struct {
	mu      sync.Mutex
	owner   map[string]string // by channel; "a" if missing
	believe map[string]string // what Node answers, if not the owner
	refuse  map[string]error  // by channel
	down    bool              // dialing fails
	silent  bool              // nothing goes through
	delay   time.Duration     // one way
	links   map[*fakeLink]struct{}
	dials   int
	calls   []string
	seq     map[string]int // messages published by channel

	earlyUnsubscribe bool // Unsubscribe returns before its answer

	leaves bool                         // links cannot unsubscribe
	lag    func(dial int) time.Duration // of all that arrives on a link, besides delay; nil: none
	mutes  map[string]bool              // channels for which SUBSCRIBE is answered, but not acknowledged
}

func newNetwork() *network {
	return &network{
		owner: map[string]string{}, believe: map[string]string{}, refuse: map[string]error{},
		links: map[*fakeLink]struct{}{}, seq: map[string]int{}, delay: time.Millisecond,
		mutes: map[string]bool{},
	}
}

func (n *network) ownerOf(channel string) string {
	if node := n.owner[channel]; node != "" {
		return node
	}
	return "a"
}

func (n *network) Node(_ context.Context, channel string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return "", errDown
	}
	if node := n.believe[channel]; node != "" {
		return node, nil
	}
	return n.ownerOf(channel), nil
}

func (n *network) Dial(
	ctx context.Context, node string, events fanout.Events,
) (fanout.Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	n.calls = append(n.calls, "dial "+node)
	if n.down {
		return nil, errDown
	}
	l := &fakeLink{
		net: n, node: node, events: events, subs: map[string]bool{},
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	if n.lag != nil {
		l.lag = n.lag(n.dials)
	}
	n.links[l] = struct{}{}
	go l.read()
	if n.leaves {
		return struct{ fanout.Link }{l}, nil
	}
	return l, nil
}

// frame is what a server sends: an answer or a push.
type frame struct {
	kind    string
	channel string
	payload string
	due     time.Time
	done    func() // after it was reported
}

type fakeLink struct {
	net    *network
	node   string
	events fanout.Events
	wake   chan struct{}
	gone   chan struct{}
	lag    time.Duration

	// network.mu guards these.
	subs   map[string]bool
	frames []frame
	dead   bool
	mute   bool // nothing goes through
}

// send queues a frame for the reader. network.mu is held.
func (l *fakeLink) send(f frame) {
	f.due = time.Now().Add(l.net.delay + l.lag)
	l.frames = append(l.frames, f)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// read reports frames until the link is gone.
func (l *fakeLink) read() {
	for {
		f, ok := l.next()
		if !ok {
			select {
			case <-l.wake:
				continue
			case <-l.gone:
				l.events.Lost(errKilled)
				return
			}
		}
		time.Sleep(time.Until(f.due))
		select {
		case <-l.gone:
			continue // what was on its way is lost
		default:
		}
		switch f.kind {
		case "subscribe":
			l.events.Subscribed(f.channel)
		case "unsubscribe":
			l.events.Unsubscribed(f.channel)
		case "message":
			l.events.Message(f.channel, f.payload)
		}
		if f.done != nil {
			f.done()
		}
	}
}

func (l *fakeLink) next() (frame, bool) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if len(l.frames) == 0 || l.dead || l.mute || l.net.silent {
		return frame{}, false
	}
	f := l.frames[0]
	l.frames = l.frames[1:]
	return f, true
}

// call lets the server handle a request after the delay, and waits for its answers.
func (l *fakeLink) call(
	ctx context.Context, handle func(answered func()) (answers int),
) error {
	select {
	case <-time.After(l.net.delay):
	case <-ctx.Done():
		return ctx.Err()
	case <-l.gone:
		return errKilled
	}
	answered := make(chan struct{}, 1000)
	l.net.mu.Lock()
	waiting := 1
	if !l.net.silent && !l.mute && !l.dead {
		waiting = handle(func() { answered <- struct{}{} })
	}
	l.net.mu.Unlock()
	for range waiting {
		select {
		case <-answered:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.gone:
			return errKilled
		}
	}
	return nil
}

func (l *fakeLink) Subscribe(ctx context.Context, channels []string) []error {
	errs := make([]error, len(channels))
	err := l.call(ctx, func(answered func()) int {
		l.net.calls = append(l.net.calls, fmt.Sprint("subscribe ", len(channels)))
		for i, channel := range channels {
			errs[i] = l.accept(channel, answered)
		}
		return len(channels)
	})
	for i := range errs {
		if err != nil {
			errs[i] = err
		}
	}
	return errs
}

func (l *fakeLink) accept(channel string, answered func()) error {
	if err := l.net.refuse[channel]; err != nil {
		l.send(frame{done: answered})
		return err
	}
	if owner := l.net.ownerOf(channel); owner != l.node {
		l.send(frame{done: answered})
		return &backend.ServerError{Code: "MOVED", Message: "1 " + owner}
	}
	l.subs[channel] = true
	if l.net.mutes[channel] {
		l.send(frame{done: answered})
		return nil
	}
	l.send(frame{kind: "subscribe", channel: channel, done: answered})
	return nil
}

func (l *fakeLink) Unsubscribe(ctx context.Context, channels []string) error {
	return l.call(ctx, func(answered func()) int {
		l.net.calls = append(l.net.calls, fmt.Sprint("unsubscribe ", len(channels)))
		for _, channel := range channels {
			delete(l.subs, channel)
			l.send(frame{kind: "unsubscribe", channel: channel, done: answered})
		}
		if l.net.earlyUnsubscribe {
			return 0
		}
		return len(channels)
	})
}

func (l *fakeLink) Close() {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.kill()
}

// kill ends the link. network.mu is held.
func (l *fakeLink) kill() {
	if !l.dead {
		l.dead = true
		delete(l.net.links, l)
		close(l.gone)
	}
}

// publish sends the next number on channel, and returns it.
func (n *network) publish(channel string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seq[channel]++
	for l := range n.links {
		if l.subs[channel] {
			l.send(frame{
				kind: "message", channel: channel, payload: fmt.Sprint(n.seq[channel]),
			})
		}
	}
	return n.seq[channel]
}

// killAll cuts all links.
func (n *network) killAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.links {
		l.kill()
	}
}

// migrate moves channel to node, and its old node notifies its subscribers.
func (n *network) migrate(channel, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ownerOf(channel) == node {
		return
	}
	n.owner[channel] = node
	for l := range n.links {
		if l.node != node && l.subs[channel] {
			delete(l.subs, channel)
			l.send(frame{kind: "unsubscribe", channel: channel})
		}
	}
}

// set changes the network's faults.
func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// subscriptions counts what the servers hold, and the links.
func (n *network) subscriptions() (subs, links int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.links {
		subs += len(l.subs)
	}
	return subs, len(n.links)
}

// did counts calls so far of a kind and number of channels, such as "subscribe 2", or "dial a".
func (n *network) did(call string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if c == call {
			count++
		}
	}
	return count
}

// log is a handler that keeps what it got.
type log struct {
	mu     sync.Mutex
	events []string
}

func (l *log) handle(e backend.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == backend.EventResubscribed {
		l.events = append(l.events, "gap")
	} else {
		l.events = append(l.events, e.Payload)
	}
}

// take returns what came since the last take.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// after is settle and take.
func (l *log) after(d time.Duration) []string {
	settle(d)
	return l.take()
}
