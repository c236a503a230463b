package engine

import (
	"errors"
	"fmt"
	"time"
)

// Belief is what a holder may believe of one lease, by its own clock: that it is held for so long
// after the request was sent that granted or last renewed it. Its methods take what was seen, and
// return an error if that cannot be. Inside the window of uncertainty either answer is accepted. It
// serves all primitives that have leases. It is not safe for concurrent use.
type Belief struct {
	lease, allowance time.Duration
	whole, trusted   time.Duration // the lease and the allowance that a renewal gives
	since, granted   Moment        // since is wide while the holder may not know of a renewal
	lost             bool
	// doubted says that a renewal was answered "not held", of which the holder may know, unless it had
	// sent it before it knew of the grant.
	doubted bool
}

// NewBelief returns the belief in a lease that a request asks for which is sent at the given moment.
func NewBelief(lease, allowance time.Duration, sent Moment) *Belief {
	return &Belief{lease: lease, allowance: allowance, whole: lease, trusted: allowance, since: sent}
}

// Whole says that a renewal gives another lease than the grant did, and another allowance. It returns b.
func (b *Belief) Whole(lease, allowance time.Duration) *Belief {
	b.whole, b.trusted = lease, allowance
	return b
}

// Granted takes the answer that grants the lease. It reports whether it surely comes too late.
func (b *Belief) Granted(answered Moment) (late bool) {
	b.granted = answered
	return b.over(answered)
}

// Ends is when the lease ends unless it is renewed.
func (b *Belief) Ends() Moment { return b.since.Add(b.lease - b.allowance) }

// Since is when the request was sent that granted or last renewed the lease.
func (b *Belief) Since() Moment { return b.since }

// Renewed takes the answer to a renewal: that the lease runs anew, or that the server does not know
// the holder. A renewal that was sent before the grant was answered may have overtaken it. If the
// moment of the answer is a wide one, the holder may not know of it, now or ever.
func (b *Belief) Renewed(sent, answered Moment, held bool) {
	exact := answered.From.Equal(answered.To)
	switch {
	case b.granted.IsZero() && !held, !b.granted.IsZero() && b.over(answered):
	case held && sent.before(b.since): // A later one was answered before.
	case held && exact:
		if b.since.To.After(sent.To) { // It may know of a later one.
			sent.To = b.since.To
		}
		b.since, b.lease, b.allowance = sent, b.whole, b.trusted
	case held && sent.To.After(b.since.To): // A later renewal may have been answered before.
		least := b.Ends().From
		b.lease, b.allowance = b.whole, b.trusted
		b.since = Moment{From: least.Add(b.allowance - b.lease), To: sent.To}
	case held:
	case exact:
		b.lost = b.granted.before(sent)
	default:
		b.doubted = !sent.before(b.granted)
	}
}

// Over reports whether the lease has surely ended.
func (b *Belief) Over(at Moment) bool {
	return b.lost || at.past(b.Ends())
}

// Good reports whether the lease has surely not ended.
func (b *Belief) Good(at Moment) bool { return !b.lost && !b.doubted && at.before(b.Ends()) }

// Look takes what the lease says of itself: whether it is held.
func (b *Belief) Look(at Moment, held bool) error {
	b.lost = b.lost || b.doubted && !held
	over := b.over(at)
	switch {
	case over && held:
		return fmt.Errorf("it is believed in %v after its end", at.From.Sub(b.Ends().To))
	case !over && !held:
		if at.before(b.Ends()) {
			return fmt.Errorf("it is not believed in %v before its end", b.Ends().From.Sub(at.To))
		}
		b.lost = true
	}
	return nil
}

// Remaining takes how much longer the lease says that it is held.
func (b *Belief) Remaining(at Moment, rest time.Duration) error {
	if err := b.Look(at, rest > 0); err != nil || rest <= 0 {
		return errors.Join(err, negative(rest))
	}
	least, most := b.Ends().From.Sub(at.To), b.Ends().To.Sub(at.From)
	if rest < least || rest > most {
		return fmt.Errorf("%v remain, want %v to %v", rest, least, most)
	}
	// What a holder knows it does not forget.
	if since := at.From.Add(rest - b.lease + b.allowance); since.After(b.since.From) {
		b.since.From = since
	}
	return nil
}

func negative(rest time.Duration) error {
	if rest < 0 {
		return fmt.Errorf("%v remain", rest)
	}
	return nil
}

// over notes that the lease has ended, if it surely has.
func (b *Belief) over(at Moment) bool {
	b.lost = b.Over(at)
	return b.lost
}
