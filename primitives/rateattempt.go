package primitives

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// rateAttempt is one attempt to acquire permits of a rate limiter, which may create the limiter.
type rateAttempt struct {
	*RateLimiter
	n     int
	waits bool // after a refusal
	grant []byte
}

// grantID is the number of random bytes of a grant.
const grantID = 16

// newRateAttempt returns an attempt with a unique grant.
func newRateAttempt(l *RateLimiter, n int, waits bool) *rateAttempt {
	grant := make([]byte, 1+grantID, 1+grantID+4)
	grant[0] = grantID
	_, _ = rand.Read(grant[1:])                                // It never fails.
	grant = binary.LittleEndian.AppendUint32(grant, uint32(n)) //nolint:gosec // It is in range.
	return &rateAttempt{RateLimiter: l, n: n, waits: waits, grant: grant}
}

// Try implements [extend.Attempt]. After a grant it offers the free permits to this client's
// waiters, but no more than twice the largest need among them: so two waiters try, then four, while
// there are permits. If it offered all, each of many clients would wake as many waiters as the
// permits are enough for.
func (a *rateAttempt) Try(ctx context.Context) (extend.Answer, error) {
	var least, most int
	if a.waits {
		least, most = a.client.rateNeeds.besides(a.base.Key(), a.n)
	}
	spare := 2 * min(most, maxPermits/2)
	result, err := a.send(ctx, least, spare)
	return extend.Answer{Granted: result.Taken, RetryIn: result.Wait, Free: int(min(result.Left, int64(spare)))}, err
}

// send asks for the permits. The answer has no more than spare free permits that were used before, and after a grant
// says when least permits are free; 0: nobody needs them.
func (a *rateAttempt) send(ctx context.Context, least, spare int) (script.RateAcquireResult, error) {
	result, err := script.RateAcquire(ctx, a.base.Runner(), script.RateAcquireParams{
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
		return extend.Worded(ErrNoRate.Error(), ErrNoRate, err)
	case errors.Is(err, backend.ScriptError("TOOMANY")):
		return extend.Worded(fmt.Sprintf("%v: %d", ErrAboveRate, n), ErrAboveRate, err)
	}
	return err
}

// rateNeeds has the needs of a client's waiters: for each limiter's key and each number of permits,
// how many waiters need that number.
type rateNeeds struct {
	mu  sync.Mutex
	all map[string]map[int]int
}

// add changes the number of waiters that need n permits.
func (r *rateNeeds) add(key string, n, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[string]map[int]int)
	}
	if r.all[key] == nil {
		r.all[key] = make(map[int]int)
	}
	if r.all[key][n] += by; r.all[key][n] == 0 {
		delete(r.all[key], n)
	}
	if len(r.all[key]) == 0 {
		delete(r.all, key)
	}
}

// besides returns the smallest and the largest need of the waiters, without one waiter that needs
// n; 0: there is no other waiter.
func (r *rateNeeds) besides(key string, n int) (least, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for need, waiters := range r.all[key] {
		if need == n && waiters == 1 {
			continue
		}
		if least == 0 || need < least {
			least = need
		}
		most = max(most, need)
	}
	return least, most
}
