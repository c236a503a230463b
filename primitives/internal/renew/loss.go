package renew

import (
	"time"

	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/lease"
	"github.com/hasp-go/hasp/primitives/trace"
)

// shortestPause is the shortest time between two runs of the keeper that counts as a pause of the process. It runs
// every checkInterval.
const shortestPause = checkInterval + time.Second

// pause is a time in which the process did not run.
type pause struct{ from, to instant }

// noteRun notes that the keeper runs, and the pause before. The caller holds k.mu.
func (k *Keeper) noteRun(now instant) {
	if now.since(k.lastRun) >= shortestPause {
		k.pause = pause{k.lastRun, now}
	}
	k.lastRun = now
}

// lostEntry is an entry that was lost.
type lostEntry struct {
	*Entry
	loss *lease.LossError
}

func reportLosses(lost []lostEntry) {
	for _, e := range lost {
		e.OnLost.HandleLoss(e.loss)
	}
}

// lose stops watching e, which is lost, and returns why. The caller holds k.mu.
func (k *Keeper) lose(e *Entry, loss *lease.LossError) *lease.LossError {
	e.rarely().loss = loss
	k.remove(e, stateLost)
	return loss
}

// Loss returns the reason for the loss of e, or [lease.ErrLost] if it ended otherwise.
func (k *Keeper) Loss(e *Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.rare == nil || e.rare.loss == nil {
		return lease.ErrLost
	}
	return e.rare.loss
}

// lossOnServer returns the reason of a loss that an answer reports.
func lossOnServer(status batch.Status) *lease.LossError {
	if other, taken := batch.Taken(status); taken {
		return &lease.LossError{Reason: lease.LossTaken, Holder: other}
	}
	return &lease.LossError{Reason: lease.LossGone}
}

// lossByClock returns the reason for the loss of e, which has expired. The caller holds k.mu.
func (k *Keeper) lossByClock(e *Entry, now instant) *lease.LossError {
	k.noteRun(now)
	switch p := k.pause; {
	case e.Renewer == nil:
		return &lease.LossError{Reason: lease.LossExpired}
	case e.boundByMaxHold():
		return &lease.LossError{Reason: lease.LossMaxHold}
	case e.expired(p.to) && !e.expired(p.from):
		return &lease.LossError{Reason: lease.LossPaused, Paused: p.to.since(p.from)}
	}
	return &lease.LossError{Reason: lease.LossOutage}
}

// report is a renewal that is under way.
type report struct {
	trace.Renewal
	sent instant
}

// newReport returns the report of a renewal that is about to be sent.
func (k *Keeper) newReport(entries []*Entry) report {
	if k.OnRenewal == nil {
		return report{}
	}
	now := k.now()
	return report{trace.Renewal{Leases: len(entries), Lag: k.lag(entries, now)}, now}
}

// lag returns how much later than planned the entry is renewed that has waited the longest.
func (k *Keeper) lag(entries []*Entry, now instant) (lag time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range entries {
		lag = max(lag, now.at-k.start.at-k.renewalTime(e))
	}
	return lag
}

func (k *Keeper) report(r report) {
	if k.OnRenewal == nil {
		return
	}
	if r.Failed == 0 { // Its entries were released meanwhile.
		r.Err = nil
	}
	r.Took = k.now().at - r.sent.at
	k.OnRenewal(r.Renewal)
}
