// Package renew is the watchdog of all leases: it renews them in batches, and reports a loss to the
// holder in time, even if the network hangs.
//
// The keeper watches a lease from before its acquire is sent (Begin) until before its release is sent
// (End): no renewal is missing, and none is sent after the release. One timer serves all leases. A
// goroutine runs only while a renewal is under way.
package renew

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/trace"
)

const (
	// checkInterval is the longest time between readings of the clocks while an entry is watched:
	// timers use the monotonic clock, which stands still while the machine is suspended.
	checkInterval = time.Second

	// renewalsPerScript is how many leases one script renews: about 100 us of the server's time.
	renewalsPerScript = 100

	// adoptedFor is the longest time between an adopted grant and its first renewal. Until then the
	// holder's lease is shorter than others. A hold that is released earlier needs no renewal.
	adoptedFor = 500 * time.Millisecond

	// checksAtOnce is how many entries are checked before the mutex is released: less than 1 ms.
	checksAtOnce = 500

	// keysInLog is how many keys a warning names.
	keysInLog = 10

	// scriptsAtOnce is how many scripts of one group are under way at a time, if very many leases
	// are due at once. Each group has its own number, since the node of one group may be silent.
	scriptsAtOnce = 32

	// waitingAtOnce is the same for scripts that wait for replicas, which take turns: they wait longer for replicas
	// than for the server.
	waitingAtOnce = 200
)

// Keeper watches the leases of one client.
type Keeper struct {
	runner Runner
	bySlot *atomic.Bool // one script's keys must share a slot
	log    *zap.Logger
	now    clock

	// OnRenewal is called after each renewal, without any mutex held. It must not block. It is set
	// before the first Begin. Nil means that nobody wants to know.
	OnRenewal func(trace.Renewal)

	// NodeOf names the node that has a key or a channel. It is set before the first Begin. Nil means that there is one
	// node.
	NodeOf func(name string) string

	// OnNodes gets a channel for each node that has leases that are renewed, about every checkInterval, by ChannelOf:
	// of one of these leases. all says that there are no more nodes. It must not block. Both are set before the first
	// Begin, or nil.
	OnNodes   func(channels map[string]string, all bool)
	ChannelOf func(*Entry) string // "": the lease has none

	ctx     context.Context //nolint:containedctx // It ends the renewals under way at Close.
	cancel  context.CancelFunc
	running sync.WaitGroup // renewals under way

	mu      sync.Mutex
	start   instant       // the zero of checkAt
	ahead   time.Duration // how far the wall clock has run ahead of the monotonic clock since start, as last noted
	entries schedule
	queues  map[groupKey]*renewals // of groups that are being renewed
	nodes   map[string]*rounds
	timer   *time.Timer
	timerAt time.Duration // when timer fires, by the monotonic clock; 0: it is not armed
	lastRun instant       // when the keeper last ran, while entries are watched
	pause   pause         // the last one
	closed  bool

	surveyAt   time.Duration // when the next survey is due
	surveyNext int           // how many entries were surveyed
}

// NewKeeper returns a keeper that renews with r. bySlot says that one script's keys must share a
// slot, as in a cluster. The keeper sets it when a server says so.
func NewKeeper(r Runner, bySlot *atomic.Bool, log *zap.Logger) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	return &Keeper{
		runner: r, bySlot: bySlot, log: log, now: systemClock, start: systemClock(),
		ctx: ctx, cancel: cancel, queues: make(map[groupKey]*renewals), nodes: make(map[string]*rounds),
	}
}

// Begin reads the clock for an acquire that is about to be sent for e, and begins to watch e.
func (k *Keeper) Begin(e *Entry) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	e.first = span{}
	k.watch(e, statePending, now, now)
}

// watch begins to watch e, whose lease starts at from. The caller holds k.mu.
func (k *Keeper) watch(e *Entry, as entryState, from, now instant) {
	e.state, e.validFrom, e.grantedAt, e.renewing, e.again, e.node = as, from, 0, false, false, 0
	e.renewAt = from.at + e.present().length/3
	e.checkAt = k.nextCheck(e, now)
	if len(k.entries) == 0 {
		k.lastRun = now
	}
	heap.Push(&k.entries, e)
	k.arm(now)
}

// Adopt begins to watch e, which was granted without an acquire of its own, by the release of
// another owner. The grant lasts for length, from started on, and ends for its holder earlier, by
// drift. A renewal extends it to a whole lease, within half a second. If the grant may have
// expired, or after Close, Adopt reports false: then the caller must release e.
func (k *Keeper) Adopt(e *Entry, started time.Time, length, drift time.Duration) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	e.first = span{length, drift}
	if e.validFrom = instantOf(started); k.closed || e.expired(now) {
		return false
	}
	k.watch(e, stateHeld, e.validFrom, now)
	e.grantedAt, e.renewAt = now.at, min(e.renewAt, now.at+adoptedFor)
	k.plan(e, now)
	return true
}

// Confirm notes that the acquire was granted. If the lease may have expired before the grant came,
// or after Close, Confirm stops watching e and reports false: then the caller must release e.
func (k *Keeper) Confirm(e *Entry) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.state != statePending || e.expired(now) {
		e.rarely().loss = k.lossByClock(e, now)
		k.remove(e, stateIdle)
		return false
	}
	e.state, e.grantedAt = stateHeld, now.at
	k.plan(e, now)
	return true
}

// End stops watching e: the acquire was refused or failed, or the caller is about to send the release.
// It reports whether e was held up to now.
func (k *Keeper) End(e *Entry) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	good := e.state == stateHeld && !e.expired(now)
	k.remove(e, stateIdle)
	return good
}

// Remaining returns how long the holder may still trust its lease if it is not renewed, or 0 if e
// is not held. If that time has passed, e is lost, and Remaining calls its OnLost before it
// returns.
func (k *Keeper) Remaining(e *Entry) time.Duration {
	now := k.now()
	k.mu.Lock()
	if e.state != stateHeld {
		k.mu.Unlock()
		return 0
	}
	if !e.expired(now) {
		defer k.mu.Unlock()
		return e.validFor() - now.since(e.validFrom)
	}
	loss := k.lose(e, k.lossByClock(e, now))
	k.mu.Unlock()
	e.OnLost.HandleLoss(loss)
	return 0
}

// Ages returns the time since the grant of e, which was confirmed, and since its last renewal.
func (k *Keeper) Ages(e *Entry) (held, unrenewed time.Duration) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.at - e.grantedAt, now.since(e.validFrom)
}

// Overdue returns how many held leases were last renewed so long ago that the next renewal is late by more than the
// interval of renewals, and how long their holders may still trust the first of them.
func (k *Keeper) Overdue() (leases int, left time.Duration) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.entries {
		passed := now.since(e.validFrom)
		if e.state != stateHeld || e.Renewer == nil || passed <= 2*e.present().length/3 {
			continue
		}
		if rest := max(0, e.validFor()-passed); leases == 0 || rest < left {
			left = rest
		}
		leases++
	}
	return leases, left
}

// Close stops watching all entries, and cancels the renewals under way without waiting for them. It
// returns the entries that were held.
func (k *Keeper) Close() []*Entry {
	k.mu.Lock()
	k.closed = true
	var rest []*Entry
	for len(k.entries) > 0 {
		e := k.entries[len(k.entries)-1]
		if e.state == stateHeld {
			rest = append(rest, e)
		}
		k.remove(e, stateIdle)
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.cancel()
	return rest
}

// AwaitEnd returns when, after Close, no renewal is under way any more.
func (k *Keeper) AwaitEnd() { k.running.Wait() }

// remove stops watching e, and sets its state. The caller holds k.mu.
func (k *Keeper) remove(e *Entry, as entryState) {
	if e.state == statePending || e.state == stateHeld {
		heap.Remove(&k.entries, int(e.index))
		e.state = as
	}
}
