package model

import (
	"errors"
	"fmt"
	"time"
)

// Belief is what a holder may believe of one lease, by its own clock: that it is held for so long
// after the request was sent that granted or last renewed it. Its methods take what was seen, and
// return an error if that cannot be. Where it is open, they believe what was seen. It serves all
// primitives that have leases. It is not safe for concurrent use.
type Belief struct {
	lease, allowance time.Duration
	since, granted   Moment
	lost             bool
	// perhaps is when a renewal was sent whose answer came just when the lease ended.
	perhaps Moment
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
	switch {
	case b.granted.IsZero():
		if held {
			b.since = sent
		}
	case b.over(answered):
	case !held:
		b.lost = b.granted.before(sent)
	case answered.before(b.Ends()):
		b.since = sent
	default:
		b.perhaps = sent
	}
}

// Look takes what the lease says of itself: whether it is held.
func (b *Belief) Look(at Moment, held bool) error {
	if !b.perhaps.IsZero() {
		if held {
			b.since = b.perhaps
		} else {
			b.lost = true
		}
		b.perhaps = Moment{}
	}
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
	if at.past(b.Ends()) && b.perhaps.IsZero() {
		b.lost = true
	}
	return b.lost
}
