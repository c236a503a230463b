package recipes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// inBubble runs a test in virtual time: leases end and watchdogs renew as in production, and nobody waits.
func inBubble(t *testing.T, test func(t *testing.T, server *embedded.Server, client *primitives.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		test(t, server, onEmbedded(t, server)())
	})
}

// ship is the code under test: it stops when it loses its lock, and reports that.
func ship(ctx context.Context, client *primitives.Client) error {
	return client.NewLock("orders:42", nil).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
		select {
		case <-time.After(time.Hour): // the work
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func TestShipStopsWhenItsLockIsLost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, server *embedded.Server, client *primitives.Client) {
		result := make(chan error, 1)
		go func() { result <- ship(t.Context(), client) }()
		synctest.Wait() // Ship has the lock, and works.
		began := time.Now()
		require.NoError(t, server.Revoke("orders:42"))
		require.ErrorIs(t, <-result, primitives.ErrLost)
		require.LessOrEqual(t, time.Since(began), 10*time.Second) // A third of the lease: nobody has the lock yet.
	})
}

func TestShipKeepsItsLockForAnHour(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ *embedded.Server, client *primitives.Client) {
		require.NoError(t, ship(t.Context(), client))
	})
}
