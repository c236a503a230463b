package recipes

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// campaignPause is how long Lead waits after a failure before it tries again.
const campaignPause = time.Second

// Lead calls lead in one of all processes that call Lead with the same name. The others wait to take over.
// Lead's context ends when the leadership is lost; lead must return then. Its term is a fencing token, higher
// than that of each leader before. After a loss or an outage Lead tries again.
//
// Lead returns nil if lead returned nil and led to the end; else the error of lead, or of ctx. If ctx ends,
// Lead waits for lead to return, and releases the lock, so that another process leads at once. If the leader
// crashes, another leads when the lease has ended (30 s by default).
func Lead(
	ctx context.Context, client *primitives.Client, name string,
	lead func(ctx context.Context, term int64) error,
) error {
	lock := client.NewLock(name, nil)
	for {
		err := lock.Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
			return lead(ctx, lease.Token())
		})
		if ctx.Err() != nil || !passes(err) {
			return err
		}
		slog.WarnContext(ctx, "not the leader any more", "name", name, "error", err)
		select {
		case <-time.After(campaignPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passes reports whether err is a loss, or an outage, after which it is worth trying again.
func passes(err error) bool {
	return errors.Is(err, primitives.ErrLost) || errors.Is(err, primitives.ErrUnavailable) ||
		errors.Is(err, primitives.ErrIndeterminate)
}
