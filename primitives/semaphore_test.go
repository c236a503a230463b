package primitives_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// TestSemaphoreGrantRacesWithContext tells whoever gives up in the instant of the grant that permits
// may have been taken, and releases them.
func TestSemaphoreGrantRacesWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		s.permits["x"] = 3
		ctx := &endingContext{Context: t.Context(), done: make(chan struct{})}
		s.seen = func(string, []string, []string) { ctx.over.Store(true) }
		semaphore := s.client(t, nil).NewSemaphore("x", nil)
		err := semaphore.Acquire(ctx, 2)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		time.Sleep(time.Minute)
		s.set(func() { require.Equal(t, 3, s.permits["x"]) })
		require.Equal(t, 1, s.called("semaphore_add"))
	})
}

// endingContext has ended, but those who wait for its end have not been told yet.
type endingContext struct {
	context.Context //nolint:containedctx // It is one.

	done chan struct{}
	over atomic.Bool
}

func (c *endingContext) Done() <-chan struct{} { return c.done }

func (c *endingContext) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}
