package servers

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	linkBuffer = 64 << 10
	linkQueue  = 4096
)

// link is one connection through a proxy. Each direction has a goroutine that reads and one that
// writes, with a queue between them, so that latency delays and does not slow down.
type link struct {
	proxy              *Proxy
	client, server     net.Conn // what is closed
	toClient, toServer net.Conn // what is read and written: with TLS if the proxy has it
	once               sync.Once
	done               chan struct{}

	silent bool // no reply passes any more; guarded by proxy.mu
	lossy  bool // bytes have vanished; guarded by proxy.mu

	mu         sync.Mutex
	pending    []expected // requests forwarded, whose replies have not come
	subscribed bool
	resp3      bool
}

// unit is what travels through a link: a request, a reply, or the end of the connection.
type unit struct {
	frame frame
	end   bool
	due   time.Time
}

// expected is a reply that is to come.
type expected struct {
	fault   *Fault
	confirm string // of a subscription's command: what its confirmations are called
	left    int    // confirmations to come
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// run carries the connection until both directions have ended.
func (l *link) run() {
	var work sync.WaitGroup
	for _, way := range []struct {
		direction Direction
		from, to  net.Conn
		forward   func(*writer, unit) bool
	}{
		{ToServer, l.toClient, l.toServer, l.forwardRequest},
		{ToClient, l.toServer, l.toClient, l.forwardReply},
	} {
		queue := make(chan unit, linkQueue)
		work.Go(func() { l.read(way.from, way.direction, queue) })
		work.Go(func() {
			defer l.close()
			w := &writer{link: l, direction: way.direction, out: bufio.NewWriter(way.to)}
			w.run(queue, way.forward)
		})
	}
	work.Wait()
}

func (l *link) read(from net.Conn, direction Direction, queue chan<- unit) {
	in := bufio.NewReaderSize(from, linkBuffer)
	for {
		f, err := l.next(in)
		if err != nil {
			l.proxy.note(direction, err)
		}
		select {
		case queue <- unit{frame: f, end: err != nil, due: l.proxy.due(direction)}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *link) next(in *bufio.Reader) (frame, error) {
	if !l.proxy.opts.Raw {
		return readFrame(in)
	}
	chunk := make([]byte, linkBuffer)
	n, err := in.Read(chunk)
	return frame{raw: chunk[:n]}, err
}

// forwardRequest forwards one request, or loses it, and reports whether the link goes on.
func (l *link) forwardRequest(w *writer, u unit) bool {
	if !w.await(u.due) {
		return false
	}
	if l.proxy.swallow(l, ToServer) {
		return true
	}
	words := u.frame.words()
	fault := l.proxy.take(words)
	if fault != nil && fault.action == holdRequest {
		fault.occur()
		if !w.hold(fault) || !w.await(time.Time{}) {
			return false
		}
		if fault = nil; l.proxy.swallow(l, ToServer) {
			return true
		}
	}
	l.expect(words, fault)
	l.proxy.count(words)
	return w.write(u.frame.raw)
}

// forwardReply forwards one reply or message, or loses it, and reports whether the link goes on.
func (l *link) forwardReply(w *writer, u unit) bool {
	fault := l.pair(u.frame)
	if !w.await(u.due) {
		return false
	}
	if fault != nil {
		fault.occur()
		switch fault.action {
		case cutReply:
			w.flush()
			return false
		case loseReply:
			l.proxy.silence(l)
		case holdReply:
			if !w.hold(fault) || !w.await(time.Time{}) {
				return false
			}
		}
	}
	return l.proxy.swallow(l, ToClient) || w.write(u.frame.raw)
}

// expect notes that a reply to the request will come.
func (l *link) expect(words []string, fault *Fault) {
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
func (l *link) pair(f frame) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.kind == '>' {
		l.resp3 = true
	}
	told := l.told(f)
	if len(l.pending) == 0 {
		return nil
	}
	first := &l.pending[0]
	if told != "" && told != first.confirm {
		return nil
	}
	fault := first.fault
	first.fault = nil
	if first.left--; told == "" || first.left <= 0 {
		l.pending = l.pending[1:]
	}
	return fault
}

// told returns the first word of what a server sends unasked or to confirm a subscription, such as
// "message" or "subscribe"; "" if f is a plain reply. RESP3 marks these, RESP2 does not.
func (l *link) told(f frame) string {
	if len(f.items) == 0 {
		return ""
	}
	word := f.items[0].text
	if f.kind == '>' {
		return word
	}
	if !l.subscribed || l.resp3 || f.kind != '*' || f.items[0].kind != '$' {
		return ""
	}
	if strings.HasSuffix(word, "subscribe") || strings.HasSuffix(word, "message") {
		return word
	}
	return ""
}

// writer writes one direction of a link.
type writer struct {
	link      *link
	direction Direction
	out       *bufio.Writer
}

func (w *writer) run(queue <-chan unit, forward func(*writer, unit) bool) {
	for {
		select {
		case u := <-queue:
			if u.end {
				w.finish(u)
				return
			}
			if !forward(w, u) || len(queue) == 0 && !w.flush() {
				return
			}
		case <-w.link.done:
			return
		}
	}
}

// finish forwards the end of the connection, which a blackhole keeps back.
func (w *writer) finish(u unit) {
	if !w.await(u.due) {
		return
	}
	for {
		healed := w.link.proxy.healed()
		if !w.link.proxy.swallow(w.link, w.direction) {
			_ = w.write(u.frame.raw) && w.flush()
			return
		}
		if !w.rest(nil, healed) {
			return
		}
	}
}

// await waits until due, and until no stall lasts; false means that the link has ended.
func (w *writer) await(due time.Time) bool {
	for {
		d := w.link.proxy.stalledFor()
		if !due.IsZero() {
			d = max(d, time.Until(due))
		}
		if d <= 0 {
			return true
		}
		if !w.rest(time.After(d), nil) {
			return false
		}
	}
}

// hold waits until the fault is released, or its time is over; false means that the link has ended.
func (w *writer) hold(fault *Fault) bool {
	var over <-chan time.Time
	if fault.d > 0 {
		over = time.After(fault.d)
	}
	return w.rest(over, fault.released)
}

// rest flushes, then waits for either channel.
func (w *writer) rest(over <-chan time.Time, released <-chan struct{}) bool {
	if !w.flush() {
		return false
	}
	select {
	case <-over:
		return true
	case <-released:
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
