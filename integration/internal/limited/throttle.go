// Package limited has what the limits of HTTP requests and of gRPC calls share: throttles of keys, which the clients of a
// service may choose.
package limited

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Throttles are the throttles of a limit.
type Throttles struct {
	Client      *primitives.Client
	Limit       primitives.Limit
	Unavailable primitives.Fallback // Refuse or Admit, for which the caller decides
	Timeout     time.Duration
}

// Allow takes n permits of the throttle called name. It returns a [*primitives.FieldError] for a field that is invalid.
func (t Throttles) Allow(ctx context.Context, name string, n int) (primitives.Decision, error) {
	if t.Unavailable != primitives.Refuse && t.Unavailable != primitives.Admit {
		return primitives.Decision{}, &primitives.FieldError{Field: "Unavailable", Problem: "must be Refuse or Admit"}
	}
	if t.Timeout < 0 {
		return primitives.Decision{}, &primitives.FieldError{Field: "Timeout", Problem: t.Timeout.String() + " is negative"}
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, time.Second))
	defer cancel()
	return t.Client.NewThrottle(name, t.Limit).Allow(bounded, n)
}
