package repro

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestCallersTellBusyFromDown ends the contexts of callers while another holds the lock, and while no
// server accepts connections. The patience of a caller may be shorter or longer than the adapter's.
func TestCallersTellBusyFromDown(t *testing.T) {
	t.Parallel()
	for name, client := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis, nil)
			p := servers.StartProxy(t, s.Addr(), nil)
			c := client(t, p.Addr())
			_, err := goRedis(t, s.Addr()).NewLock("busy", nil).Lock(t.Context())
			require.NoError(t, err)
			err = lockFor(t, c, "busy", time.Second)
			require.ErrorIs(t, err, primitives.ErrNotAcquired)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, primitives.ErrUnavailable)
			p.Refuse()
			p.Cut()
			for _, patience := range []time.Duration{2 * time.Second, time.Minute} {
				require.Eventually(t, func() bool { // The connection that was cut may have sent the first.
					err := lockFor(t, c, "free", patience)
					return errors.Is(err, primitives.ErrUnavailable) &&
						!errors.Is(err, primitives.ErrIndeterminate)
				}, 2*time.Minute, time.Millisecond)
			}
			require.NoError(t, p.Accept())
		})
	}
}

// lockFor returns the error of a Lock that cannot succeed.
func lockFor(t *testing.T, c *primitives.Client, name string, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := c.NewLock(name, nil).Lock(ctx)
	require.Nil(t, lease)
	return err
}
