package repro

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// down loses the reply to every release.
type down struct {
	backend.Backend
	lost atomic.Int64
}

func (d *down) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if strings.Contains(s.Name, "release") {
		d.lost.Add(1)
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return d.Backend.Run(ctx, s, keys, args)
}

// TestCloseWithoutAServer closes a client whose server is gone: it once took the whole lease.
func TestCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e, err := embedded.New(embedded.NewServer(), nil)
			require.NoError(t, err)
			d := &down{Backend: e}
			c, err := primitives.New(d, nil)
			require.NoError(t, err)
			_, err = c.NewLock("x", &primitives.LockOptions{Lease: lease}).Lock(t.Context())
			require.NoError(t, err)
			start := time.Now()
			err = c.Close(context.Background())
			require.Equal(t, 5*time.Second, time.Since(start))
			require.ErrorIs(t, err, backend.ErrIndeterminate)
			require.ErrorContains(t, err, "CloseTimeout")
			sent := d.lost.Load()
			require.Positive(t, sent)
			require.Equal(t, err, c.Close(context.Background()))
			time.Sleep(48 * time.Hour)
			require.Equal(t, sent, d.lost.Load(), "what was given up goes on")
			require.NoError(t, e.Close())
		})
	}
}
