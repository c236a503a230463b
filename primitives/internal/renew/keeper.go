// Package renew is the watchdog that all leases share: it renews them in batches, and reports a loss
// to the holder in time, even if the network hangs.
//
// A hold is watched from before its acquire is sent (Begin) until before its release is sent (End),
// so that no renewal can start after the end or be missing after the beginning. One timer serves
// all holds; a goroutine runs only while something is being sent.
package renew

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// recheck bounds the time between looks at the clocks: a timer follows the monotonic clock and
	// would oversleep a suspended machine.
	recheck = time.Second

	// batchSize is how many holds one script renews: about 100 us of the server's time.
	batchSize = 100
)

// Keeper watches the leases of one client.
type Keeper struct {
	runner  backend.ScriptRunner
	cluster bool
	log     *zap.Logger
	now     clock

	ctx     context.Context //nolint:containedctx // It ends the renewals under way at Close.
	cancel  context.CancelFunc
	running sync.WaitGroup // renewals under way

	mu     sync.Mutex
	holds  []*Hold
	timer  *time.Timer
	wakeAt time.Time // when timer fires; zero: it is not armed
	closed bool
}

// NewKeeper returns a keeper that renews through r, in a cluster or not.
func NewKeeper(r backend.ScriptRunner, cluster bool, log *zap.Logger) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	return &Keeper{
		runner: r, cluster: cluster, log: log, now: systemClock,
		ctx: ctx, cancel: cancel,
	}
}

// Begin reads the clock for an acquire that is about to be sent for h, and begins to renew it.
func (k *Keeper) Begin(h *Hold) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	h.state, h.started, h.granted, h.renewing = pending, now, time.Time{}, false
	h.renewAt = now.Add(h.Lease / 3)
	h.place = len(k.holds)
	k.holds = append(k.holds, h)
	k.arm(now.Time, h)
}

// Confirm notes that the acquire was granted. It reports false, and watches h no more, if the grant
// came too late to be believed or after Close; then it has to be given back.
func (k *Keeper) Confirm(h *Hold) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.state != pending || h.expired(now) {
		k.remove(h, idle)
		return false
	}
	h.state, h.granted = held, now.Time
	k.arm(now.Time, h)
	return true
}

// End stops watching h: the acquire was refused or failed, or the release is about to be sent. It
// reports whether h was held up to now.
func (k *Keeper) End(h *Hold) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	good := h.state == held && !h.expired(now)
	k.remove(h, idle)
	return good
}

// Remaining returns how long the holder may still trust its lease if it is not renewed; 0 if h is
// not held. If that time has passed, h is lost, and its OnLost is called before Remaining returns.
func (k *Keeper) Remaining(h *Hold) time.Duration {
	now := k.now()
	k.mu.Lock()
	if h.state != held {
		k.mu.Unlock()
		return 0
	}
	if !h.expired(now) {
		defer k.mu.Unlock()
		return h.belief() - now.since(h.started)
	}
	k.remove(h, lost)
	k.mu.Unlock()
	h.OnLost.Lost()
	return 0
}

// Close stops watching, and ends the renewals under way without waiting for them. It returns the
// holds that were held.
func (k *Keeper) Close() []*Hold {
	k.mu.Lock()
	k.closed = true
	var rest []*Hold
	for len(k.holds) > 0 {
		h := k.holds[len(k.holds)-1]
		if h.state == held {
			rest = append(rest, h)
		}
		k.remove(h, idle)
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

// remove ends the watch over h in the given state. The caller holds k.mu.
func (k *Keeper) remove(h *Hold, as state) {
	if h.state == pending || h.state == held {
		last := len(k.holds) - 1
		k.holds[h.place] = k.holds[last]
		k.holds[h.place].place = h.place
		k.holds[last] = nil
		k.holds = k.holds[:last]
		h.state = as
	}
}

// arm makes the timer fire when h wants attention, or earlier. The caller holds k.mu.
func (k *Keeper) arm(now time.Time, h *Hold) {
	at := h.next(now.Add(recheck))
	if !k.wakeAt.IsZero() && !at.Before(k.wakeAt) {
		return
	}
	k.wakeAt = at
	if k.timer == nil {
		k.timer = time.AfterFunc(at.Sub(now), k.tick)
		return
	}
	k.timer.Reset(at.Sub(now))
}

// tick looks at every hold: it finds what is lost and sends the renewals that are due.
func (k *Keeper) tick() {
	gone, due := k.look(k.now())
	for _, h := range gone {
		h.OnLost.Lost()
	}
	for batch, holds := range due {
		for len(holds) > 0 {
			n := min(len(holds), batchSize)
			go k.renew(batch, holds[:n:n])
			holds = holds[n:]
		}
	}
}

// look takes the lost holds off the watch, marks those that are due as being renewed, and arms the
// timer. For each batch of the result, running counts its renewals.
func (k *Keeper) look(now instant) (gone []*Hold, due map[batch][]*Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wakeAt = time.Time{}
	if k.closed {
		return nil, nil
	}
	for i := len(k.holds) - 1; i >= 0; i-- {
		h := k.holds[i]
		switch {
		case h.state == held && h.expired(now):
			k.remove(h, lost)
			gone = append(gone, h)
			continue
		case h.due(now.Time):
			if due == nil {
				due = make(map[batch][]*Hold)
			}
			h.renewing = true
			b := k.batchOf(h, now.Time)
			due[b] = append(due[b], h)
		}
		k.arm(now.Time, h)
	}
	for _, holds := range due {
		k.running.Add((len(holds) + batchSize - 1) / batchSize)
	}
	return gone, due
}
