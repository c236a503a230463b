package recipes

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// AllowRequest takes a request's permit of the user, of the user's tenant and of the whole shop: of all three, or of
// none.
func AllowRequest(ctx context.Context, client *primitives.Client, user, tenant string) (primitives.MultiDecision, error) {
	away := &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}
	perUser := client.NewThrottle("{shop}:user:"+user, primitives.Limit{Permits: 60, Interval: time.Hour}, away)
	perTenant := client.NewThrottle("{shop}:tenant:"+tenant, primitives.Limit{Permits: 600, Interval: time.Hour}, away)
	forAll := client.NewThrottle("{shop}:all", primitives.Limit{Permits: 100_000, Interval: 24 * time.Hour, Burst: 5000}, away)
	return primitives.NewMultiThrottle(nil, perUser.Take(1), perTenant.Take(1), forAll.Take(1)).Allow(ctx)
}
