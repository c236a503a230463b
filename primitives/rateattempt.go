package primitives

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// rateAttempt is one attempt to take permits of a rate limiter, which may create the limiter.
type rateAttempt struct {
	*RateLimiter
	taking
	least, most int // needs of the client's parked waiters; of Allow: n, and any number
}

// grantID is the number of random bytes of a grant.
const grantID = 16

// newGrant returns a unique grant of n permits.
func newGrant(n int) []byte {
	grant := make([]byte, 1+grantID, 1+grantID+4)
	grant[0] = grantID
	_, _ = rand.Read(grant[1:])                               // It never fails.
	return binary.LittleEndian.AppendUint32(grant, uint32(n)) //nolint:gosec // It is in range.
}

// others notes the needs of the client's parked waiters. It is a [extend.WaitSpec].Others.
func (a *rateAttempt) others(least, most int) { a.least, a.most = least, most }

// Try implements [extend.Attempt]. The answer says when least permits are free, after a grant, too. It offers the free
// permits to this client's waiters, but no more than twice the largest need among them: so two waiters try, then four,
// while there are permits. If it offered all, each of many clients would wake as many waiters as the permits are enough for.
func (a *rateAttempt) Try(ctx context.Context) (extend.Answer, error) {
	a.warnOfMany(a.rate)
	spare := 2 * min(a.most, maxPermits/2)
	got, err := script.RateAcquire(ctx, a.runner, script.RateAcquireParams{
		Limiter: a.base.Key(), Value: a.keys.value, OwnValue: a.keys.ownValue,
		Permits: a.keys.permits, OwnPermits: a.keys.ownPermits,
		Wanted: int64(a.n), Grant: newGrant(a.n), Least: int64(a.least), Spare: int64(spare),
		Rate: int64(a.rate.Permits), Interval: a.rate.Interval, Own: a.rate.Mode == RatePerClient, Alive: a.rate.KeepAlive,
	})
	interval := a.reportMismatch(got.Other, err)
	if err != nil {
		return extend.Answer{}, rateError(err, a.n)
	}
	a.decision = Decision{
		Allowed: got.Taken, Remaining: int(got.Left), NextAfter: got.Wait, ResetAfter: max(got.Wait, interval),
	}
	if !got.Taken {
		a.decision.RetryAfter = got.Wait
	}
	return extend.Answer{Granted: got.Taken, RetryIn: got.Wait, Free: int(min(got.Left, int64(spare)))}, nil
}

// rateError returns the error that a script's error code stands for. A caller asked for n permits.
func rateError(err error, n int) error {
	switch {
	case errors.Is(err, backend.ScriptError("NORATE")):
		return worded.New(ErrNoRate.Error(), ErrNoRate, err)
	case errors.Is(err, backend.ScriptError("TOOMANY")):
		return worded.New(fmt.Sprintf("%v: %d", ErrAboveRate, n), ErrAboveRate, err)
	}
	return err
}

// text returns the number of permits, the interval and the mode, such as "5 in 1s, per client".
func (r Rate) text() string {
	text := fmt.Sprintf("%d in %s", r.Permits, r.Interval)
	if r.Mode == RatePerClient {
		text += ", per client"
	}
	return text
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

// reportMismatch reports that the limiter's rate is other, as the script returns it, and not that of a. "" means that
// there is no such difference, unless err says that the rate has fewer permits than were asked for. It returns the
// interval of the limiter's rate.
func (a *rateAttempt) reportMismatch(other string, err error) time.Duration {
	if errors.Is(rateError(err, a.n), ErrAboveRate) && a.n <= a.rate.Permits {
		a.base.ReportMismatch("Rate", a.rate.text(), fmt.Sprintf("fewer than %d permits", a.n))
	}
	if other == "" {
		return a.rate.Interval
	}
	var permits, interval, own int
	if _, err := fmt.Sscan(other, &permits, &interval, &own); err != nil {
		return a.rate.Interval
	}
	have := Rate{Permits: permits, Interval: time.Duration(interval) * time.Millisecond, Mode: RateMode(own)}
	a.base.ReportMismatch("Rate", a.rate.text(), have.text())
	return have.Interval
}
