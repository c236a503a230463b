package readwrite

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestLostAnswersAreGivenBack loses the answers of acquires on both sides, of several locks at once:
// nothing is held afterwards, and nobody waits for a lease to end.
func TestLostAnswersAreGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		b, err := embedded.New(s, nil)
		require.NoError(t, err)
		var lost atomic.Bool
		r := &cells.Runner{Backend: b}
		r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
			reply, err := r.Good(ctx, call)
			if lost.Load() && call.Script.Retry == backend.Never && isAcquire(call.Script.Name) {
				return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
			}
			return reply, err
		}
		c := cells.Over(t, r, nil)
		names := []string{"a", "b", "c", "{d}:e"}
		lost.Store(true)
		for _, name := range names {
			l := c.NewReadWriteLock(name, nil)
			for _, l := range []side{l.ReadLock(), l.ReadLock(), l.WriteLock()} {
				_, err := l.TryLock(t.Context())
				require.ErrorIs(t, err, primitives.ErrIndeterminate)
			}
		}
		time.Sleep(time.Second)
		lost.Store(false)
		for _, name := range names {
			unlock(t, taken(t.Context(), t, c.NewReadWriteLock(name, nil).WriteLock()))
		}
	})
}

func isAcquire(script string) bool { return script == "read_acquire" || script == "write_acquire" }
