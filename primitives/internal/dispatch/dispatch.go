// Package dispatch sends the calls of a client. Callers queue their calls, and a few short-lived
// goroutines send the queued calls together, in one round trip. That is faster than a round trip
// for each call. A caller can leave at any time: its call stays in the batch, and the request's
// [LateReceiver] gets the outcome.
//
// # Goroutines
//
// A sender takes all queued calls, sends them, and repeats that until no call is queued. There are
// up to [maxSenders] senders, those aside whose batch is late. If no call is taken from the queue for [queueTimeout],
// another sender starts, so no call waits for a slow batch, for example on a silent link. No sender starts
// while the server has [maxUnanswered] calls to answer, or while [maxUnsent] batches wait for a
// connection, because the driver's connections are all in use. An acquire that waits for replicas has a
// goroutine of its own. Renewals that wait for replicas are in queues of their own, by node ([waitQueue]). There is no
// goroutine while no call is under way.
//
// # Overload
//
// So calls that the server cannot answer in time wait in the queue, where their callers can
// withdraw them. Releases and renewals are sent first, and calls whose callers are about to leave
// are sent last.
package dispatch

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// maxSenders is how many batches are under way before calls queue.
	maxSenders = 2

	// queueTimeout is how long no call must be taken from the queue before another sender starts.
	queueTimeout = 2 * time.Millisecond

	// batchSize is the largest number of calls in a batch. It lets the server serve other clients
	// between batches.
	batchSize = 256

	// maxUnanswered is how many calls may wait for answers before no more senders start than
	// maxSenders. More calls would wait at the server, where their callers cannot withdraw them. A
	// batch that is under way for longer than lateAfter does not count: its link may be silent.
	maxUnanswered = 2 * batchSize
	lateAfter     = 100 * time.Millisecond

	// maxUnsent is how many batches may wait for connections, while other batches get theirs,
	// before no more senders start than maxSenders: more senders would only wait, too. In a cluster
	// a batch that has waited for longer than stuckAfter does not count: its node may be down while
	// other nodes work. If no batch was sent within stuckAfter, no batch counts.
	maxUnsent  = 16
	stuckAfter = time.Second

	// leaving is for how many batches' time a caller must still wait to be sent before callers that
	// leave earlier: the batch that is under way, the batch with its call, and the batch with the
	// release of its grant.
	leaving = 3

	// abandonedTimeout is how long a batch continues after the last of its callers has left.
	// closingTimeout is the same while the client closes.
	abandonedTimeout = 5 * time.Second
	closingTimeout   = time.Second

	// claimTimeout is how much longer a batch continues for calls that may have been sent. A driver
	// may begin the claim of a call just before it finds that it has no connection. Then it reports
	// the call as not sent.
	claimTimeout = 100 * time.Millisecond

	// unsentTimeout is how long a backend may look for a connection on which to send a call. If all
	// calls use the same connections, the time starts again when another batch was sent.
	unsentTimeout = 5 * time.Second

	// maxWaiting is how many calls wait for replicas at a time. Each has a connection of its own,
	// which a driver may take from the pool that all other calls use.
	maxWaiting = 8

	// sweepInterval is how often sweep looks for calls that were not sent within unsentTimeout.
	sweepInterval = time.Second
)

// Dispatcher sends calls to one backend. It is safe for concurrent use.
type Dispatcher struct {
	runner  backend.ScriptRunner
	batcher backend.Batcher       // nil: the backend has none, and batches are of one call
	onePool bool                  // all calls use the same connections: it is no cluster
	prompt  bool                  // a batch of one call ends at its deadline: see [backend.Capabilities].Deadlines
	waiter  backend.ReplicaWaiter // nil: the backend cannot wait for replicas
	locator backend.Locator       // nil: all keys are on one node
	sender  func()                // is send: a new method value for each goroutine would be an allocation

	// OnChange is called with the first key of a call whose server may have restarted, or have been replaced: the call
	// has no answer, or the server refused it, even if the backend has repeated it since. It must not block. It is set
	// before the first call. Nil means that nobody wants to know.
	OnChange func(key string)

	// OnAway is called with a key of a node that the client finds away, and with the reason. OnBack is called when
	// it has answered. As OnChange, they must not block, and are set before the first call.
	OnAway func(key string, cause error)
	OnBack func(key string)

	nodes   nodes
	fast    sync.Map      // the scripts that fail fast, by the script that is equal to each
	signals sync.Pool     // empty channels, for requests
	waiting chan struct{} // has a value for each call that waits for replicas

	mu              sync.Mutex
	queue           queue
	waitQueues      map[waitKey]*waitQueue // those that have senders
	batchTime       time.Duration          // of the last batches, about: from the queue to the answers
	senders         int                    // senders that run
	readySenders    int                    // senders that are about to take queued calls
	takes           uint64                 // batches taken from the queue so far
	moved           time.Time              // the end of the last batch that was sent
	answered        time.Time              // the end of the last batch, if one of its calls had a reply; else zero
	batches         map[*batch]struct{}    // under way
	queueTimerArmed bool                   // a timer will call checkQueue
	sweepArmed      bool                   // a timer will call sweep
	closing         context.Context        //nolint:containedctx // It ends when the client begins to close.
	beginClose      context.CancelCauseFunc
	closed          bool
}

// New returns a dispatcher for b. It uses RunBatch if b is a [backend.Batcher].
func New(b backend.ScriptRunner) *Dispatcher {
	d := &Dispatcher{
		runner: b, batches: make(map[*batch]struct{}), waiting: make(chan struct{}, maxWaiting),
		waitQueues: make(map[waitKey]*waitQueue),
	}
	d.closing, d.beginClose = context.WithCancelCause(context.Background())
	d.batcher, _ = b.(backend.Batcher)
	d.waiter, _ = b.(backend.ReplicaWaiter)
	d.locator, _ = b.(backend.Locator)
	d.sender = d.send
	if b, ok := b.(backend.Backend); ok {
		can := b.Capabilities()
		d.onePool, d.prompt = !can.Cluster, can.Deadlines
	}
	return d
}

// WaitsForReplicas reports whether calls can wait for replicas.
func (d *Dispatcher) WaitsForReplicas() bool { return d.waiter != nil }

// BeginClose ends the tries of waiters with cause, and shortens the time after which the dispatcher gives up batches
// that all callers have left.
func (d *Dispatcher) BeginClose(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beginClose(cause)
	for b := range d.batches {
		b.clientCloses()
	}
}

// Close gives up the batches under way: their outcome is unknown. It does not wait for them.
// Later calls fail with [backend.ErrClosed].
func (d *Dispatcher) Close() {
	d.mu.Lock()
	d.closed = true
	batches := slices.Collect(maps.Keys(d.batches))
	for _, q := range d.waitQueues {
		d.startWaiting(q) // It refuses the queued calls: the others may wait for the driver.
	}
	d.mu.Unlock()
	for _, b := range batches {
		b.giveUp()
	}
}

func (d *Dispatcher) enqueue(c *Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.add(c)
	d.ensureSender()
}

// sendAlone sends c alone, and then waits for replicas.
func (d *Dispatcher) sendAlone(c *Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.begin([]*Request{c})
	b.replicas, b.replicaTimeout = c.Replicas, c.ReplicaTimeout
	if d.closed {
		go b.refuse(d)
		return
	}
	go b.runThenWait(d)
}

// ensureSender ensures that a sender takes the queued calls: a sender that is about to, a new
// sender if there are fewer than maxSenders, or the first sender that has finished its batch. The
// caller holds mu.
func (d *Dispatcher) ensureSender() {
	switch {
	case d.batcher == nil:
		d.startSender()
	case d.readySenders > 0 || d.queueTimerArmed:
	case d.senders < maxSenders || d.senders-d.late() < maxSenders:
		d.startSender()
	default:
		d.armQueueTimer()
	}
}

// late returns how many senders wait for batches that are under way for longer than lateAfter: in a cluster, other nodes
// than theirs may answer at once. The caller holds mu.
func (d *Dispatcher) late() (n int) {
	for b := range d.batches {
		if b.replicas == 0 && time.Since(b.began) >= lateAfter {
			n++
		}
	}
	return n
}

// startSender starts a sender. The caller holds mu.
func (d *Dispatcher) startSender() {
	d.senders++
	d.readySenders++
	go d.sender()
}

// armQueueTimer starts the timer that checks the queue. The caller holds mu.
func (d *Dispatcher) armQueueTimer() {
	if d.queueTimerArmed {
		return
	}
	d.queueTimerArmed = true
	taken := d.takes
	time.AfterFunc(queueTimeout, func() { d.checkQueue(taken) })
}

// checkQueue starts another sender if no call was taken from the queue since the timer was armed.
func (d *Dispatcher) checkQueue(taken uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queueTimerArmed = false
	if d.queue.size() == 0 {
		return
	}
	if d.takes == taken {
		d.startSender()
		return
	}
	d.armQueueTimer()
}

// unanswered returns how many calls wait for answers, without the calls of late batches. The caller
// holds mu.
func (d *Dispatcher) unanswered() (n int) {
	for b := range d.batches {
		if b.replicas == 0 && time.Since(b.began) < lateAfter {
			n += b.unanswered()
		}
	}
	return n
}

// crowded reports whether more batches would wait for the server's answers, or for the driver's connections. The
// caller holds mu.
func (d *Dispatcher) crowded() bool {
	return d.unanswered() >= maxUnanswered || time.Since(d.moved) < stuckAfter && d.unsent() >= maxUnsent
}

// unsent returns how many batches wait for connections. The caller holds mu.
func (d *Dispatcher) unsent() (n int) {
	for b := range d.batches {
		if b.replicas == 0 && (d.onePool || time.Since(b.began) < stuckAfter) && !b.sent() {
			n++
		}
	}
	return n
}

// send sends batches until no call is queued. Before each batch it lets other goroutines run, such
// as callers that just got their outcomes, so the batch includes their next calls.
func (d *Dispatcher) send() { d.sendAll(d.take) }

// sendAll is send for batches that take returns.
func (d *Dispatcher) sendAll(take func() (b *batch, closed bool)) {
	for {
		runtime.Gosched()
		b, closed := take()
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

// take returns a batch of the queued calls that were not withdrawn. If closed is true, the
// dispatcher is closed, and the batch must not be sent. A nil batch ends the sender.
func (d *Dispatcher) take() (b *batch, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readySenders--
	if d.senders > maxSenders && d.batcher != nil && d.crowded() {
		d.senders--
		d.armQueueTimer() // Another sender starts when the server has answered.
		return nil, d.closed
	}
	d.takes++
	for d.queue.size() > 0 {
		b := d.begin(d.queue.take(d.mostInBatch(), leaving*d.batchTime))
		d.queue.forget()
		if b != nil {
			if d.queue.size() > 0 && d.batcher != nil {
				d.ensureSender()
			}
			return b, d.closed
		}
	}
	d.senders--
	return nil, d.closed
}

// begin returns a batch of the calls that were not withdrawn, and counts it as under way. Nil:
// there is no such call. The caller holds mu.
func (d *Dispatcher) begin(calls []*Request) *batch {
	b := newBatch(calls)
	b.dispatcher = d
	if len(b.calls) == 0 {
		return nil
	}
	d.batches[b] = struct{}{}
	d.armSweep()
	if d.closing.Err() != nil {
		b.clientCloses()
	}
	return b
}

func (d *Dispatcher) mostInBatch() int {
	if d.batcher == nil {
		return 1
	}
	return batchSize
}

// armSweep starts the timer that calls sweep. The caller holds mu.
func (d *Dispatcher) armSweep() {
	if !d.sweepArmed {
		d.sweepArmed = true
		time.AfterFunc(sweepInterval, d.sweep)
	}
}

// sweep fails the calls that were not sent within unsentTimeout.
func (d *Dispatcher) sweep() {
	var late []*batch
	d.mu.Lock()
	for b := range d.batches {
		waitsSince := b.began
		if d.onePool && d.moved.After(waitsSince) {
			waitsSince = d.moved
		}
		if time.Since(waitsSince) >= unsentTimeout {
			late = append(late, b)
		}
	}
	if d.sweepArmed = false; len(d.batches) > 0 {
		d.armSweep()
	}
	d.mu.Unlock()
	for _, b := range late {
		b.failUnsent()
	}
}

// batchDone forgets a batch that has ended. Its sender, if it has one, is about to take the next
// batch.
func (d *Dispatcher) batchDone(b *batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.batches, b)
	now := time.Now()
	if b.sent() {
		d.moved = now
	}
	if b.replicas > 0 {
		return
	}
	d.batchTime += (now.Sub(b.began) - d.batchTime) / 4
	d.readySenders++
	if d.answered = (time.Time{}); b.replied.Load() {
		d.answered = now
	}
}
