package engine

import (
	"fmt"
	"time"
)

// Belief is what a holder may believe of one lease, by its own clock: that it is held for so long
// after the request was sent that granted or last renewed it. Its methods take what was seen, and
// return an error if that cannot be. It serves all primitives that have leases. It is not safe for
// concurrent use.
type Belief struct {
	lease, allowance time.Duration
	whole, trusted   time.Duration // the lease and the allowance that a renewal gives
	since, earliest  time.Time     // earliest: when a call queued, or it is open whether its holder knows of a renewal
	granted          time.Time
	lost             bool
}

// NewBelief returns the belief in a lease that a request asks for which is sent at the given time, and may
// have queued before.
func NewBelief(lease, allowance time.Duration, sent time.Time, queued time.Duration) *Belief {
	return &Belief{
		lease: lease, allowance: allowance, whole: lease, trusted: allowance, since: sent, earliest: sent.Add(-queued),
	}
}

// Whole says that a renewal gives another lease than the grant did, and another allowance. It returns b.
func (b *Belief) Whole(lease, allowance time.Duration) *Belief {
	b.whole, b.trusted = lease, allowance
	return b
}

// Granted takes the answer that grants the lease. It reports whether it comes too late.
func (b *Belief) Granted(answered time.Time) (late bool) {
	b.granted = answered
	return b.Over(answered)
}

// trust is for how long the holder believes in the lease.
func (b *Belief) trust() time.Duration { return b.lease - b.allowance }

// Ends is when the lease ends unless it is renewed.
func (b *Belief) Ends() time.Time { return b.since.Add(b.trust()) }

// Since is when the request was sent that granted or last renewed the lease.
func (b *Belief) Since() time.Time { return b.since }

// Renewal is one that was answered.
type Renewal struct {
	Sent, Answered time.Time
	Queued         time.Duration // before it was sent, at most
	Held           bool          // the lease runs anew; else the server does not know the holder
	Open           bool          // whether the holder waited for the answer
}

// Renewed takes the answer to a renewal. One that was sent before the grant was answered may have overtaken it.
func (b *Belief) Renewed(r Renewal) {
	switch {
	case b.granted.IsZero() && !r.Held, !b.granted.IsZero() && b.Over(r.Answered):
	case r.Held && r.Sent.Before(b.since): // A later one was answered before.
	case r.Held:
		end := b.earliest.Add(b.trust())
		b.lease, b.allowance = b.whole, b.trusted
		b.since, b.earliest = r.Sent, r.Sent.Add(-r.Queued)
		if r.Open {
			b.earliest = end.Add(-b.trust())
		}
	case !b.granted.Before(r.Sent.Add(-r.Queued)):
	case r.Open:
		b.earliest = time.Time{}
	default:
		b.lost = true
	}
}

// Over reports whether the lease has surely ended.
func (b *Belief) Over(at time.Time) bool {
	b.lost = b.lost || !at.Before(b.Ends())
	return b.lost
}

// Good reports whether the lease has surely not ended.
func (b *Belief) Good(at time.Time) bool { return !b.lost && at.Before(b.earliest.Add(b.trust())) }

// Look takes what the lease says of itself: how much longer it is held; 0: it is not.
func (b *Belief) Look(at time.Time, rest time.Duration) error {
	least, most := b.earliest.Add(b.trust()).Sub(at), b.Ends().Sub(at)
	switch {
	case rest == 0 && b.Good(at):
		return fmt.Errorf("it is not believed in %v before its end", least)
	case rest == 0:
		b.lost = true
	case b.Over(at):
		return fmt.Errorf("it is believed in %v after its end", -most)
	case rest < least || rest > most:
		return fmt.Errorf("%v remain, want %v to %v", rest, least, most)
	default: // What its holder knows is no longer open.
		b.since = at.Add(rest - b.trust())
		b.earliest = b.since
	}
	return nil
}
