// Package rate gives the API of golang.org/x/time/rate by a Throttle, on a server whose clock the tests' times set.
package rate

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

type Limit float64

const Inf = Limit(math.MaxFloat64)

type Limiter struct {
	mu     sync.Mutex
	client *shared.Clocked
	limit  primitives.Limit
}

// NewLimiter rounds the time between two permits down to a microsecond.
func NewLimiter(r Limit, burst int) *Limiter {
	every := time.Duration(float64(time.Second) / float64(r)).Truncate(time.Microsecond)
	return &Limiter{client: shared.NewClocked(), limit: primitives.Limit{Permits: 1, Interval: every, Burst: burst}}
}

// at returns the throttle, at the test's time.
func (l *Limiter) at(t time.Time) *primitives.Throttle {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Set(t)
	return shared.Throttle(l.client.Client, "rate", l.limit)
}

// TokensAt has whole permits only.
func (l *Limiter) TokensAt(t time.Time) float64 {
	return float64(shared.Got(l.at(t).State(context.Background())).Remaining)
}

func (l *Limiter) Allow() bool { return l.AllowN(time.Now(), 1) }

func (l *Limiter) AllowN(t time.Time, n int) bool {
	return shared.Got(shared.Allow(context.Background(), l.at(t), n, l.limit.Burst)).Allowed
}

// wait waits in the time of the process, and then sets the test's clock forward by as much.
func (l *Limiter) wait(
	ctx context.Context, n int, t time.Time, timer func(time.Duration) (<-chan time.Time, func() bool, func()),
) error {
	begin, throttle := time.Now(), l.at(t)
	err := throttle.Wait(ctx, n)
	_, _, advance := timer(time.Since(begin))
	advance()
	return err
}
