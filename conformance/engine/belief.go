package engine

import (
	"fmt"
	"time"
)

// Belief is what a holder may assume of one lease, by its own clock: that it is held until some time after the
// request was sent that granted or last renewed it. Its methods take what was seen, and return an error if that
// cannot be. It serves all primitives that have leases. It is not safe for concurrent use.
type Belief struct {
	lease, drift   time.Duration
	whole, trusted time.Duration // the lease and the drift that a renewal gives
	since, granted time.Time
	lost           bool
}

// NewBelief returns a Belief of a lease that a request asks for which is sent at the given time.
func NewBelief(lease, drift time.Duration, sent time.Time) *Belief {
	return &Belief{lease: lease, drift: drift, whole: lease, trusted: drift, since: sent}
}

// Whole says that a renewal gives another lease than the grant did, and another drift. It returns b.
func (b *Belief) Whole(lease, drift time.Duration) *Belief {
	b.whole, b.trusted = lease, drift
	return b
}

// Granted takes the answer that grants the lease. It reports whether it comes too late.
func (b *Belief) Granted(answered time.Time) (late bool) {
	b.granted = answered
	return b.Over(answered)
}

// trust is for how long the holder trusts the lease.
func (b *Belief) trust() time.Duration { return b.lease - b.drift }

// Ends is when the lease ends unless it is renewed.
func (b *Belief) Ends() time.Time { return b.since.Add(b.trust()) }

// Renewal is a renewal that was answered.
type Renewal struct {
	Sent, Answered time.Time
	Held           bool // the lease begins again; else the server does not know the holder
}

// Renewed takes the answer to a renewal. A renewal that was sent before the grant was answered may have overtaken it.
func (b *Belief) Renewed(r Renewal) {
	switch {
	case b.granted.IsZero() && !r.Held, !b.granted.IsZero() && b.Over(r.Answered):
	case r.Held && r.Sent.Before(b.since): // A later one was answered before.
	case r.Held:
		b.lease, b.drift, b.since = b.whole, b.trusted, r.Sent
	case b.granted.Before(r.Sent):
		b.lost = true
	}
}

// Over reports whether the lease has ended.
func (b *Belief) Over(at time.Time) bool {
	b.lost = !b.Good(at)
	return b.lost
}

// Good reports whether the lease has not ended.
func (b *Belief) Good(at time.Time) bool { return !b.lost && at.Before(b.Ends()) }

// Look takes what the lease says of itself: how much longer it is held; 0: it is not.
func (b *Belief) Look(at time.Time, rest time.Duration) error {
	left := b.Ends().Sub(at)
	switch {
	case rest == 0 && b.Good(at):
		return fmt.Errorf("it is not believed in %v before its end", left)
	case rest == 0:
		b.lost = true
	case b.Over(at):
		return fmt.Errorf("it is believed in %v after its end", -left)
	case rest != left:
		return fmt.Errorf("%v remain, want %v", rest, left)
	}
	return nil
}
