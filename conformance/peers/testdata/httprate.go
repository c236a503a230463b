// Package httprate gives httprate's API by httplimit, and its RateLimiter by a Throttle.
package httprate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/peers/testdata/shared"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

type KeyFunc func(r *http.Request) (string, error)

type increment struct{}

func WithIncrement(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, increment{}, n)
}

// limits counts limits: each has a name of its own.
var limits atomic.Int64

func LimitBy(n int, window time.Duration, key KeyFunc) func(http.Handler) http.Handler {
	limit := shared.Got(httplimit.NewThrottle(shared.Client(), fmt.Sprint("limit", limits.Add(1)),
		primitives.Limit{Permits: n, Interval: window}, &httplimit.Options{
			Key: func(r *http.Request) string { return shared.Got(key(r)) },
			Cost: func(r *http.Request) int {
				if n, ok := r.Context().Value(increment{}).(int); ok {
					return n
				}
				return 1
			},
			Unavailable: primitives.Refuse(),
		}))
	return limit.Handler
}

func LimitAll(n int, window time.Duration) func(http.Handler) http.Handler {
	return LimitBy(n, window, JoinKeys())
}

func LimitByIP(n int, window time.Duration) func(http.Handler) http.Handler {
	return LimitBy(n, window, KeyByIP)
}

func KeyByIP(r *http.Request) (string, error)       { return httplimit.RemoteIP(r), nil }
func KeyByEndpoint(r *http.Request) (string, error) { return r.URL.Path, nil }

func CanonicalizeIP(ip string) string { return httplimit.RemoteIP(&http.Request{RemoteAddr: ip}) }

func JoinKeys(keys ...KeyFunc) KeyFunc {
	return func(r *http.Request) (string, error) {
		var all []string
		for _, key := range keys {
			all = append(all, shared.Got(key(r)))
		}
		return strings.Join(all, ":"), nil
	}
}

type RateLimiter primitives.Limit

func NewRateLimiter(n int, window time.Duration) *RateLimiter {
	return &RateLimiter{Permits: n, Interval: window}
}

func (l *RateLimiter) RespondOnLimit(w http.ResponseWriter, r *http.Request, key string) bool {
	decision := shared.Got(shared.Throttle(shared.Client(), key, primitives.Limit(*l)).Allow(r.Context(), 1))
	if !decision.Allowed {
		http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
	}
	return !decision.Allowed
}
