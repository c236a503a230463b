package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// revocable is a lock whose hold can be revoked.
type revocable interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Revoke(ctx context.Context, owner string) (time.Duration, error)
}

// revocables are the locks, and the commands by which another program holds each without an expiry.
var revocables = map[string]struct {
	of    func(c *primitives.Client) revocable
	alien []string
}{
	"Lock":       {func(c *primitives.Client) revocable { return c.NewLock("x", nil) }, alienHash},
	"FencedLock": {func(c *primitives.Client) revocable { return c.NewFencedLock("x", nil) }, alienHash},
	"SpinLock":   {func(c *primitives.Client) revocable { return c.NewSpinLock("x", nil) }, alienHash},
	"FairLock":   {func(c *primitives.Client) revocable { return c.NewFairLock("x", nil) }, alienHash},
	"Mutex":      {func(c *primitives.Client) revocable { return c.NewMutex("x", nil) }, []string{"SET", "hasp_mutex:{x}", alienOwner}},
}

const alienOwner = "5f0c2a9e-0000-4000-8000-00000000000a:77"

// alienHash is the hash of an owner in Java that has acquired the lock twice.
var alienHash = []string{"HSET", "x", alienOwner, "2"}

// TestRevoke: the holder has lost the lock before the waiter gets it, at the end of the lease and no later.
func TestRevoke(t *testing.T) {
	t.Parallel()
	for name, lock := range revocables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				holder, waiter, by := lock.of(s.client(t, nil)), lock.of(s.client(t, nil)), lock.of(s.client(t, nil))
				requireRevoked(t, by, "", 0)
				lost, err := holder.Lock(t.Context())
				require.NoError(t, err)
				next := make(chan *primitives.Lease)
				go func() {
					lease, err := waiter.Lock(t.Context())
					if err == nil {
						err = lost.Err()
					}
					require.ErrorIs(t, err, primitives.ErrLost)
					next <- lease
				}()
				time.Sleep(4 * time.Second)
				requireRevoked(t, by, "nobody", 0)
				requireRevoked(t, by, lost.Owner(), 26*time.Second)
				time.Sleep(time.Second)
				requireRevoked(t, by, "", 25*time.Second)
				require.NoError(t, lost.Err(), "it does not know yet")
				begin := time.Now()
				lease := <-next
				require.WithinRange(t, time.Now(), begin.Add(25*time.Second), begin.Add(26*time.Second))
				require.ErrorIs(t, lost.Release(t.Context()), primitives.ErrNotHeld)
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

func requireRevoked(t *testing.T, l revocable, owner string, want time.Duration) {
	t.Helper()
	left, err := l.Revoke(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, want, left)
}

// TestRevokeEndsAHoldWithoutAnExpiry: the lock is free after the client's WatchdogLease, or at once after ForceUnlock.
func TestRevokeEndsAHoldWithoutAnExpiry(t *testing.T) {
	t.Parallel()
	for name, lock := range revocables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				l := lock.of(s.client(t, &primitives.Options{WatchdogLease: 5 * time.Second}))
				s.do(lock.alien...)
				requireRevoked(t, l, alienOwner, 5*time.Second)
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				lease, err := l.Lock(ctx)
				require.NoError(t, err)
				require.WithinRange(t, time.Now(), begin.Add(5*time.Second), begin.Add(6*time.Second))
				require.NoError(t, lease.Release(t.Context()))
				s.do(lock.alien...)
				requireRevoked(t, l, "", 5*time.Second)
				freed, err := l.ForceUnlock(t.Context())
				require.NoError(t, err)
				require.True(t, freed)
			})
		})
	}
}

// TestRevokeLeavesReadWriteLocks: their holds have other keys.
func TestRevokeLeavesReadWriteLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newServer(t).client(t, nil)
		lease, err := c.NewReadWriteLock("x", nil).WriteLock().TryLock(t.Context())
		require.NoError(t, err)
		_, err = c.NewLock("x", nil).Revoke(t.Context(), "")
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.NoError(t, lease.Release(t.Context()))
	})
}
