package recipes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
)

// TestSendInvoice: it waits for 10 s for another holder, as the Java program of the page does, and sends under the lock.
func TestSendInvoice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		process := onEmbedded(t, embedded.NewServer())
		client, lock := process(), process().NewLock("invoice:42", nil)
		var sent int
		send := func(ctx context.Context) error {
			sent++
			_, bounded := ctx.Deadline()
			require.False(t, bounded, "the 10 s are for the lock alone")
			locked, err := lock.IsLocked(ctx)
			require.True(t, locked)
			return err
		}
		held, err := lock.TryLock(t.Context())
		require.NoError(t, err)
		start := time.Now()
		require.ErrorIs(t, recipes.SendInvoice(t.Context(), client, send), context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Zero(t, sent)
		require.NoError(t, held.Release(t.Context()))
		for range 2 {
			require.NoError(t, recipes.SendInvoice(t.Context(), client, send))
		}
		require.Equal(t, 2, sent)
	})
}
