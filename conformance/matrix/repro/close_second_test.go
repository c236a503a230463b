package repro

import (
	"context"
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

// TestSecondCloseDoesNotWait calls Close twice, as a defer and a signal's handler do.
func TestSecondCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		e, err := embedded.New(server, nil)
		require.NoError(t, err)
		s := &slowRelease{Backend: e}
		c, err := primitives.New(s, nil)
		require.NoError(t, err)
		_, err = c.NewLock("x", nil).Lock(t.Context())
		require.NoError(t, err)
		first := make(chan error, 1)
		go func() { first <- c.Close(context.Background()) }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Close(impatient), context.DeadlineExceeded)
		require.NoError(t, c.Close(context.Background()))
		held, err := server.Do("EXISTS", "x")
		require.NoError(t, err)
		n, err := held.Int()
		require.NoError(t, err)
		require.Zero(t, n, "Close returned nil before what was held was released")
		require.NoError(t, <-first)
		require.Equal(t, int64(1), s.releases.Load())
		require.NoError(t, e.Close())
	})
}

// slowRelease takes 300 ms for a release.
type slowRelease struct {
	backend.Backend
	releases atomic.Int64
}

func (s *slowRelease) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if strings.Contains(script.Name, "release") {
		s.releases.Add(1)
		time.Sleep(300 * time.Millisecond)
	}
	return s.Backend.Run(ctx, script, keys, args)
}
