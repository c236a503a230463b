package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// text returns the number of permits, the interval and the mode, such as "5 in 1s, per client".
func (r Rate) text() string {
	text := fmt.Sprintf("%d in %s", r.Permits, r.Interval)
	if r.Mode == RatePerClient {
		text += ", per client"
	}
	return text
}

// applyRate sets the rate of a limiter that has another rate than the option, once, before the first
// acquire of l.
func (l *RateLimiter) applyRate(ctx context.Context) error {
	if !l.update || l.applied.Load() {
		return nil
	}
	have, err := l.readRate(ctx, l.runner())
	if have.KeepAlive = l.rate.KeepAlive; err == nil && have != l.rate {
		_, err = l.sendRate(ctx, l.runner(), l.rate, false, true)
	}
	if err != nil && !errors.Is(err, ErrNoRate) { // The acquire creates a missing limiter.
		return err
	}
	l.applied.Store(true)
	return nil
}

// reportMismatch reports that the limiter's rate is other, as the script returns it, and not the option. "" means that
// there is no such difference, unless err says that the rate has fewer permits than were asked for.
func (a *rateAttempt) reportMismatch(other string, err error) {
	if errors.Is(rateError(err, a.n), ErrAboveRate) && a.n <= a.rate.Permits {
		a.base.ReportMismatch("Rate", a.rate.text(), fmt.Sprintf("fewer than %d permits", a.n))
	}
	if other == "" {
		return
	}
	var permits, interval, own int
	if _, err := fmt.Sscan(other, &permits, &interval, &own); err == nil {
		have := Rate{Permits: permits, Interval: time.Duration(interval) * time.Millisecond, Mode: RateMode(own)}
		a.base.ReportMismatch("Rate", a.rate.text(), have.text())
	}
}
