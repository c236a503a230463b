package primitives_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestSemaphoreContextEndsAfterGrant: whoever was granted when its context was last looked at has the
// permits, and is told so.
func TestSemaphoreContextEndsAfterGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		s.permits["x"] = 3
		ctx := &endsAfterALook{Context: context.Background()}
		s.seen = func(string, []string, []string) { ctx.looks.Store(1) }
		require.NoError(t, s.client(t, nil).NewSemaphore("x", nil).Acquire(ctx, 2))
		s.set(func() { require.Equal(t, 1, s.permits["x"]) })
	})
}

// endsAfterALook is a context that can be looked at so many times more, once that is set, before it
// ends.
type endsAfterALook struct {
	context.Context //nolint:containedctx // It is one.

	looks atomic.Int64
}

func (c *endsAfterALook) Err() error {
	if c.looks.Load() > 0 && c.looks.Add(1) > 2 {
		return context.Canceled
	}
	return nil
}
