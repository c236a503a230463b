package servers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// dialTimeout is short of what drivers wait for: a server too busy to accept fails the connection.
const dialTimeout = 5 * time.Second

// portFreeWithin bounds how long a port that the proxy has closed may stay taken.
const portFreeWithin = 5 * time.Second

// Direction is one way through a proxy, or both.
type Direction int

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	BothWays = ToServer | ToClient
)

// ProxyOptions are the options of a proxy; nil means the defaults.
type ProxyOptions struct {
	// Raw forwards bytes as they come, without reading them as RESP: for replication, or TLS.
	// Faults by command and counts do not work then.
	Raw bool

	// TLS makes the proxy speak TLS on both sides, with [Server.TLSConfig]: it ends the client's,
	// and reads what it forwards as it does without.
	TLS *tls.Config

	_ struct{}
}

// Proxy stands before a server on loopback and makes the faults of a network. It reads the RESP of
// both sides, so that it can aim at single commands; CLIENT REPLY and MONITOR confuse it. Its
// methods are safe for concurrent use.
type Proxy struct {
	opts ProxyOptions
	port int
	work sync.WaitGroup

	mu       sync.Mutex
	target   string
	listener net.Listener // nil while refusing
	closed   bool
	links    map[*link]struct{}
	counts   map[string]int
	accepted int
	faults   []*Fault
	latency  map[Direction]time.Duration
	hole     Direction
	stalled  time.Time
	changed  chan struct{} // closed and replaced when hole changes
	err      error
}

// StartProxy starts a proxy before target, an address, that ends with the test. It fails the test
// if it cannot, and also if it met bytes that are not RESP.
func StartProxy(tb TB, target string, opts *ProxyOptions) *Proxy {
	tb.Helper()
	p, err := LaunchProxy(target, opts)
	if err != nil {
		tb.Fatalf("starting proxy: %v", err)
	}
	tb.Cleanup(func() { p.endWith(tb) })
	return p
}

func (p *Proxy) endWith(tb TB) {
	if err := p.Close(); err != nil {
		tb.Errorf("proxy: %v", err)
	}
}

// LaunchProxy starts a proxy before target. The caller must close it.
func LaunchProxy(target string, opts *ProxyOptions) (*Proxy, error) {
	p := &Proxy{
		target:  target,
		links:   map[*link]struct{}{},
		counts:  map[string]int{},
		latency: map[Direction]time.Duration{},
		changed: make(chan struct{}),
	}
	if opts != nil {
		p.opts = *opts
	}
	for range 10 {
		var err error
		if p.port, err = takePort(); err != nil {
			return nil, err
		}
		if err = p.Accept(); err == nil {
			return p, nil
		}
		givePort(p.port)
	}
	return nil, errNoPort
}

// Addr returns the address that clients connect to.
func (p *Proxy) Addr() string { return address(p.port) }

// Port returns the port that clients connect to.
func (p *Proxy) Port() int { return p.port }

// setTarget changes the server's address, for connections made later.
func (p *Proxy) setTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Close cuts all connections, frees the port and waits until the proxy's goroutines have ended. The
// error reports bytes that were not RESP. Closing twice is allowed.
func (p *Proxy) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	p.Refuse()
	p.Cut()
	p.work.Wait()
	if !closed {
		givePort(p.port)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Refuse makes new connections fail at once, as if nothing listened. Existing ones go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// Accept ends Refuse.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	if p.listener != nil {
		return nil
	}
	listener, err := listenAgain(p.Addr())
	if err != nil {
		return err
	}
	p.listener = listener
	p.work.Go(func() { p.serve(listener) })
	return nil
}

// listenAgain listens on addr, which this process may just have closed. A process that is being
// started holds copies of all open files until it runs its program, so the port can stay taken for
// some microseconds more.
func listenAgain(addr string) (net.Listener, error) {
	for end := time.Now().Add(portFreeWithin); ; time.Sleep(time.Millisecond) {
		listener, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return listener, err
		}
	}
}

func (p *Proxy) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.accepted++
		target := p.target
		p.mu.Unlock()
		p.work.Go(func() { p.connect(client, target) })
	}
}

// connect carries one connection until it ends.
func (p *Proxy) connect(client net.Conn, target string) {
	server, err := net.DialTimeout("tcp", target, dialTimeout)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{
		proxy: p, client: client, server: server, done: make(chan struct{}),
		toClient: client, toServer: server,
	}
	if p.opts.TLS != nil {
		l.toClient, l.toServer = tls.Server(client, p.opts.TLS), tls.Client(server, p.opts.TLS)
	}
	p.mu.Lock()
	if p.closed {
		l.close()
	} else {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// Cut closes all connections, and returns how many there were. What is on its way is lost.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
	return len(p.links)
}

// SetLatency delays, from now on, all that goes in direction by d: a round trip of 50 ms is 25 ms
// in BothWays. Order is kept, and throughput is not bounded.
func (p *Proxy) SetLatency(direction Direction, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range []Direction{ToServer, ToClient} {
		if direction&one != 0 {
			p.latency[one] = d
		}
	}
}

func (p *Proxy) due(direction Direction) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.latency[direction]; d > 0 {
		return time.Now().Add(d)
	}
	return time.Time{}
}

// Stall holds back all that goes either way for d, once; then it is forwarded in order.
func (p *Proxy) Stall(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.stalled) {
		p.stalled = until
	}
}

// Blackhole makes all bytes in direction vanish, those of existing and of new connections, and the
// closing of connections with them, while the connections stay open on both sides. It replaces an
// earlier Blackhole. It lasts until Heal.
func (p *Proxy) Blackhole(direction Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.lossy && direction == 0 {
			l.close()
		}
	}
	p.hole = direction
	close(p.changed)
	p.changed = make(chan struct{})
}

// Heal ends Blackhole. Connections that have lost bytes are cut: no real one loses some and lives.
func (p *Proxy) Heal() {
	p.Blackhole(0)
}

// swallow reports whether what l carries in direction vanishes, and notes that it did.
func (p *Proxy) swallow(l *link, direction Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := p.hole&direction != 0 || direction == ToClient && l.silent
	l.lossy = l.lossy || gone
	return gone
}

// silence makes all that l carries to the client vanish.
func (p *Proxy) silence(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.silent = true
}

// healed returns a channel that is closed when the blackhole changes.
func (p *Proxy) healed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *Proxy) stalledFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.stalled)
}

// Connections returns how many connections are open.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Accepted returns how many connections were ever accepted.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Counts returns how many requests were forwarded, by command in upper case.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Count returns how many requests for these commands were forwarded, in all.
func (p *Proxy) Count(commands ...string) int {
	counts, n := p.Counts(), 0
	for _, name := range commands {
		n += counts[strings.ToUpper(name)]
	}
	return n
}

// ResetCounts sets all counts to 0.
func (p *Proxy) ResetCounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.counts)
}

func (p *Proxy) count(words []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(words) > 0 {
		p.counts[strings.ToUpper(words[0])]++
	}
}

// note keeps an error of reading, if it is not just that a connection has ended.
func (p *Proxy) note(direction Direction, err error) {
	if !errors.Is(err, errProtocol) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from := map[Direction]string{ToServer: "client", ToClient: "server"}[direction]
	p.err = fmt.Errorf("from the %s: %w", from, err)
}
