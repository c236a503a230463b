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
	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

// TestSecondCloseDoesNotWait calls Close twice, as a defer and a signal's handler do, while a release takes 300 ms.
func TestSecondCloseDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := embedded.NewServer()
		r := &cells.Runner{Backend: backendOf(t, server)}
		var releases atomic.Int64
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if strings.Contains(c.Script.Name, "release") {
				releases.Add(1)
				time.Sleep(300 * time.Millisecond)
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, nil)
		lock(t, c, "x")
		first := make(chan error, 1)
		go func() { first <- c.Close(context.Background()) }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Close(impatient), context.DeadlineExceeded)
		require.NoError(t, c.Close(context.Background()))
		require.Equal(t, "0", cells.Text(t, server, "EXISTS", "x"),
			"Close returned nil before what was held was released")
		require.NoError(t, <-first)
		require.Equal(t, int64(1), releases.Load())
	})
}
