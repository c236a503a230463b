package model

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
	since, granted   Moment
	lost             bool
	// perhaps is when a renewal was sent whose answer the holder may know, if it came in time, and
	// doubted says that one was answered "not held", of which the holder may know, unless it had
	// sent it before it knew of the grant.
	perhaps Moment
	doubted bool
}

// NewBelief returns the belief in a lease that a request asks for which is sent at the given moment.
func NewBelief(lease, allowance time.Duration, sent Moment) *Belief {
	return &Belief{lease: lease, allowance: allowance, since: sent}
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
// the holder. A renewal that was sent before the grant was answered may have overtaken it.
func (b *Belief) Renewed(sent, answered Moment, held bool) {
	b.adopt()
	exact := answered.From.Equal(answered.To)
	switch {
	case b.granted.IsZero():
		if held {
			b.since = sent
		}
	case b.over(answered):
	case held && exact:
		b.since = sent
	case held:
		b.perhaps = sent
	case exact:
		b.lost = b.granted.before(sent)
	default:
		b.doubted = !sent.before(b.granted)
	}
}

// adopt counts the last renewal.
func (b *Belief) adopt() {
	if !b.perhaps.IsZero() {
		b.since, b.perhaps = b.perhaps, Moment{}
	}
}

// Over reports whether the lease has surely ended.
func (b *Belief) Over(at Moment) bool {
	return b.lost || at.past(b.Ends()) && b.perhaps.IsZero()
}

// Good reports whether the lease has surely not ended.
func (b *Belief) Good(at Moment) bool { return !b.lost && !b.doubted && at.before(b.Ends()) }

// Look takes what the lease says of itself: whether it is held.
func (b *Belief) Look(at Moment, held bool) error {
	if held && at.past(b.Ends()) {
		b.adopt() // Nothing else explains it.
	}
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
	if b.fits(at, rest) {
		return nil
	}
	if b.adopt(); b.fits(at, rest) {
		return nil
	}
	return fmt.Errorf("%v remain, want %v to %v", rest, b.Ends().From.Sub(at.To), b.Ends().To.Sub(at.From))
}

func (b *Belief) fits(at Moment, rest time.Duration) bool {
	return rest >= b.Ends().From.Sub(at.To) && rest <= b.Ends().To.Sub(at.From)
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
