package repro

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestExtendOnAServer makes leases of a minute last for an hour, by each of the scripts that renew leases.
func TestExtendOnAServer(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			c := cells.Named("Rueidis").Primitives(t, cells.At(s.Addr()), nil)
			rw := c.NewReadWriteLock("rw", &primitives.ReadWriteLockOptions{Lease: time.Minute})
			for name, lock := range map[string]primitives.Locker{
				"lock":               c.NewLock("lock", &primitives.LockOptions{Lease: time.Minute}),
				"hasp_mutex:{mutex}": c.NewMutex("mutex", &primitives.LockOptions{Lease: time.Minute}),
				"rw":                 rw.ReadLock(),
				"write": c.NewReadWriteLock("write", &primitives.ReadWriteLockOptions{
					Lease: time.Minute,
				}).WriteLock(),
			} {
				lease, err := lock.TryLock(t.Context())
				require.NoError(t, err, name)
				extended(t, s, lease, name)
			}
			slots := c.NewCountingSemaphore("slots", 1, &primitives.CountingSemaphoreOptions{Lease: time.Minute})
			lease, err := slots.TryAcquire(t.Context())
			require.NoError(t, err)
			extended(t, s, lease, "slots")
			permits := c.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 1, Lease: time.Minute})
			lease, err = permits.TryAcquire(t.Context(), 1)
			require.NoError(t, err)
			require.NoError(t, lease.Extend(t.Context(), time.Hour))
			left, err := permits.Remaining(t.Context(), primitives.PermitIDs(lease)[0])
			require.NoError(t, err)
			require.Greater(t, left, 30*time.Minute)
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// extended makes a lease last for an hour, and asks the server for the expiry of its key.
func extended(t *testing.T, s *servers.Server, lease *primitives.Lease, key string) {
	t.Helper()
	require.NoError(t, lease.Extend(t.Context(), time.Hour), key)
	require.Greater(t, lease.Remaining(), 30*time.Minute, key)
	reply, err := s.Do("PTTL", key)
	require.NoError(t, err)
	left, err := reply.Int()
	require.NoError(t, err)
	require.Greater(t, left, int64(30*time.Minute/time.Millisecond), key)
	require.NoError(t, lease.Release(t.Context()), key)
}
