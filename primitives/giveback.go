package primitives

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	firstRepeat = 50 * time.Millisecond
	mostRepeat  = 500 * time.Millisecond

	// releaseTimeout bounds the waiting for a release's reply that no caller's context bounds.
	releaseTimeout = time.Second

	// lastSearch is how long a closed client looks for a grant that may still come. Later than
	// that only a request that was held up on its way is granted, as after a crash.
	lastSearch = time.Second
)

// giveBack releases in the background what the server may hold for h. Its owner is used for nothing
// else, so that a release that comes late or twice does no harm. It is repeated until it is
// answered, and, unless the acquire is known to be over, until it has found the hold: a release may
// overtake the acquire that it follows. After one lease there is nothing left to release.
func (h *hold) giveBack(over bool) {
	h.of.client.background(func(ctx context.Context) {
		began := time.Now()
		for pause := firstRepeat; ; pause = min(2*pause, mostPause(time.Since(began))) {
			released, err := h.releaseOnce(ctx)
			missed := err == nil || otherKind(err)
			if released || over && missed {
				return
			}
			if h.searched(time.Since(began), missed, err) || !sleep(ctx, pause) {
				h.of.client.opts.Logger.Debug("gave up releasing",
					append(zapObject(h.of), zap.Error(err))...)
				return
			}
		}
	})
}

// mostPause bounds a pause after so long: what comes later is less likely, and a lease may be a
// day.
func mostPause(took time.Duration) time.Duration { return max(mostRepeat, took/8) }

// searched reports whether a hold that was not found after so long, or could not be looked for, is
// given up: nobody waits for a closed client to be sure, and a closed backend sends no more.
func (h *hold) searched(took time.Duration, missed bool, err error) bool {
	return took >= h.Lease || errors.Is(err, backend.ErrClosed) ||
		missed && took >= lastSearch && h.of.client.isClosed()
}

func (h *hold) releaseOnce(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	return h.locker.release(ctx, h.Owner)
}

// sleep pauses for d, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func zapObject(o object) []zap.Field {
	return []zap.Field{zap.String("kind", o.kind), zap.String("name", o.name)}
}
