package renew

import "time"

// Renewal is what [Keeper.OnRenewal] gets.
type Renewal struct {
	Leases int           // that were to be renewed
	Lag    time.Duration // how much later than planned they were sent, at most
	Took   time.Duration // from the sending to the last answer
	Failed int           // how many were not renewed, and are not known to be lost
	Err    error         // why; nil: Failed is 0, or the server gave no reason
}

// report is a Renewal that is under way.
type report struct {
	Renewal
	sent instant
}

// newReport returns the report of a renewal that is about to be sent.
func (k *Keeper) newReport(entries []*Entry) report {
	if k.OnRenewal == nil {
		return report{}
	}
	now := k.now()
	return report{Renewal{Leases: len(entries), Lag: k.lag(entries, now)}, now}
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

// report reports a renewal that has ended.
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
