package matrix

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
)

// wire implements [conformance.Link] for one client: a proxy of its own before each node that the
// client dials.
type wire struct {
	done chan struct{}

	mu      sync.Mutex
	proxies map[string]*servers.Proxy // by the node's address
	silent  []*servers.Proxy          // those that new connections do not use any more
	hole    bool
	refused bool
	delay   time.Duration
	faults  []*servers.Fault
}

func newWire() *wire {
	return &wire{done: make(chan struct{}), proxies: map[string]*servers.Proxy{}}
}

// dial is what the client dials with.
func (w *wire) dial(ctx context.Context, addr string) (net.Conn, error) {
	p, err := w.proxy(addr)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp", p.Addr())
}

func (w *wire) proxy(addr string) (*servers.Proxy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.proxies[addr]; p != nil {
		return p, nil
	}
	p, err := servers.LaunchProxy(addr, nil)
	if err != nil {
		return nil, err
	}
	p.SetLatency(servers.BothWays, w.delay)
	if w.hole {
		p.Blackhole(servers.BothWays)
	}
	if w.refused {
		p.Refuse()
	}
	w.proxies[addr] = p
	return p, nil
}

// each calls f for every proxy that new connections use.
func (w *wire) each(f func(p *servers.Proxy)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.proxies {
		f(p)
	}
}

func (w *wire) Cut() { w.each(func(p *servers.Proxy) { p.Cut() }) }

func (w *wire) Silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for addr, p := range w.proxies {
		p.Blackhole(servers.BothWays)
		w.silent = append(w.silent, p)
		delete(w.proxies, addr)
	}
}

func (w *wire) Blackhole() {
	w.each(func(p *servers.Proxy) { w.hole = true; p.Blackhole(servers.BothWays) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hole = true
}

func (w *wire) Refuse() {
	w.mu.Lock()
	w.refused = true
	w.mu.Unlock()
	w.each(func(p *servers.Proxy) { p.Refuse(); p.Cut() })
}

func (w *wire) Restore() {
	w.mu.Lock()
	w.hole, w.refused, w.delay = false, false, 0
	w.mu.Unlock()
	w.each(func(p *servers.Proxy) {
		p.SetLatency(servers.BothWays, 0)
		p.Heal()
		_ = p.Accept() // Fails only when the proxy is closed.
	})
}

func (w *wire) Delay(d time.Duration) {
	w.mu.Lock()
	w.delay = d
	w.mu.Unlock()
	w.each(func(p *servers.Proxy) { p.SetLatency(servers.BothWays, d) })
}

func (w *wire) CutReply(match func(words []string) bool) <-chan struct{} {
	return w.fault(func(p *servers.Proxy) *servers.Fault { return p.CutReply(match) })
}

func (w *wire) LoseReply(match func(words []string) bool) <-chan struct{} {
	return w.fault(func(p *servers.Proxy) *servers.Fault { return p.LoseReply(match) })
}

// fault aims one fault at all nodes; the first that it befalls withdraws the others.
func (w *wire) fault(aim func(p *servers.Proxy) *servers.Fault) <-chan struct{} {
	var faults []*servers.Fault
	w.each(func(p *servers.Proxy) { faults = append(faults, aim(p)) })
	w.mu.Lock()
	w.faults = append(w.faults, faults...)
	w.mu.Unlock()
	hit := make(chan struct{})
	var once sync.Once
	for _, f := range faults {
		go func() {
			select {
			case <-f.Hit():
				once.Do(func() { close(hit) })
				for _, other := range faults {
					if other != f {
						other.Release()
					}
				}
			case <-w.done:
			}
		}()
	}
	return hit
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.done)
	for _, f := range w.faults {
		f.Release()
	}
	all := w.silent
	for _, p := range w.proxies {
		all = append(all, p)
	}
	for _, p := range slices.Clone(all) {
		_ = p.Close()
	}
}
