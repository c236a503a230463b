package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
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
	l.warnOfMany(l.rate)
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

// manyPermits is a number of permits of which the client warns.
const manyPermits = 5000

// warnOfMany logs a warning for the first rate with many permits: they need memory on the server.
func (l *RateLimiter) warnOfMany(rate Rate) {
	if rate.Permits <= manyPermits {
		return
	}
	l.client.warned.Do(func() {
		l.base.Logger().Warn("the server keeps an entry of about 120 bytes for each grant of this rate; a Throttle keeps one short text",
			zap.Int("permits", rate.Permits))
	})
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
