package proxy

import (
	"bufio"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

const (
	linkBuffer = 64 << 10
	linkQueue  = 512

	// dialTimeout is short of what drivers wait for: a server too busy to accept fails the connection.
	dialTimeout = 5 * time.Second

	// unsent is sent instead of a request that its server must not get: any server has one reply to it, at any time.
	unsent = "*1\r\n$4\r\nECHO\r\n"
)

// link is one connection through a proxy. Each direction has a goroutine that reads and one that
// writes, with a queue between them, so a delay does not slow down.
type link struct {
	proxy              *Proxy
	client, server     net.Conn // what is closed; the server is nil until the link is connected
	toClient, toServer net.Conn // what is read and written: with TLS if the proxy has it
	done               chan struct{}

	deaf  atomic.Bool // no reply passes any more
	resp3 bool        // for the goroutine that forwards replies

	// Guarded by proxy.mu.
	silenced bool // nothing passes any more
	lossy    bool // bytes have vanished

	mu         sync.Mutex
	ended      bool       // done is closed
	pending    []expected // requests forwarded, whose replies have not come
	subscribed bool
}

// unit is what travels through a link: a request, a reply, or the end of the connection.
type unit struct {
	frame resp.Frame
	end   bool
	due   time.Time
}

// expected is a reply that is to come.
type expected struct {
	fault   *fault // nil: it passes
	confirm string // of a subscription's command: what its confirmations are called
	left    int    // confirmations to come
}

// newLink returns a link that is yet to connect to its server.
func newLink(p *Proxy, client net.Conn) *link {
	l := &link{proxy: p, client: client, toClient: client, done: make(chan struct{})}
	if p.tls != nil {
		l.toClient = tls.Server(client, p.tls)
	}
	return l
}

// connect connects the link to its server, and reports whether it can: it has ended otherwise.
func (l *link) connect(target string) bool {
	server, err := net.DialTimeout("tcp", target, dialTimeout)
	if err != nil {
		l.close()
		return false
	}
	l.mu.Lock()
	l.server, l.toServer = server, server
	if l.proxy.tls != nil {
		l.toServer = tls.Client(server, l.proxy.tls)
	}
	ended := l.ended
	l.mu.Unlock()
	if ended {
		_ = server.Close()
	}
	return !ended
}

// close ends the link, more than once if need be.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	close(l.done)
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// run carries the connection until both directions have ended.
func (l *link) run() {
	var work sync.WaitGroup
	for _, way := range []struct {
		direction direction
		from, to  net.Conn
		forward   func(*writer, resp.Frame) bool
	}{
		{toServer, l.toClient, l.toServer, l.forwardRequest},
		{toClient, l.toServer, l.toClient, l.forwardReply},
	} {
		queue := make(chan unit, linkQueue)
		work.Go(func() { l.read(way.from, way.direction, queue) })
		work.Go(func() {
			defer l.close()
			w := &writer{link: l, way: way.direction, out: bufio.NewWriter(way.to)}
			w.run(queue, way.forward)
		})
	}
	work.Wait()
}

func (l *link) read(from net.Conn, way direction, queue chan<- unit) {
	in := bufio.NewReaderSize(from, linkBuffer)
	for {
		f, err := resp.Read(in)
		if err != nil {
			l.proxy.note(way, err)
		}
		select {
		case queue <- unit{frame: f, end: err != nil, due: l.proxy.due()}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// forwardRequest forwards one request, or loses it, and reports whether the link goes on.
func (l *link) forwardRequest(w *writer, f resp.Frame) bool {
	if gone, _ := l.proxy.swallow(l, toServer); gone {
		return true
	}
	words, raw := f.Words(), f.Raw
	fault := l.proxy.admit(words)
	if fault != nil && fault.unsent {
		words, raw = []string{"ECHO"}, []byte(unsent)
	}
	l.expect(words, fault)
	return w.write(raw)
}

// forwardReply forwards one reply or message, or loses it, and reports whether the link goes on.
func (l *link) forwardReply(w *writer, f resp.Frame) bool {
	raw := f.Raw
	if fault := l.pair(f); fault != nil {
		fault.once.Do(func() { close(fault.hit) })
		if fault.silent {
			l.deaf.Store(true)
		} else if raw = []byte(fault.instead(string(raw), l.resp3)); len(raw) == 0 {
			w.flush()
			return false
		}
	}
	gone, _ := l.proxy.swallow(l, toClient)
	return gone || w.write(raw)
}

// expect notes that a reply to the request will come.
func (l *link) expect(words []string, fault *fault) {
	if len(words) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := expected{fault: fault}
	if name := strings.ToLower(words[0]); strings.HasSuffix(name, "subscribe") {
		e.confirm, e.left = name, max(1, len(words)-1)
		l.subscribed = true
	}
	l.pending = append(l.pending, e)
}

// pair finds the request that f answers, and returns the fault aimed at it. Messages, and other
// pushes that nobody asked for, answer none.
func (l *link) pair(f resp.Frame) *fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resp3 = l.resp3 || f.Kind == '>' || f.Kind == '%' // A map answers HELLO 3.
	word := l.word(f)
	if len(l.pending) == 0 || word != "" && word != l.pending[0].confirm {
		return nil
	}
	first := &l.pending[0]
	fault := first.fault
	first.fault = nil
	if first.left--; word == "" || first.left <= 0 {
		l.pending = l.pending[1:]
	}
	return fault
}

// word returns the first word of what a server sends unasked or to confirm a subscription, such as
// "message" or "subscribe"; "" if f is a plain reply. RESP3 marks these, RESP2 does not.
func (l *link) word(f resp.Frame) string {
	if len(f.Items) == 0 {
		return ""
	}
	word := f.Items[0].Text
	if f.Kind == '>' {
		return word
	}
	if !l.subscribed || l.resp3 || f.Kind != '*' || f.Items[0].Kind != '$' {
		return ""
	}
	if strings.HasSuffix(word, "subscribe") || strings.HasSuffix(word, "message") {
		return word
	}
	return ""
}

// writer writes one direction of a link.
type writer struct {
	link *link
	way  direction
	out  *bufio.Writer
}

func (w *writer) run(queue <-chan unit, forward func(*writer, resp.Frame) bool) {
	for {
		select {
		case u := <-queue:
			if !w.await(u.due) {
				return
			}
			if u.end {
				w.finish(u.frame)
				return
			}
			if !forward(w, u.frame) || len(queue) == 0 && !w.flush() {
				return
			}
		case <-w.link.done:
			return
		}
	}
}

// finish forwards the end of the connection, which a blackhole keeps back.
func (w *writer) finish(f resp.Frame) {
	for {
		gone, restored := w.link.proxy.swallow(w.link, w.way)
		if !gone {
			_ = w.write(f.Raw) && w.flush()
			return
		}
		if !w.rest(nil, restored) {
			return
		}
	}
}

// await waits until due; false means that the link has ended.
func (w *writer) await(due time.Time) bool {
	d := time.Until(due)
	return d <= 0 || w.rest(time.After(d), nil)
}

// rest flushes, then waits for either channel; false means that the link has ended.
func (w *writer) rest(over <-chan time.Time, restored <-chan struct{}) bool {
	if !w.flush() {
		return false
	}
	select {
	case <-over:
		return true
	case <-restored:
		return true
	case <-w.link.done:
		return false
	}
}

func (w *writer) write(raw []byte) bool {
	_, err := w.out.Write(raw)
	return err == nil
}

func (w *writer) flush() bool { return w.out.Flush() == nil }
