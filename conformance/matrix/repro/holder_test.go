package repro

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestHolderIsStoredAsLongAsTheLock, while the watchdog renews it, and after the client has given it up.
func TestHolderIsStoredAsLongAsTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := inProcess(t, nil)
		lock := c.NewLock("x", &primitives.LockOptions{Metadata: "text"})
		lease, err := lock.Lock(t.Context())
		require.NoError(t, err)
		for range 10 {
			time.Sleep(time.Minute)
			synctest.Wait() // A renewal may be due now.
			require.Positive(t, expiry(t, server, "x"))
			require.Equal(t, expiry(t, server, "x"), expiry(t, server, "hasp_lock_holder:{x}"))
		}
		holder, err := lock.Holder(t.Context())
		require.NoError(t, err)
		require.Equal(t, "text", holder.Metadata)
		require.Equal(t, 10*time.Minute, time.Since(holder.Since).Round(time.Second))
		require.NoError(t, lease.Release(t.Context()))
		require.EqualValues(t, -2, expiry(t, server, "hasp_lock_holder:{x}"))
		lease, err = lock.Lock(t.Context())
		require.NoError(t, err)
		lease.Forget()
		time.Sleep(31 * time.Second)
		require.EqualValues(t, -2, expiry(t, server, "hasp_lock_holder:{x}"))
	})
}

// TestHoldersAreReleasedTogether when the client is closed: nothing of them is left.
func TestHoldersAreReleasedTogether(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	for _, name := range []string{"x", "y", "z"} {
		taken(t, c.NewLock(name, &primitives.LockOptions{Metadata: "text"}))
		require.Positive(t, expiry(t, server, "hasp_lock_holder:{"+name+"}"))
	}
	require.NoError(t, c.Close(t.Context()))
	for _, name := range []string{"x", "y", "z"} {
		require.EqualValues(t, -2, expiry(t, server, name))
		require.EqualValues(t, -2, expiry(t, server, "hasp_lock_holder:{"+name+"}"))
	}
}

// expiry returns how many milliseconds a key has left, or -2 if there is none.
func expiry(t *testing.T, server *embedded.Server, key string) int64 {
	t.Helper()
	reply, err := server.Do("PTTL", key)
	require.NoError(t, err)
	left, err := reply.Int()
	require.NoError(t, err)
	return left
}

// TestHolderOfForeignKeys: a hash that is no lock, and a list where the holder is stored, are conflicts, which name
// the key.
func TestHolderOfForeignKeys(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	lock := c.NewLock("x", nil)
	lease := taken(t, lock)
	_, err := server.Do("RPUSH", "hasp_lock_holder:{x}", "a")
	require.NoError(t, err)
	_, err = lock.Holder(t.Context())
	require.ErrorIs(t, err, primitives.ErrConflict)
	require.ErrorContains(t, err, `the holder's key "hasp_lock_holder:{x}" of this lock holds a list`)
	require.NoError(t, lease.Release(t.Context()))
	_, err = server.Do("HSET", "x", "field", "value")
	require.NoError(t, err)
	_, err = lock.Holder(t.Context())
	require.ErrorIs(t, err, primitives.ErrConflict)
}

// TestHolderOnAServer asks in another process's client, with a text of all bytes.
func TestHolderOnAServer(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("\x00\n\xff", 341)
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			for _, a := range cells.Adapters() {
				mine := a.Primitives(t, cells.At(s.Addr()), nil).NewLock(a.Name, &primitives.LockOptions{Metadata: text})
				asked := a.Primitives(t, cells.At(s.Addr()), nil).NewLock(a.Name, nil)
				lease := taken(t, mine)
				holder, err := asked.Holder(t.Context())
				require.NoError(t, err)
				require.Equal(t, lease.Owner(), holder.Owner)
				require.Equal(t, text, holder.Metadata)
				require.NotZero(t, holder.Since)
				require.NoError(t, lease.Release(t.Context()))
				_, err = asked.Holder(t.Context())
				require.ErrorIs(t, err, primitives.ErrNotHeld)
			}
		})
	}
}

// taken acquires a lock that is free.
func taken(t *testing.T, l *primitives.Lock) *primitives.Lease {
	t.Helper()
	lease, err := l.TryLock(t.Context())
	require.NoError(t, err)
	return lease
}
