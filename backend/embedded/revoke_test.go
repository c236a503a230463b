package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// newLock returns the lock "orders:42" as a client of its own has it.
func newLock(
	t *testing.T, server *embedded.Server, opts *primitives.LockOptions,
) *primitives.Lock {
	t.Helper()
	client := adaptertest.Must(primitives.New(newBackend(t, server), nil))(t)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client.NewLock("orders:42", opts)
}

func TestRevoke(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		lease := adaptertest.Must(newLock(t, server, nil).Lock(t.Context()))(t)
		work, acquired := lease.Context(t.Context()), time.Now()
		next := waitForLock(t, newLock(t, server, nil), lease)
		require.NoError(t, server.Revoke("orders:42"))
		require.NoError(t, work.Err(), "the holder does not know yet")

		<-work.Done()
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
		require.LessOrEqual(t, time.Since(acquired), 10*time.Second, "its next renewal")
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)

		require.NoError(t, (<-next).Release(t.Context()))
		require.GreaterOrEqual(t, time.Since(acquired), 30*time.Second, "the end of the lease")
	})
}

// waitForLock begins to wait for a lock that another lease holds. When it is granted that lease has
// ended.
func waitForLock(
	t *testing.T, lock *primitives.Lock, holder *primitives.Lease,
) <-chan *primitives.Lease {
	t.Helper()
	granted := make(chan *primitives.Lease, 1)
	go func() {
		lease, err := lock.Lock(context.Background())
		if err == nil {
			err = holder.Err()
		}
		if !errors.Is(err, primitives.ErrLost) {
			t.Errorf("granted while another believed that it held: %v", err)
		}
		granted <- lease
	}()
	synctest.Wait()
	return granted
}

func TestRevokeWhatNobodyHolds(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		require.EqualError(t, server.Revoke("x"), `embedded: revoke lock "x": nobody holds it`)
		require.NoError(t, adaptertest.ErrOf(newLock(t, server, nil).Lock(t.Context())))
		require.NoError(t, server.Revoke("orders:42"))
		require.NoError(t, server.Revoke("orders:42"), "again")

		require.NoError(t, adaptertest.ErrOf(server.Do("SET", "text", "x", "PX", "60000")))
		var refused *backend.ServerError
		require.ErrorAs(t, server.Revoke("text"), &refused)
		require.Equal(t, "WRONGTYPE", refused.Code)
	})
}

// TestCloseLosesALock shows what the package's doc says of a backend that is closed.
func TestCloseLosesALock(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		b := newBackend(t, server)
		client := adaptertest.Must(primitives.New(b, nil))(t)
		lease := adaptertest.Must(client.NewLock("orders:42", nil).Lock(t.Context()))(t)
		next := waitForLock(t, newLock(t, server, nil), lease)
		require.NoError(t, b.Close())
		require.NoError(t, (<-next).Release(t.Context()))
		_ = client.Close(context.Background())
	})
}
