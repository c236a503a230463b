package recipes

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// PerUser lets one request of each user at a time through to next, over all processes. If another request of
// the user holds the lock, the answer is 429 with Retry-After; if there is no lock to be had, it is 503. The
// request's context ends if the lock is lost.
func PerUser(client *primitives.Client, user func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, err := client.NewLock("user:"+user(r), nil).TryLock(r.Context())
		switch {
		case errors.Is(err, primitives.ErrNotAcquired):
			w.Header().Set("Retry-After", "1") // Most requests are over by then.
			http.Error(w, "another request of yours is under way", http.StatusTooManyRequests)
			return
		case err != nil:
			slog.ErrorContext(r.Context(), "lock a user", "error", err)
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		defer unlock(r.Context(), lease)
		next.ServeHTTP(w, r.WithContext(lease.Context(r.Context())))
	})
}

// unlock releases the lock of a request. The answer is written by then, so a loss can only be logged:
// data that must not be written twice needs the fencing token.
func unlock(ctx context.Context, lease *primitives.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // even if the user is gone
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		slog.ErrorContext(ctx, "unlock a user", "error", err)
	}
}
