package proxy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

// direction is one way through a proxy, or both.
type direction int

const (
	toServer direction = 1 << iota
	toClient
	bothWays = toServer | toClient
)

// Cut breaks the connections that are open, but for those that Silence silenced. What is on its way
// is lost. New ones can be made.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut(func(*link) bool { return true })
}

// cut closes the links, of those that are not silenced, for which which is true. The caller holds mu.
func (p *Proxy) cut(which func(l *link) bool) {
	for l := range p.links {
		if !l.silenced && which(l) {
			l.close()
		}
	}
}

// Silence loses, from now on, whatever is sent in either direction on the connections that are open; they stay open
// for as long as the client keeps them. New ones work. One to Addr that the proxy has not accepted yet counts as new.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		// What was dialed before may not have been accepted yet: DialContext opens another door.
		d.left = d != p.entry
	}
	for l := range p.links {
		l.silenced = true
	}
}

// Blackhole loses, from now on, whatever is sent in either direction, on open and on new
// connections, and their closing with it; they stay open. It replaces an earlier Blackhole. Restore
// ends it, and breaks those that have lost something: no real one loses some and lives.
func (p *Proxy) Blackhole() { p.blackhole(bothWays) }

// BlackholeRequests does as Blackhole, but loses only what clients send.
func (p *Proxy) BlackholeRequests() { p.blackhole(toServer) }

// BlackholeReplies does as Blackhole, but loses only what servers send.
func (p *Proxy) BlackholeReplies() { p.blackhole(toClient) }

func (p *Proxy) blackhole(hole direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setHole(hole)
}

func (p *Proxy) setHole(hole direction) {
	p.hole = hole
	close(p.changed)
	p.changed = make(chan struct{})
}

// Refuse breaks the open connections, and makes dialing fail at once until Restore, as if nothing listened.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = true
	for _, d := range p.doors {
		if !d.left {
			d.shut()
		}
	}
	p.cut(func(*link) bool { return true })
}

// Restore ends all kinds of Blackhole, Refuse and Delay.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused, p.delay = false, 0
	p.cut(func(l *link) bool { return l.lossy })
	p.setHole(0)
	for _, d := range p.doors {
		// Somebody else may have taken the port meanwhile: then DialContext opens another door.
		if err := p.listen(d); err != nil && d == p.entry {
			p.err = fmt.Errorf("restoring: %w", err)
		} else if err != nil {
			d.left = true
		}
	}
}

// Delay holds up, from now on, each direction by d: a round trip of 50 ms is 25 ms. Order is kept,
// and throughput is not bounded.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// fault loses the reply to one request, the first to match, among all connections, or replaces the replies to all
// that match.
type fault struct {
	match   func(words []string) bool
	instead func(reply string, resp3 bool) string // of the reply; "": the connection breaks
	silent  bool                                  // it stays open, and nothing passes
	lasting bool                                  // until it is stopped
	unsent  bool                                  // the server does not get the request
	once    sync.Once
	hit     chan struct{}
}

// CutReply lets the next request for which match is true reach its server, and breaks the connection instead of the
// reply: one request in all, on whichever connection, those made later included. match gets the request word by word,
// is called by one goroutine at a time, and must not call the proxy. Later replies on the connection are lost as well.
// The channel is closed when the reply was lost.
func (p *Proxy) CutReply(match func(words []string) bool) <-chan struct{} {
	return p.aim(&fault{match: match, instead: func(string, bool) string { return "" }})
}

// LoseReply does as CutReply, but the connection stays open, and silent to the client from then on.
// Were later replies to pass, a client that pipelines would take them for replies to other requests.
func (p *Proxy) LoseReply(match func(words []string) bool) <-chan struct{} {
	return p.aim(&fault{match: match, silent: true})
}

// Answer has clients get what instead returns, in RESP, for the replies to all requests for which match is true, on
// open and on new connections, until the caller stops it. Instead gets the reply of the server, which runs the request
// only if run is true, and whether the connection speaks RESP3; "" breaks it. Match is called as by CutReply. Hit is
// closed when the first client is about to get such a reply.
func (p *Proxy) Answer(match func(words []string) bool, run bool, instead func(reply string, resp3 bool) string) (hit <-chan struct{}, stop func()) {
	f := &fault{match: match, instead: instead, lasting: true, unsent: !run}
	return p.aim(f), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(one *fault) bool { return one == f })
	}
}

func (p *Proxy) aim(f *fault) <-chan struct{} {
	f.hit = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f.hit
}

// admit records a request that is about to be forwarded, and returns its fault, which no other request gets.
func (p *Proxy) admit(words []string) *fault {
	if len(words) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.record != nil {
		p.record(words)
	}
	i := slices.IndexFunc(p.faults, func(f *fault) bool { return f.match(words) })
	if i < 0 {
		return nil
	}
	f := p.faults[i]
	if !f.lasting {
		p.faults = slices.Delete(p.faults, i, i+1)
	}
	return f
}

// swallow reports whether what l carries in a direction vanishes, and notes that it did. The channel is
// closed when the blackhole changes.
func (p *Proxy) swallow(l *link, way direction) (gone bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone = l.silenced || p.hole&way != 0 || way == toClient && l.deaf.Load()
	l.lossy = l.lossy || gone
	return gone, p.changed
}

// due returns when what arrives now is to be forwarded.
func (p *Proxy) due() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.delay)
}

// note keeps an error of reading, if it is not just that a connection has ended.
func (p *Proxy) note(way direction, err error) {
	if errors.Is(err, resp.ErrMalformed) {
		from := map[direction]string{toServer: "client", toClient: "server"}[way]
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = fmt.Errorf("from the %s: %w", from, err)
	}
}
