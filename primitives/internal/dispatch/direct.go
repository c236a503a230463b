package dispatch

import "time"

// warm is how long after an answer a caller may send its call itself. Within that time the driver
// has a connection. Later the driver may look for a connection for longer than unsentTimeout, and
// only its return ends the caller's waiting.
const warm = time.Second

// sendDirectly sends r in its caller's goroutine, if no other call is under way and the server has
// just answered. That saves a goroutine and the caller's wake-up. It reports whether it sent r:
// then r has its outcome. It is only for callers whose context cannot end, because the caller is in
// the driver until the driver returns, even if Close gives up the call.
func (d *Dispatcher) sendDirectly(r *Request) bool {
	b := d.beginDirectly(r)
	if b == nil {
		return false
	}
	defer d.endDirectly() // Even if a hook of the driver ends the goroutine.
	b.run(d)
	return true
}

// beginDirectly returns a batch of r alone, and counts its caller as a sender. Nil: r must be
// queued. In a cluster r is always queued, since an answer of one node says nothing about the
// connections to other nodes.
func (d *Dispatcher) beginDirectly(r *Request) *batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.senders > 0 || d.queue.size() > 0 || d.closed || !d.onePool || time.Since(d.answered) > warm {
		return nil
	}
	d.senders++
	return d.begin([]*Request{r})
}

// endDirectly ends the sending by a caller. If calls have queued meanwhile, a goroutine continues
// as the sender.
func (d *Dispatcher) endDirectly() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue.size() > 0 {
		go d.send()
		return
	}
	d.senders--
	d.readySenders--
}
