package renew

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// roundsPerLease is how often at most, in the length of a lease, a round renews the leases of that length. The
	// schedule renews them half as often.
	roundsPerLease = 6

	// gatherFor is the time from a signal to its round: a change of the server makes many signals.
	gatherFor = 10 * time.Millisecond

	// probeInterval is the pause of a round after a script without an answer.
	probeInterval = 250 * time.Millisecond

	// roundTimeout is how long a round waits for the answer to a script at most.
	roundTimeout = 3 * time.Second
)

// rounds renew all held leases of one node at once, since the node's server may have lost them: it restarted, or
// another server took its place. One round is under way at a time. The keeper's mutex guards the fields.
type rounds struct {
	number     uint8 // of the node, from 1 on
	running    bool
	signalled  time.Duration                   // when the server may have changed, the last time
	pending    bool                            // no round has begun since
	since      time.Duration                   // a round renews the leases that were last renewed before
	next       map[time.Duration]time.Duration // by length: when a round may renew such leases again
	open       map[time.Duration]bool          // the lengths of a round that stopped after a part of the leases; nil: none did
	unanswered bool                            // the schedule's last renewal there had no answer
}

// Changed says that the server with the given key, or channel, may have changed: the keeper soon renews all leases
// there. It does not block, and does nothing if no lease is watched.
func (k *Keeper) Changed(name string) {
	if k.size() > 0 {
		node := k.nodeOf(name)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.signal(node)
	}
}

// RenewNow soon renews the leases of a key: another process may have ended them. It does not block for long.
func (k *Keeper) RenewNow(key string) {
	for part := range slices.Chunk(k.list(), checksAtOnce) {
		k.mu.Lock()
		now := k.now()
		for _, e := range part {
			switch {
			case e.Key != key || !e.outdated(now.at):
			case e.renewing:
				e.again = true
			default:
				e.renewAt = now.at
				k.plan(e, now)
			}
		}
		k.mu.Unlock()
	}
}

func (k *Keeper) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.entries)
}

func (k *Keeper) nodeOf(name string) string {
	if k.NodeOf == nil {
		return ""
	}
	return k.NodeOf(name)
}

// signal starts a round, or has one follow the present round. The caller holds k.mu.
func (k *Keeper) signal(node string) {
	if k.closed {
		return
	}
	n := k.roundsOf(node)
	n.signalled, n.pending = k.now().at, true
	if n.running {
		return
	}
	n.running = true
	k.running.Add(1)
	go k.runRounds(node, n)
}

// roundsOf returns the rounds of a node. The caller holds k.mu.
func (k *Keeper) roundsOf(node string) *rounds {
	n := k.nodes[node]
	if n == nil {
		number := uint8(len(k.nodes)%255 + 1) //nolint:gosec // It fits. Two of very many nodes may share a number.
		n = &rounds{number: number, next: make(map[time.Duration]time.Duration)}
		k.nodes[node] = n
	}
	return n
}

// noteAnswer notes whether the schedule's renewal of a key had an answer. The first answer after none is a signal: a
// client without subscriptions reconnects like this.
func (k *Keeper) noteAnswer(key string, err error) {
	node := k.nodeOf(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	had := answered(err)
	if n := k.nodes[node]; had && n != nil && n.unanswered {
		n.unanswered = false
		k.signal(node)
	} else if !had {
		k.roundsOf(node).unanswered = true
	}
}

// answered reports whether a renewal that returned err had an answer of a server that has the key.
func answered(err error) bool {
	var server *backend.ServerError
	return err == nil || errors.Is(err, backend.ErrCrossSlot) ||
		errors.As(err, &server) && !backend.NotExecuted(server.Code)
}

// runRounds makes rounds until each lease of the node was renewed after the last signal.
func (k *Keeper) runRounds(node string, n *rounds) {
	defer k.running.Done()
	for pause, more := gatherFor, true; more && k.sleep(pause); {
		pause, more = k.round(node, n)
	}
}

// sleep reports false if the keeper is closed before the pause is over.
func (k *Keeper) sleep(pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-k.ctx.Done():
		return false
	}
}

// round renews the leases that a round may renew now. It returns the pause before the next round, if there is one.
func (k *Keeper) round(node string, n *rounds) (pause time.Duration, more bool) {
	start := k.beginRound(n)
	leases, wait := k.affected(node, n, start)
	switch {
	case len(leases) == 0 && wait == 0:
		return gatherFor, !k.endRounds(n)
	case len(leases) == 0:
		return wait, true
	}
	pause = gatherFor
	scripts := k.scripts(leases)
	begun, stopped := k.renewAll(scripts, n.since)
	if stopped {
		pause = probeInterval
	}
	if begun {
		k.limit(n, scripts, start, stopped)
	}
	return pause, true
}

// beginRound returns the time. Signals after the first part of a round wait for the next round.
func (k *Keeper) beginRound(n *rounds) (start time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n.open == nil && n.pending {
		n.since, n.pending = n.signalled, false
	}
	return k.now().at
}

// endRounds reports that there is nothing to renew, and so far no later signal.
func (k *Keeper) endRounds(n *rounds) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	n.open, n.running = nil, n.pending
	return !n.running
}

// limit notes that a round, which started at start, has renewed the leases of scripts, or a part of them.
func (k *Keeper) limit(n *rounds, scripts []roundScript, start time.Duration, stopped bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n.since = min(n.since, start-1) // A renewal from now on is none from before, even if a coarse clock shows the same time.
	maps.DeleteFunc(n.next, func(_, at time.Duration) bool { return at <= start })
	open := make(map[time.Duration]bool)
	for _, s := range scripts {
		open[s.group.lease] = true
		n.next[s.group.lease] = start + s.group.lease/roundsPerLease
	}
	if n.open = nil; stopped {
		n.open = open
	}
}

// roundLease is a lease that a round renews.
type roundLease struct {
	*Entry
	end time.Duration // until when its holder trusts it, by the monotonic clock
}

// affected returns the leases of a node that a round may renew now, those first that end first. If other leases must
// wait, it returns after what time to look again: a signal may come meanwhile that concerns shorter leases.
func (k *Keeper) affected(node string, n *rounds, start time.Duration) (found []roundLease, wait time.Duration) {
	next := never
	watched := slices.DeleteFunc(k.list(), func(e *Entry) bool { return k.nodeOf(e.Key) != node })
	for part := range slices.Chunk(watched, checksAtOnce) {
		k.mu.Lock()
		for _, e := range part {
			e.node = n.number
			in := n.next[e.Lease] - start
			switch {
			case !e.outdated(n.since):
				next = min(next, e.Lease/roundsPerLease)
			case in > 0 && !n.open[e.Lease]:
				next, wait = min(next, in), in
			default:
				found = append(found, roundLease{e, e.validFrom.at + e.validFor()})
			}
		}
		k.mu.Unlock()
	}
	if wait > 0 {
		wait = max(gatherFor, next)
	}
	slices.SortFunc(found, func(a, b roundLease) int { return cmp.Compare(a.end, b.end) })
	return found, wait
}

// list returns the watched entries. To get memory for very many takes longer than to copy them: it gets that before it
// holds the mutex.
func (k *Keeper) list() []*Entry {
	all := make([]*Entry, k.size())
	clear(all)
	k.mu.Lock()
	defer k.mu.Unlock()
	return append(all[:0], k.entries...)
}

// outdated reports whether e is a held lease that is renewed, and was last renewed before since. The caller holds the
// keeper's mutex.
func (e *Entry) outdated(since time.Duration) bool {
	return e.state == stateHeld && e.Renewer != nil && e.validFrom.at <= since
}

// roundScript has the leases that one script of a round renews.
type roundScript struct {
	group   groupKey
	entries []*Entry
}

// scripts returns the scripts that renew the leases, in their order.
func (k *Keeper) scripts(leases []roundLease) (all []roundScript) {
	filling := make(map[groupKey]int) // the last script of each group, from 1 on
	for part := range slices.Chunk(leases, checksAtOnce) {
		k.mu.Lock()
		now := k.now()
		for _, e := range part {
			group := k.groupKeyOf(e.Entry, now)
			i := filling[group]
			if i == 0 || len(all[i-1].entries) == renewalsPerScript {
				all = append(all, roundScript{group: group})
				i = len(all)
				filling[group] = i
			}
			all[i-1].entries = append(all[i-1].entries, e.Entry)
		}
		k.mu.Unlock()
	}
	return all
}

// renewAll sends scripts: the first alone, the others only if that has an answer. After a script without an answer it
// sends no more. begun reports whether there was an answer.
func (k *Keeper) renewAll(scripts []roundScript, since time.Duration) (begun, stopped bool) {
	if !k.renewAtOnce(scripts[0], since) {
		return false, true
	}
	var next, failed atomic.Int64
	var senders sync.WaitGroup
	for range min(scriptsAtOnce, len(scripts)-1) {
		senders.Go(func() {
			for i := next.Add(1); i < int64(len(scripts)) && failed.Load() == 0; i = next.Add(1) {
				if !k.renewAtOnce(scripts[i], since) {
					failed.Add(1)
				}
			}
		})
	}
	senders.Wait()
	return true, failed.Load() > 0
}

// renewAtOnce renews those leases of a script that were last renewed before since. It reports whether there was an
// answer.
func (k *Keeper) renewAtOnce(s roundScript, since time.Duration) bool {
	entries := k.mark(s.entries, since)
	if len(entries) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(k.ctx, min(s.group.present/3, roundTimeout))
	defer cancel()
	r := k.newReport(entries)
	sent, statuses, shortage, err := k.sendOnce(ctx, s.group, entries)
	if err != nil {
		k.leaveToSchedule(entries, answered(err))
		return answered(err)
	}
	lost, failed := k.settle(entries, sent, statuses, nil)
	r.Failed, r.Err = failed, shortage
	reportLosses(lost)
	k.report(r)
	return true
}

// mark marks entries as being renewed, and returns them. Of an entry that is being renewed, that renewal may be too
// early: another one follows it.
func (k *Keeper) mark(entries []*Entry, since time.Duration) (marked []*Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range entries {
		switch {
		case !e.outdated(since):
		case e.renewing:
			e.again = true
		default:
			e.renewing = true
			marked = append(marked, e)
		}
	}
	return marked
}

// leaveToSchedule leaves entries to the schedule: the round's script has failed. If the server has refused it, the
// schedule renews them at once, since it knows what to do about a refusal.
func (k *Keeper) leaveToSchedule(entries []*Entry, refused bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, e := range entries {
		if e.renewing = false; e.state != stateHeld {
			continue
		}
		if refused || e.again {
			e.renewAt, e.again = min(e.renewAt, now.at), false
		}
		k.plan(e, now)
	}
}
