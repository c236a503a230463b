package servers

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Match reports whether a fault is meant for a request, given its words: the command, then its
// arguments. It is called by one goroutine at a time and must not call the proxy.
type Match func(words []string) bool

// Command matches requests for any of these commands, whatever their case.
func Command(names ...string) Match {
	return func(words []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return len(words) > 0 && strings.EqualFold(words[0], name)
		})
	}
}

// Script matches the requests that run script: EVALSHA with its hash, or its plain command.
func Script(script *backend.Script) Match {
	byHash := Command("EVALSHA", "EVALSHA_RO", "EVAL", "EVAL_RO")
	plain := Command(script.Command)
	return func(words []string) bool {
		if script.Command != "" {
			return plain(words)
		}
		return len(words) > 1 && byHash(words) &&
			(words[1] == script.SHA1 || words[1] == script.Source)
	}
}

type action int

const (
	cutReply action = iota
	loseReply
	holdRequest
	holdReply
)

// Fault is a fault of one request: the first to match, among all connections. A request
// counts when it is about to be forwarded, and takes the earliest fault that matches it.
type Fault struct {
	proxy    *Proxy
	match    Match
	action   action
	d        time.Duration
	hit      chan struct{}
	once     sync.Once
	released chan struct{}
}

// Hit is closed when the fault happens: for a reply, when the server has sent it.
func (f *Fault) Hit() <-chan struct{} { return f.hit }

// Release lets go what is held, or withdraws a fault that has not found its request. Releasing
// twice is allowed.
func (f *Fault) Release() {
	f.once.Do(func() {
		f.proxy.withdraw(f)
		close(f.released)
	})
}

func (f *Fault) occur() { close(f.hit) }

// CutReply closes the connection in place of the next matching request's reply: the server has
// executed it, and the client sees the connection end. Later replies on it are lost as well.
func (p *Proxy) CutReply(match Match) *Fault { return p.aim(cutReply, match, 0) }

// LoseReply makes the next matching request's reply vanish, with all that the server sends on that
// connection later: the client sees a connection that is open and silent. Were later replies to
// pass, a client that pipelines would take them for replies to other requests.
func (p *Proxy) LoseReply(match Match) *Fault { return p.aim(loseReply, match, 0) }

// HoldRequest keeps the next matching request, and what follows it on its connection, for d before
// forwarding it; 0 means until it is released.
func (p *Proxy) HoldRequest(match Match, d time.Duration) *Fault {
	return p.aim(holdRequest, match, d)
}

// HoldReply keeps the next matching request's reply, and what follows it on its connection, for d;
// 0 means until it is released.
func (p *Proxy) HoldReply(match Match, d time.Duration) *Fault {
	return p.aim(holdReply, match, d)
}

func (p *Proxy) aim(action action, match Match, d time.Duration) *Fault {
	return p.arm(&Fault{match: match, action: action, d: d, hit: make(chan struct{})})
}

func (p *Proxy) arm(f *Fault) *Fault {
	f.proxy, f.released = p, make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

// take returns the fault of the request, which no other request gets.
func (p *Proxy) take(words []string) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		if f.match == nil || f.match(words) {
			p.faults = slices.Delete(p.faults, i, i+1)
			return f
		}
	}
	return nil
}

func (p *Proxy) withdraw(f *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = slices.DeleteFunc(p.faults, func(other *Fault) bool { return other == f })
}
