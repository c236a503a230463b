// Package proxy makes the faults of a network, on loopback, between clients and servers that speak
// RESP. It reads the RESP of both sides, so it can aim at single commands; CLIENT REPLY and
// MONITOR confuse it. A client that lets its user dial reaches all nodes of a cluster by one proxy:
//
//	p := proxy.New(nil)
//	client := newClient(addr, clientOptions{Dial: p.DialContext})
//	... conformance.Instance{Link: p, Close: func() { client.Close(); p.Close() }}
//
// Any other client can be given the address of a proxy before one server:
//
//	p := proxy.Start(t, server.Addr(), nil)
//	client := newClient(p.Addr())
//	lost := p.CutReply(func(words []string) bool { return words[0] == "EVALSHA" })
//	... the script runs, and its reply never comes ...
//	<-lost
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// portFreeWithin bounds how long a port that the proxy has closed may stay taken.
const portFreeWithin = 5 * time.Second

// Proxy is the way between clients and the servers that they dial. It implements harness.Link: what was asked for holds
// for servers that are dialed later, too. Proxies do not touch each other. The methods are safe for concurrent use.
type Proxy struct {
	tls  *tls.Config
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	doors   []*door
	entry   *door // the one that Addr leads to; nil: none
	links   map[*link]struct{}
	hole    direction
	changed chan struct{} // closed and replaced when hole changes
	refused bool
	delay   time.Duration
	faults  []*fault
	record  func(words []string) // gets each request that is forwarded; nil: nobody asks
	err     error
}

// door is a port that leads to a server; [Proxy.mu] guards it.
type door struct {
	target   string
	port     int
	listener net.Listener // nil: it refuses
	left     bool         // it is dialed no more, and nothing passes on its connections
}

// TB is the part of testing.TB that this package needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// New returns a proxy without connections. The caller must close it. If config is not nil, the proxy
// speaks TLS on both sides: it ends the client's TLS, and reads what it forwards as it does without.
// TLSConfig of a server that this module starts is such a config.
func New(config *tls.Config) *Proxy {
	return &Proxy{
		tls:     config,
		links:   map[*link]struct{}{},
		changed: make(chan struct{}),
	}
}

// Start starts a proxy before target, an address, that ends with the test; config is as in [New]. It
// fails the test if it cannot, and if it met bytes that are not RESP.
func Start(tb TB, target string, config *tls.Config) *Proxy {
	tb.Helper()
	p := New(config)
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Errorf("proxy: %v", err)
		}
	})
	if err := p.Lead(target); err != nil {
		tb.Fatalf("starting proxy: %v", err)
	}
	return p
}

// Lead makes [Proxy.Addr] lead to target, an address: connections made from now on.
func (p *Proxy) Lead(target string) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entry != nil {
		p.entry.target = target
		return nil
	}
	p.entry, err = p.open(target)
	return err
}

// Addr returns the address that clients connect to, after [Start] or [Proxy.Lead]; it stays the same.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return loopback.Addr(p.entry.port)
}

// DialContext connects to the server at addr, through the proxy. Clients dial with it as they would
// with [net.Dialer.DialContext].
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	port, err := p.portTo(addr)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, loopback.Addr(port))
}

// portTo returns the port of the door to target, which it opens if there is none and something listens at target.
func (p *Proxy) portTo(target string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		if d.target == target && !d.left && d != p.entry {
			return d.port, nil
		}
	}
	probe, err := net.DialTimeout("tcp", target, dialTimeout) // What nothing listens at is to be refused here, too.
	if err != nil {
		return 0, err
	}
	_ = probe.Close()
	d, err := p.open(target)
	if err != nil {
		return 0, err
	}
	return d.port, nil
}

// open opens a door. The caller holds mu.
func (p *Proxy) open(target string) (d *door, err error) {
	if p.closed {
		return nil, net.ErrClosed
	}
	for range 10 {
		d = &door{target: target}
		if d.port, err = loopback.Take(); err != nil {
			return nil, err
		}
		if err = p.listen(d); err == nil {
			p.doors = append(p.doors, d)
			return d, nil
		}
		loopback.Give(d.port)
	}
	return nil, err
}

// listen makes a door accept connections, unless the proxy refuses them. The caller holds mu.
func (p *Proxy) listen(d *door) error {
	if p.refused || d.listener != nil {
		return nil
	}
	listener, err := listenAgain(loopback.Addr(d.port))
	if err == nil {
		d.listener = listener
		p.work.Go(func() { p.serve(listener, d) })
	}
	return err
}

// listenAgain listens on addr, which this process may just have closed. A process that is being started holds copies
// of all open files until it runs its program, so the port can stay taken for some microseconds more.
func listenAgain(addr string) (net.Listener, error) {
	for end := time.Now().Add(portFreeWithin); ; time.Sleep(time.Millisecond) {
		listener, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return listener, err
		}
	}
}

// shut makes a door refuse connections. The caller holds mu.
func (d *door) shut() {
	if d.listener != nil {
		_ = d.listener.Close()
		d.listener = nil
	}
}

func (p *Proxy) serve(listener net.Listener, d *door) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.carry(client, d) })
	}
}

// carry carries one connection until it ends.
func (p *Proxy) carry(client net.Conn, d *door) {
	l, target := p.accept(client, d)
	if l.connect(target) {
		l.run()
	}
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// accept makes the link of a connection, which faults concern from now on, and returns its server.
func (p *Proxy) accept(client net.Conn, d *door) (l *link, target string) {
	l = newLink(p, client)
	p.mu.Lock()
	defer p.mu.Unlock()
	l.silenced = d.left
	if p.links[l] = struct{}{}; p.closed || p.refused {
		l.close()
	}
	return l, d.target
}

// Close cuts all connections, frees the ports and waits until the proxy's goroutines have ended. The
// error reports bytes that were not RESP. Closing twice is allowed.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	doors := p.doors
	p.doors = nil
	for _, d := range doors {
		d.shut()
	}
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.work.Wait()
	for _, d := range doors {
		loopback.Give(d.port)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Record collects the requests that are forwarded, word by word, from its return to the call of stop. It collects for
// the last caller only.
func (p *Proxy) Record() (stop func() [][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all [][]string
	p.record = func(words []string) { all = append(all, words) }
	return func() [][]string {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.record = nil
		return all
	}
}
