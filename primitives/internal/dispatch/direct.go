package dispatch

import "time"

// warm is how long after an answer a caller may send by itself. The driver has a connection then. Otherwise it may look
// for a connection for longer than unsentTimeout, and nothing but its return ends the caller's waiting.
const warm = time.Second

// sendDirectly has the caller of r send it, if no other call is under way and the server has just answered. That saves
// a goroutine and the caller's wake-up. It reports whether it did: then r has its outcome. It is for callers whose
// context cannot end, because the caller is in the driver until the driver returns, even if Close gives the call up.
func (d *Dispatcher) sendDirectly(r *Request) bool {
	b := d.beginDirectly(r)
	if b == nil {
		return false
	}
	defer d.endDirectly() // Also if a hook of the driver ends the goroutine.
	b.run(d)
	return true
}

// beginDirectly returns a batch of r alone, whose caller counts as a sender. Nil: r must be queued. In a cluster an
// answer says nothing of the connections to other nodes.
func (d *Dispatcher) beginDirectly(r *Request) *batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.senders > 0 || d.queue.size() > 0 || d.closed || !d.onePool || time.Since(d.answered) > warm {
		return nil
	}
	d.senders++
	return d.begin([]*Request{r})
}

// endDirectly ends a sender that was a caller. If calls have queued meanwhile, a goroutine takes its place.
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
