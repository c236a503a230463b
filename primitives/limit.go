package primitives

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
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

func (l Limit) validate() error {
	err := cmp.Or(within("Limit.Permits", l.Permits, 1, maxThrottlePermits),
		within("Limit.Burst", l.Burst, 1, maxThrottlePermits), extend.AtLeast("Limit.Interval", l.Interval, time.Millisecond))
	switch {
	case err != nil:
		return err
	case l.Interval > maxThrottleInterval || l.Interval%time.Microsecond != 0:
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

// args returns the limit as a script of several throttles gets it.
func (l Limit) args() (permits, intervals, bursts []int64) {
	return []int64{int64(l.Permits)}, []int64{l.Interval.Microseconds()}, []int64{int64(l.Burst)}
}

// decided returns the decision of a script's answer about n permits, whose times are in microseconds.
func (l Limit) decided(n int, allowed bool, remaining, retry, reset int64) Decision {
	d := Decision{
		Allowed: allowed, Remaining: int(remaining),
		RetryAfter: time.Duration(retry) * time.Microsecond, ResetAfter: time.Duration(reset) * time.Microsecond,
	}
	if d.NextAfter = d.RetryAfter; allowed && d.Remaining < n {
		d.NextAfter = max(0, l.freeIn(n, d))
	}
	return d
}

// freeIn returns how long after a decision n permits are free: then no more are in use than the others of the burst.
func (l Limit) freeIn(n int, d Decision) time.Duration {
	return d.ResetAfter - limits.Time(l.Permits, l.Interval, l.Burst-n)
}
