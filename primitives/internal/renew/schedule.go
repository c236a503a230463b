package renew

import (
	"container/heap"
	"math"
	"slices"
	"time"
)

const (
	// never is the time of the next check of an entry that needs no check.
	never = time.Duration(math.MaxInt64)

	// clocksDiffer is how far the wall clock may run ahead of the monotonic clock before all
	// entries are planned again: more than an adjustment of the clock's rate makes in a minute.
	clocksDiffer = 50 * time.Millisecond
)

// schedule has the watched entries, as a heap: the first entry is checked first.
type schedule []*Entry

// Len implements [heap.Interface].
func (s schedule) Len() int { return len(s) }

// Less implements [heap.Interface]. Of entries that are checked together, the oldest comes first.
func (s schedule) Less(i, j int) bool {
	if s[i].checkAt != s[j].checkAt {
		return s[i].checkAt < s[j].checkAt
	}
	return s[i].renewAt < s[j].renewAt
}

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = int32(i), int32(j) //nolint:gosec // There are far fewer leases.
}

func (s *schedule) Push(x any) {
	e := x.(*Entry)          //nolint:forcetypeassert // Only entries are pushed.
	e.index = int32(len(*s)) //nolint:gosec // As above.
	*s = append(*s, e)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return e
}

// plan notes when e must be checked next. The caller holds k.mu.
func (k *Keeper) plan(e *Entry, now instant) {
	if at := k.nextCheck(e, now); at != e.checkAt {
		e.checkAt = at
		heap.Fix(&k.entries, int(e.index))
	}
	k.arm(now)
}

// nextCheck returns when the keeper must check e, since its start: when a held lease ends, or a renewal is due.
func (k *Keeper) nextCheck(e *Entry, now instant) time.Duration {
	next := never
	if e.state == stateHeld {
		next = now.at - k.start.at + e.validFor() - now.since(e.validFrom)
	}
	if e.Renewer != nil && !e.renewing {
		next = min(next, k.renewalTime(e))
	}
	return next
}

// renewalTime returns when to renew e, since the keeper's start. It is earlier than necessary, by
// up to a thirtieth of the lease, so one script renews all leases of a kind that are due
// within that time.
func (k *Keeper) renewalTime(e *Entry) time.Duration {
	return (e.renewAt - k.start.at).Truncate(e.present().length / 30)
}

// followClocks plans all entries again if the wall clock has run ahead of the monotonic clock, for
// example while the machine was suspended. Entries are planned by the monotonic clock. The caller
// holds k.mu.
func (k *Keeper) followClocks(now instant) {
	ahead := now.wall - k.start.wall - (now.at - k.start.at)
	if ahead < k.ahead+clocksDiffer {
		k.ahead = min(k.ahead, ahead)
		return
	}
	k.ahead = ahead
	for _, e := range k.entries {
		e.checkAt = k.nextCheck(e, now)
	}
	heap.Init(&k.entries)
}

// arm makes the timer fire when the first entry must be checked, or earlier. The caller holds k.mu.
func (k *Keeper) arm(now instant) {
	in := min(max(0, k.entries[0].checkAt-(now.at-k.start.at)), checkInterval)
	at := now.at + in
	if k.timerAt != 0 && at >= k.timerAt {
		return
	}
	k.timerAt = at
	if k.timer == nil {
		k.timer = time.AfterFunc(in, k.tick)
		return
	}
	k.timer.Reset(in)
}

// round has the results of a tick.
type round struct {
	lost []lostEntry
	due  map[groupKey][]*Entry // to be renewed, the oldest first
}

// tick checks the entries that must be checked by now: it reports the losses, and sends the renewals that are due.
func (k *Keeper) tick() {
	r := round{due: make(map[groupKey][]*Entry)}
	for k.check(k.now(), &r) == checksAtOnce {
		reportLosses(r.lost)
		r.lost = nil
	}
	reportLosses(r.lost)
	for group, entries := range r.due {
		k.enqueue(group, entries)
	}
	k.survey()
}

// check checks up to checksAtOnce entries, and returns how many. It stops watching lost entries,
// and marks due entries as being renewed. After the last entry it arms the timer: no other tick
// runs before.
func (k *Keeper) check(now instant, r *round) (checked int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return 0
	}
	k.followClocks(now)
	k.noteRun(now)
	until := now.at - k.start.at
	for ; checked < checksAtOnce && len(k.entries) > 0 && k.entries[0].checkAt <= until; checked++ {
		k.checkFirst(now, r)
	}
	if checked == checksAtOnce {
		return checked
	}
	if k.timerAt = 0; len(k.entries) > 0 {
		k.arm(now)
	}
	return checked
}

// checkFirst checks the first entry. The caller holds k.mu.
func (k *Keeper) checkFirst(now instant, r *round) {
	e := k.entries[0]
	if e.state == stateHeld && e.expired(now) {
		r.lost = append(r.lost, lostEntry{e, k.lose(e, k.lossByClock(e, now))})
		return
	}
	if e.Renewer != nil && !e.renewing && k.renewalTime(e) <= now.at-k.start.at {
		e.renewing = true
		group := k.groupKeyOf(e, now)
		r.due[group] = append(r.due[group], e)
	}
	e.checkAt = k.nextCheck(e, now)
	heap.Fix(&k.entries, int(e.index))
}

// epoch is the zero of the monotonic clock's readings. It is so far back that all readings are
// positive, in virtual time, too.
var epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// instant is a reading of both clocks, each since an epoch of its own, so an entry stores it
// in few bytes. The monotonic clock stands still while the machine is suspended. The wall clock may
// be set back.
type instant struct {
	at   time.Duration // by the monotonic clock
	wall time.Duration
}

// clock reads the clocks.
type clock func() instant

func systemClock() instant { return instantOf(time.Now()) }

func instantOf(t time.Time) instant {
	return instant{at: t.Sub(epoch), wall: time.Duration(t.UnixNano())}
}

// since returns the time from start to now, by the clock on which it is longer.
func (now instant) since(start instant) time.Duration {
	return max(now.at-start.at, now.wall-start.wall)
}

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
