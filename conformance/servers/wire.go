package servers

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Wire is the way between one client and all nodes that it dials: a [Proxy] of its own before each
// of them. It implements conformance.Link, for clients that let their users dial:
//
//	wire := servers.NewWire(nil)
//	client := newClient(addr, clientOptions{Dial: wire.DialContext})
//	... Instance{Link: wire, Close: func() { client.Close(); wire.Close() }}
//
// What was asked for holds for nodes that are dialed later, too. Wires do not touch each other. The
// methods are safe for concurrent use.
type Wire struct {
	opts *ProxyOptions

	mu      sync.Mutex
	closed  bool
	proxies map[string]*Proxy // by the node's address; those that DialContext uses
	left    []*Proxy          // those that it uses no more
	hole    Direction
	refused bool
	delay   time.Duration
	aimed   []*aimed
}

// NewWire returns a wire without connections, whose proxies have opts. The caller must close it.
func NewWire(opts *ProxyOptions) *Wire { return &Wire{opts: opts, proxies: map[string]*Proxy{}} }

// DialContext connects to the node at addr, through a proxy. Clients dial with it as they would
// with [net.Dialer.DialContext].
func (w *Wire) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	p, err := w.proxy(addr)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, p.Addr())
}

// proxy returns the proxy before the node at addr, and starts it in the wire's present state.
func (w *Wire) proxy(addr string) (*Proxy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, net.ErrClosed
	}
	if p := w.proxies[addr]; p != nil {
		return p, nil
	}
	p, err := LaunchProxy(addr, w.opts)
	if err != nil {
		return nil, err
	}
	p.SetLatency(BothWays, w.delay)
	if w.hole != 0 {
		p.Blackhole(w.hole)
	}
	if w.refused {
		p.Refuse()
	}
	for _, a := range w.aimed {
		a.at(p)
	}
	w.proxies[addr] = p
	return p, nil
}

// Close cuts all connections and ends the proxies. The error reports bytes that were not RESP.
// Closing twice is allowed.
func (w *Wire) Close() error {
	w.mu.Lock()
	w.closed = true
	all := w.left
	for _, p := range w.proxies {
		all = append(all, p)
	}
	w.proxies, w.left = nil, nil
	w.mu.Unlock()
	var err error
	for _, p := range all {
		err = errors.Join(err, p.Close())
	}
	return err
}

// Cut breaks the connections that are open. New ones can be made.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.proxies {
		p.Cut()
	}
}

// Silence loses, from now on, whatever is sent in either direction on the connections that are
// open; they stay open for as long as the client keeps them. New ones work.
func (w *Wire) Silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for addr, p := range w.proxies {
		p.Blackhole(BothWays)
		w.leave(addr)
	}
}

// leave makes later connections to addr use another proxy. The caller holds mu.
func (w *Wire) leave(addr string) {
	w.left = append(w.left, w.proxies[addr])
	delete(w.proxies, addr)
}

// Blackhole loses, from now on, whatever is sent in either direction, on open and on new
// connections; they stay open. Restore ends it, and breaks those that have lost something.
func (w *Wire) Blackhole() { w.blackhole(BothWays) }

// BlackholeRequests does as Blackhole, but loses only what the client sends.
func (w *Wire) BlackholeRequests() { w.blackhole(ToServer) }

// BlackholeReplies does as Blackhole, but loses only what the server sends.
func (w *Wire) BlackholeReplies() { w.blackhole(ToClient) }

func (w *Wire) blackhole(direction Direction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hole = direction
	for _, p := range w.proxies {
		p.Blackhole(direction)
	}
}

// Refuse breaks the open connections, and makes dialing fail until Restore.
func (w *Wire) Refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = true
	for _, p := range w.proxies {
		p.Refuse()
		p.Cut()
	}
}

// Restore ends all kinds of Blackhole, Refuse and Delay.
func (w *Wire) Restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hole, w.refused, w.delay = 0, false, 0
	for addr, p := range w.proxies {
		p.SetLatency(BothWays, 0)
		p.Heal()
		if p.Accept() != nil {
			w.leave(addr) // somebody else took its port while it refused
		}
	}
}

// Delay holds up each direction by d.
func (w *Wire) Delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
	for _, p := range w.proxies {
		p.SetLatency(BothWays, d)
	}
}

// CutReply lets the next command for which match is true reach its node, and breaks the connection
// in place of the reply. It counts for all nodes together, those dialed later included, and match
// is called by one goroutine at a time. The channel is closed when the reply was lost.
func (w *Wire) CutReply(match func(words []string) bool) <-chan struct{} {
	return w.aim(cutReply, match)
}

// LoseReply does as CutReply, but the connection stays open, and silent to the client from then on.
func (w *Wire) LoseReply(match func(words []string) bool) <-chan struct{} {
	return w.aim(loseReply, match)
}

func (w *Wire) aim(action action, match Match) <-chan struct{} {
	a := &aimed{action: action, match: match, hit: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aimed = slices.DeleteFunc(w.aimed, (*aimed).spent)
	w.aimed = append(w.aimed, a)
	for _, p := range w.proxies {
		a.at(p)
	}
	return a.hit
}

// aimed is one fault that all proxies of a wire wait for: it is the fault of one request in all.
type aimed struct {
	action action
	match  Match
	hit    chan struct{}
	shares []*Fault // guarded by Wire.mu

	mu    sync.Mutex
	found bool
}

// at gives p its share of a.
func (a *aimed) at(p *Proxy) {
	a.shares = append(a.shares, p.arm(&Fault{match: a.claim, action: a.action, hit: a.hit}))
}

// claim is a.match, until it has matched.
func (a *aimed) claim(words []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found || !a.match(words) {
		return false
	}
	a.found = true
	return true
}

// spent reports whether a has found its request, and takes it back from the other proxies then.
func (a *aimed) spent() bool {
	a.mu.Lock()
	found := a.found
	a.mu.Unlock()
	if found {
		for _, share := range a.shares {
			share.Release()
		}
	}
	return found
}
