// Package dispatch sends the calls of a client. Callers queue their calls, and a few short-lived
// goroutines send what is queued together, in one round trip. That is faster than a round trip for
// each call, and it lets a caller leave at once: its call stays with the batch, and the reply, when
// it comes, goes to the request's heir, which acts on it.
//
// # Goroutines
//
// A sender takes all that is queued, sends it, and goes on until nothing is queued. There are up to
// [senders] of them; what is queued for longer than [patience] gets one more, so that no call waits
// for the slowest batch, as on a silent link. No goroutine lives while no call is under way.
package dispatch

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// senders is how many batches are under way before calls queue.
	senders = 2

	// patience is how long calls queue while nothing is taken from the queue.
	patience = 2 * time.Millisecond

	// batchSize bounds a batch, so that the server serves others in between.
	batchSize = 256

	// abandonedFor is how long a batch goes on after the last of its callers has left, and hurriedFor
	// the same when the client is closing.
	abandonedFor = 5 * time.Second
	hurriedFor   = time.Second

	// unsentFor is how long a backend may look for a connection to send a call on.
	unsentFor = 5 * time.Second

	// sweepEvery is how often somebody looks for calls that are not sent for so long.
	sweepEvery = time.Second
)

// Dispatcher sends calls to one backend. It is safe for concurrent use.
type Dispatcher struct {
	runner  backend.ScriptRunner
	batcher backend.Batcher // nil: the backend has none, and batches are of one call

	channels sync.Pool // of requests that have ended; they are empty

	mu      sync.Mutex
	queue   []*Request
	sending int                 // senders at work
	about   int                 // those of them that are about to take what is queued
	taken   uint64              // batches taken from the queue so far
	batches map[*batch]struct{} // under way
	armed   bool                // a timer looks for what is queued for too long
	watched bool                // another looks for calls that are not sent
	closing bool
	closed  bool
}

// New returns a dispatcher for b, by its RunBatch if it is a [backend.Batcher].
func New(b backend.ScriptRunner) *Dispatcher {
	d := &Dispatcher{runner: b, batches: make(map[*batch]struct{})}
	d.batcher, _ = b.(backend.Batcher)
	return d
}

// Hurry shortens the life of batches that all callers have left.
func (d *Dispatcher) Hurry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	for b := range d.batches {
		b.hurry()
	}
}

// Close gives up the batches under way, whose outcome is unknown then. It does not wait for them.
// Later calls fail with [backend.ErrClosed].
func (d *Dispatcher) Close() {
	d.mu.Lock()
	d.closed = true
	batches := slices.Collect(maps.Keys(d.batches))
	d.mu.Unlock()
	for _, b := range batches {
		b.giveUp()
	}
}

// enqueue adds c to the queue.
func (d *Dispatcher) enqueue(c *Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, c)
	d.serve()
}

// serve sees to it that a sender takes what is queued: one that is about to, a new one if there may be
// another, or the first that comes back. The caller holds mu.
func (d *Dispatcher) serve() {
	switch {
	case d.batcher == nil, d.sending < senders && d.about == 0:
		d.start()
	case d.about == 0:
		d.arm()
	}
}

// start starts a sender. The caller holds mu.
func (d *Dispatcher) start() {
	d.sending++
	d.about++
	go d.send()
}

// arm makes the timer look at the queue in a while. The caller holds mu.
func (d *Dispatcher) arm() {
	if d.armed {
		return
	}
	d.armed = true
	taken := d.taken
	time.AfterFunc(patience, func() { d.look(taken) })
}

// look starts one more sender if nothing was taken from the queue since the timer was armed.
func (d *Dispatcher) look(taken uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	if len(d.queue) == 0 {
		return
	}
	if d.taken == taken {
		d.start()
		return
	}
	d.arm()
}

// send sends batches until nothing is queued. Callers that are about to run, as those who just got
// their outcomes, come first: their next calls go along.
func (d *Dispatcher) send() {
	for {
		runtime.Gosched()
		b, closed := d.take()
		switch {
		case b == nil:
			return
		case closed:
			b.refuse(d)
		default:
			b.run(d)
		}
	}
}

// take returns what is queued as a batch, less what was withdrawn, and whether it must not be sent.
// Nil ends the sender.
func (d *Dispatcher) take() (b *batch, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken++
	d.about--
	for len(d.queue) > 0 {
		n := d.width()
		b := newBatch(d.queue[:n])
		d.queue = slices.Delete(d.queue, 0, n)
		if len(b.calls) > 0 {
			d.batches[b] = struct{}{}
			d.watch()
			if d.closing {
				b.hurry()
			}
			if len(d.queue) > 0 && d.batcher != nil {
				d.serve()
			}
			return b, d.closed
		}
	}
	d.sending--
	return nil, d.closed
}

// width is how many calls go into the next batch. The caller holds mu.
func (d *Dispatcher) width() int {
	if d.batcher == nil {
		return 1
	}
	return min(len(d.queue), batchSize)
}

// watch begins to look for calls that are not sent. The caller holds mu.
func (d *Dispatcher) watch() {
	if !d.watched {
		d.watched = true
		time.AfterFunc(sweepEvery, d.sweep)
	}
}

// sweep fails the calls that are not sent for too long.
func (d *Dispatcher) sweep() {
	var late []*batch
	d.mu.Lock()
	for b := range d.batches {
		if time.Since(b.began) >= unsentFor {
			late = append(late, b)
		}
	}
	if d.watched = false; len(d.batches) > 0 {
		d.watch()
	}
	d.mu.Unlock()
	for _, b := range late {
		b.failUnsent()
	}
}

// done ends a batch, whose sender is about to take the next.
func (d *Dispatcher) done(b *batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.batches, b)
	d.about++
}
