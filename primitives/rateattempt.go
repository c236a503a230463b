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

// rateAttempt is one attempt to acquire permits of a rate limiter, which may create the limiter.
type rateAttempt struct {
	*RateLimiter
	n      int
	grant  []byte
	runner backend.ScriptRunner

	least, most int // needs of the client's parked waiters
}

// grantID is the number of random bytes of a grant.
const grantID = 16

// newRateAttempt returns an attempt with a unique grant.
func newRateAttempt(l *RateLimiter, n int) *rateAttempt {
	l.warnOfMany(l.rate)
	grant := make([]byte, 1+grantID, 1+grantID+4)
	grant[0] = grantID
	_, _ = rand.Read(grant[1:])                                // It never fails.
	grant = binary.LittleEndian.AppendUint32(grant, uint32(n)) //nolint:gosec // It is in range.
	return &rateAttempt{RateLimiter: l, n: n, grant: grant, runner: l.base.Runner()}
}

// others notes the needs of the client's parked waiters. It is a [extend.WaitSpec].Others.
func (a *rateAttempt) others(least, most int) { a.least, a.most = least, most }

// Try implements [extend.Attempt]. After a grant it offers the free permits to this client's
// waiters, but no more than twice the largest need among them: so two waiters try, then four, while
// there are permits. If it offered all, each of many clients would wake as many waiters as the
// permits are enough for.
func (a *rateAttempt) Try(ctx context.Context) (extend.Answer, error) {
	spare := 2 * min(a.most, maxPermits/2)
	result, err := a.send(ctx, a.least, spare)
	return extend.Answer{Granted: result.Taken, RetryIn: result.Wait, Free: int(min(result.Left, int64(spare)))}, err
}

// send asks for the permits. The answer has no more than spare free permits that were used before, and after a grant
// says when least permits are free; 0: nobody needs them.
func (a *rateAttempt) send(ctx context.Context, least, spare int) (script.RateAcquireResult, error) {
	result, err := script.RateAcquire(ctx, a.runner, script.RateAcquireParams{
		Limiter: a.base.Key(), Value: a.keys.value, OwnValue: a.keys.ownValue,
		Permits: a.keys.permits, OwnPermits: a.keys.ownPermits,
		Wanted: int64(a.n), Grant: a.grant, Least: int64(least), Spare: int64(spare),
		Rate: int64(a.rate.Permits), Interval: a.rate.Interval, Own: a.rate.Mode == RatePerClient, Alive: a.rate.KeepAlive,
	})
	a.reportMismatch(result.Other, err)
	return result, rateError(err, a.n)
}

// rateTry is a rateAttempt that does not wait: its refusal says when there are enough permits.
type rateTry rateAttempt

// Try implements [extend.Attempt].
func (a *rateTry) Try(ctx context.Context) (extend.Answer, error) {
	answer, err := (*rateAttempt)(a).Try(ctx)
	if err == nil && !answer.Granted {
		err = &RateLimitError{RetryIn: answer.RetryIn}
	}
	return answer, err
}

// rateStateTry is a rateTry that also notes which permits are free afterwards.
type rateStateTry struct {
	*rateAttempt
	state RateState
}

// Try implements [extend.Attempt].
func (a *rateStateTry) Try(ctx context.Context) (extend.Answer, error) {
	result, err := a.send(ctx, a.n, maxPermits)
	if err == nil && !result.Taken {
		err = &RateLimitError{RetryIn: result.Wait}
	}
	a.state = RateState{Free: int(result.Left), RetryIn: result.Wait}
	return extend.Answer{Granted: result.Taken, RetryIn: result.Wait}, err
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
