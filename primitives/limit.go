package primitives

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// Limit is a rate with a burst, of a [Throttle]. Within its bounds the scripts compute by whole numbers below 2^53,
// which Lua has exactly: a rate of 3 permits in a second is 3, and not 3.000003.
type Limit struct {
	// Permits is the number of permits that become free again in an Interval, one after the other at equal
	// distances: 1 to 10 000 000.
	Permits int

	// Interval is a whole number of microseconds, from 1 ms to 366 days. By the server's clock.
	Interval time.Duration

	// Burst is the number of permits that callers can take at once if no permit is in use: 1 to 10 000 000. To free
	// them must take at most 3 years of 365 days. Zero means Permits.
	Burst int

	_ struct{}
}

const (
	maxThrottlePermits = 10_000_000

	day                 = 24 * time.Hour
	maxThrottleInterval = 366 * day
	maxThrottleTime     = 1095 * day // of a burst and a debt
)

// validate returns a [*FieldError] for a limit out of its bounds.
func (l Limit) validate() error {
	if err := within("Limit.Permits", l.Permits, 1, maxThrottlePermits); err != nil {
		return err
	}
	if err := within("Limit.Burst", l.Burst, 1, maxThrottlePermits); err != nil {
		return err
	}
	if err := extend.AtLeast("Limit.Interval", l.Interval, time.Millisecond); err != nil {
		return err
	}
	if l.Interval > maxThrottleInterval || l.Interval%time.Microsecond != 0 {
		return &FieldError{Field: "Limit.Interval", Problem: fmt.Sprintf(
			"%s is no whole number of microseconds up to %s", l.Interval, maxThrottleInterval)}
	}
	return l.endsInTime("Limit.Burst", l.Burst)
}

// endsInTime returns a [*FieldError] if the rate takes too long to free n permits.
func (l Limit) endsInTime(field string, n int) error {
	if float64(n)*float64(l.Interval)/float64(l.Permits) > float64(maxThrottleTime) {
		return &FieldError{Field: field, Problem: fmt.Sprintf(
			"%d permits at %d in %s take longer than %s", n, l.Permits, l.Interval, maxThrottleTime)}
	}
	return nil
}

// time returns how long the rate takes to free n permits, in whole microseconds, rounded down. If n is negative, the
// time is, too.
func (l Limit) time(n int) time.Duration {
	micros, permits := l.Interval.Microseconds(), int64(l.Permits)
	parts := micros % permits * int64(n)
	whole := micros/permits*int64(n) + parts/permits
	if parts%permits < 0 {
		whole--
	}
	return time.Duration(whole) * time.Microsecond
}

// Reservation is permits that [Throttle.Reserve] has taken for work whose cost is known only when it is done, such as a
// call of a language model. The server does not know it: if the caller crashes, the estimate stays charged. It is safe
// for concurrent use.
type Reservation struct {
	throttle *Throttle
	n        int
	granted  int64 // the server's time, in microseconds
	local    bool  // the server does not know it
	settled  atomic.Bool
}

// Reserve is [Throttle.Allow] of an estimate, which [Reservation.Settle] corrects. If n permits are not free, the
// Reservation is nil, and the Decision says when to try again. If the Decision is Local, Settle sends nothing.
func (t *Throttle) Reserve(ctx context.Context, n int) (*Reservation, Decision, error) {
	a, err := t.allow(ctx, n)
	if err != nil || !a.decision.Allowed {
		return nil, a.decision, err
	}
	return &Reservation{throttle: t, n: n, granted: a.granted, local: a.decision.Local}, a.decision, nil
}

// Settle replaces the estimate by the permits that were used, 0 to 10 000 000, in one round trip. It does not wait.
//
// If less was used, Settle gives back the rest, but for what the rate has freed since the grant: so callers never get
// more than if actual had been taken at once. Exceptions are a Delete, a loss of data and a clock that is set
// back in the meantime: then they may get more, up to what is given back. If more was used, Settle takes the difference,
// even if too few permits are free: until all of the burst is in use, and [ThrottleOptions].Debt permits beyond it. What
// exceeds that is not charged.
//
// Settle settles once: afterwards it returns [ErrSettled]. After [ErrIndeterminate] either the estimate is charged or
// actual, and Settle cannot be called again. After any other error the estimate is charged, and Settle can be
// called again.
func (r *Reservation) Settle(ctx context.Context, actual int) error {
	t := r.throttle
	_, err := extend.Call(ctx, &t.base, within("actual", actual, 0, maxThrottlePermits), "settle", func() (struct{}, error) {
		if !r.settled.CompareAndSwap(false, true) {
			return struct{}{}, ErrSettled
		}
		err := r.settle(ctx, actual)
		if err != nil && !errors.Is(err, ErrIndeterminate) {
			r.settled.Store(false)
		}
		return struct{}{}, err
	})
	return err
}

// settle gives back or charges the difference.
func (r *Reservation) settle(ctx context.Context, actual int) error {
	t := r.throttle
	permits, interval, burst := t.limit.args()
	run, keys := t.base.Runner(), []string{t.base.Key()}
	var err error
	switch more := int64(actual - r.n); {
	case r.local:
	case more < 0:
		defer t.client.localRefusals.end(t)
		_, err = script.ThrottleReturn(ctx, run, keys, r.granted, []int64{-more}, permits, interval, burst)
	case more > 0:
		_, err = script.ThrottleCharge(ctx, run, keys[0], more, permits[0], interval[0], burst[0]+int64(t.opts.Debt))
	}
	return err
}
