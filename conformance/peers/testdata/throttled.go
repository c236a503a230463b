package throttled

import (
	"context"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/primitives"
)

// clocks has the client of each limiter, on a server whose clock its store sets.
var clocks sync.Map

// RateLimitCtx asks a Throttle. The store says only what time it is.
func (g *GCRARateLimiterCtx) RateLimitCtx(ctx context.Context, key string, n int) (bool, RateLimitResult, error) {
	_, now, err := g.store.GetWithTime(ctx, key)
	if err != nil {
		return false, RateLimitResult{}, err
	}
	client, found := clocks.Load(g)
	if !found {
		client, _ = clocks.LoadOrStore(g, shared.NewClocked())
	}
	clocked := client.(*shared.Clocked)
	clocked.Set(now)
	limit := primitives.Limit{Permits: 1, Interval: g.emissionInterval.Truncate(time.Microsecond), Burst: g.limit}
	decision, err := shared.Allow(ctx, shared.Throttle(clocked.Client, key, limit), n, g.limit)
	result := RateLimitResult{g.limit, decision.Remaining, decision.ResetAfter, -1}
	if decision.RetryAfter > 0 && n <= g.limit {
		result.RetryAfter = decision.RetryAfter
	}
	return !decision.Allowed, result, err
}
