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

// rateAttempt is one attempt to acquire permits of a rate limiter, which may make the limiter.
type rateAttempt struct {
	*RateLimiter
	n     int
	waits bool // for what it is refused
	grant []byte
}

// grantID is how many random bytes a grant has.
const grantID = 16

// newRateAttempt returns an attempt whose grant no other has.
func newRateAttempt(l *RateLimiter, n int, waits bool) *rateAttempt {
	grant := make([]byte, 1+grantID, 1+grantID+4)
	grant[0] = grantID
	_, _ = rand.Read(grant[1:])                                // It never fails.
	grant = binary.LittleEndian.AppendUint32(grant, uint32(n)) //nolint:gosec // It is in range.
	return &rateAttempt{RateLimiter: l, n: n, waits: waits, grant: grant}
}

// Try implements [extend.Attempt]. Of what a grant leaves it offers twice as many permits as the greediest
// waiter of this client needs, and no more: so two go on, then four, while there are permits. If it
// offered all, each of many clients would wake as many waiters as one of them can use.
func (a *rateAttempt) Try(ctx context.Context) (extend.Answer, error) {
	var least, most int
	if a.waits {
		least, most = a.client.rateNeeds.besides(a.base.Key(), a.n)
	}
	spare := 2 * min(most, maxPermits/2)
	result, err := script.RateAcquire(ctx, a.base.Runner(), script.RateAcquireParams{
		Limiter: a.base.Key(), Value: a.keys.value, OwnValue: a.keys.ownValue,
		Permits: a.keys.permits, OwnPermits: a.keys.ownPermits,
		Wanted: int64(a.n), Grant: a.grant, Least: int64(least), Spare: int64(spare),
		Rate: int64(a.rate.Permits), Interval: a.rate.Interval, Own: a.rate.Mode == RatePerClient, Alive: a.rate.KeepAlive,
	})
	answer := extend.Answer{Granted: result.Taken, RetryIn: result.Wait, Free: int(min(result.Left, int64(spare)))}
	return answer, rateError(err)
}

// rateError adds to an error of the scripts the one that it stands for.
func rateError(err error) error {
	var server *backend.ServerError
	if !errors.As(err, &server) {
		return err
	}
	switch server.Code {
	case "NORATE":
		return fmt.Errorf("%w: %w", ErrNoRate, err)
	case "TOOMANY":
		return fmt.Errorf("%w: %w", ErrAboveRate, err)
	}
	return err
}

// rateNeeds are how many permits those need who wait in a client, by the limiter's key: need, and how many
// need so many.
type rateNeeds struct {
	mu  sync.Mutex
	all map[string]map[int]int
}

// add counts by more who need n permits.
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

// besides returns the fewest permits, and the most, that somebody needs besides one who needs n; 0: there is
// nobody else.
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
