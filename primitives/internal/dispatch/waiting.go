package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// waitingBatch is the largest number of calls that wait for replicas together.
	waitingBatch = 100

	// waitingSenders is how many batches of one queue are under way at a time, if the batches before are late.
	waitingSenders = 8
)

// waitKey is equal for calls that can wait for replicas together.
type waitKey struct {
	node     string
	replicas int
	timeout  time.Duration
}

// waitQueue has renewals that wait for replicas together: one script after the other on one connection, and then one
// WAIT. One sender sends them. Another one starts if no call is taken from the queue for twice the timeout of the
// WAIT, since the connection may be silent. These calls take no turn of other calls that wait for replicas.
type waitQueue struct {
	waitKey
	calls   []*Request
	senders int
	taken   time.Time // when a sender last took calls, or started
	checked bool      // a timer will call checkWaiting
}

// Waiting implements renew.Runner. The WAIT of several calls is one.
func (r *Runner) Waiting(
	replicas int, timeout, left time.Duration,
) (runner backend.ScriptRunner, shortage func() error) {
	q := &Request{
		Dispatcher: r.Dispatcher, Insistent: r.Insistent, Contained: r.Contained,
		Replicas: replicas, ReplicaTimeout: timeout, leaseEnds: time.Now().Add(left).UnixNano(),
	}
	return q, q.Free
}

// enqueueWaiting adds r to the queue of its node.
func (d *Dispatcher) enqueueWaiting(r *Request) {
	key := waitKey{replicas: r.Replicas, timeout: r.ReplicaTimeout}
	if d.locator != nil {
		key.node = d.locator.NodeOf(r.Keys[0])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.waitQueues[key]
	if q == nil {
		q = &waitQueue{waitKey: key}
		d.waitQueues[key] = q
	}
	q.calls = append(q.calls, r)
	if q.senders == 0 {
		d.startWaiting(q)
	} else if !q.checked && q.senders < waitingSenders {
		d.checkLater(q)
	}
}

// startWaiting starts a sender of q. The caller holds mu.
func (d *Dispatcher) startWaiting(q *waitQueue) {
	q.senders++
	q.taken = time.Now()
	go d.sendAll(func() (*batch, bool) { return d.takeWaiting(q) })
}

// checkLater starts the timer that checks q. The caller holds mu.
func (d *Dispatcher) checkLater(q *waitQueue) {
	q.checked = true
	time.AfterFunc(2*q.timeout-time.Since(q.taken), func() { d.checkWaiting(q) })
}

// checkWaiting starts another sender if calls are queued, and none was taken for twice the timeout.
func (d *Dispatcher) checkWaiting(q *waitQueue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.checked = false
	if len(q.calls) == 0 || q.senders == waitingSenders {
		return // The first sender that is free takes the calls.
	}
	if time.Since(q.taken) >= 2*q.timeout {
		d.startWaiting(q)
	}
	d.checkLater(q)
}

// takeWaiting returns a batch of the calls of q that were not withdrawn, those first whose leases end first. A nil batch
// ends the sender. closed is as for take.
func (d *Dispatcher) takeWaiting(q *waitQueue) (b *batch, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.taken = time.Now()
	slices.SortStableFunc(q.calls, func(a, b *Request) int { return cmp.Compare(a.leaseEnds, b.leaseEnds) })
	for len(q.calls) > 0 {
		n := min(len(q.calls), waitingBatch)
		b := d.begin(q.calls[:n])
		q.calls = slices.Delete(q.calls, 0, n)
		if b != nil {
			b.replicas, b.replicaTimeout = q.replicas, q.timeout
			return b, d.closed
		}
	}
	if q.senders--; q.senders == 0 {
		delete(d.waitQueues, q.waitKey)
	}
	return nil, d.closed
}
