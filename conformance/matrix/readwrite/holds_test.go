package readwrite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestWritersLeaveInTheBackground has the releases of two writers fail: the one of both in the background ends their
// holds, and leaves a lock to the writer's own reader.
func TestWritersLeaveInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c := leavingTogether(t, s, "write_release")
		lock := c.NewReadWriteLock("x", nil)
		writer, other := taken(t.Context(), t, lock.WriteLock()), taken(t.Context(), t, c.NewReadWriteLock("y", nil).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		leaveTogether(t, writer, other)
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "y"))
		cells.Want(t, false)(lock.WriteLock().IsLocked(t.Context()))
		cells.Want(t, true)(lock.ReadLock().IsLocked(t.Context()))
		unlock(t, reader)
	})
}

// leavingTogether returns a client whose releases of one hold, by that script, fail: it repeats them in the background,
// those of several holds as one.
func leavingTogether(t *testing.T, s *embedded.Server, script string) *primitives.Client {
	t.Helper()
	b, err := embedded.New(s, nil)
	require.NoError(t, err)
	r := &cells.Runner{Backend: b}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if call.Script.Name == script {
			return backend.Reply{}, backend.ErrUnavailable
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, nil)
}

// leaveTogether releases the leases of such a client, and returns when the background has done so.
func leaveTogether(t *testing.T, leases ...*primitives.Lease) {
	t.Helper()
	for _, lease := range leases {
		require.ErrorIs(t, lease.Release(t.Context()), backend.ErrIndeterminate)
	}
	time.Sleep(time.Second)
}
