package renew

import "slices"

// renewals has the scripts that will renew the entries of one group.
type renewals struct {
	scripts [][]*Entry // the entries that each renews
	senders int        // goroutines that send them
}

// enqueue renews entries of one group in the background, the oldest first.
func (k *Keeper) enqueue(group groupKey, entries []*Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	q := k.queues[group]
	if q == nil {
		q = &renewals{}
		k.queues[group] = q
	}
	q.scripts = slices.AppendSeq(q.scripts, slices.Chunk(entries, renewalsPerScript))
	for range min(len(q.scripts), group.scriptsAtOnce()-q.senders) {
		q.senders++
		k.running.Add(1)
		go k.send(group, q)
	}
}

// send renews the entries in a group's queue, until the queue is empty.
func (k *Keeper) send(group groupKey, q *renewals) {
	defer k.running.Done()
	for entries := k.next(group, q); entries != nil; entries = k.next(group, q) {
		k.renew(group, entries)
	}
}

// next returns the entries of the next script, without entries that are no longer watched. Nil: the
// queue is empty, and the sender ends.
func (k *Keeper) next(group groupKey, q *renewals) []*Entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(q.scripts) > 0 {
		entries := slices.DeleteFunc(q.scripts[0], func(e *Entry) bool {
			return !e.renewing || e.state != statePending && e.state != stateHeld
		})
		q.scripts[0], q.scripts = nil, q.scripts[1:]
		if len(entries) > 0 {
			return entries
		}
	}
	if q.senders--; q.senders == 0 {
		delete(k.queues, group)
	}
	return nil
}
