package recipes

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Webhook answers the events of a provider, which sends an event again until it has an answer, even if work still runs.
// Work runs once for each id of an event, over all processes. If it fails, the next delivery runs it again.
func Webhook(client *primitives.Client, work func(ctx context.Context, event []byte) error) http.Handler {
	events := primitives.NewMemo[struct{}](client, "events", &primitives.MemoOptions{Keep: 7 * 24 * time.Hour})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)) // and check its signature
		if err != nil {
			http.Error(w, "an event has at most 1 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		id := r.Header.Get("Webhook-Id")
		_, _, err = events.Do(r.Context(), id, func(ctx context.Context, _ primitives.MemoRun) (struct{}, error) {
			return struct{}{}, work(ctx, event)
		})
		if err != nil {
			slog.ErrorContext(r.Context(), "answer an event", "error", err)
			http.Error(w, "send it again", http.StatusServiceUnavailable)
		}
	})
}
