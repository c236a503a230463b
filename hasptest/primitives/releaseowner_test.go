package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// ownable is a lock whose hold ends by its owner's name.
type ownable interface {
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ReleaseOwner(ctx context.Context, owner string) (bool, error)
}

// TestReleaseOwner: only the hold of the owner ends, and the next waiter gets the lock.
func TestReleaseOwner(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(c *primitives.Client) ownable{
		"Lock":      func(c *primitives.Client) ownable { return c.NewLock("x", nil) },
		"Mutex":     func(c *primitives.Client) ownable { return c.NewMutex("x", nil) },
		"FairLock":  func(c *primitives.Client) ownable { return c.NewFairLock("x", nil) },
		"WriteLock": func(c *primitives.Client) ownable { return c.NewReadWriteLock("x", nil).WriteLock() },
		"ReadLock":  func(c *primitives.Client) ownable { return c.NewReadWriteLock("x", nil).ReadLock() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				mine, other := lock(s.client(t, nil)), lock(s.client(t, nil))
				requireReleased(t, other, "nobody", false)
				lease, err := mine.TryLock(t.Context())
				require.NoError(t, err)
				requireReleased(t, other, "nobody", false)
				_, err = other.ReleaseOwner(t.Context(), "")
				var field *primitives.FieldError
				require.ErrorAs(t, err, &field)
				requireReleased(t, other, lease.Owner(), true)
				requireReleased(t, other, lease.Owner(), false)
				next, err := other.TryLock(t.Context())
				require.NoError(t, err)
				<-lease.Done()
				require.ErrorIs(t, lease.Err(), primitives.ErrLost)
				require.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

func requireReleased(t *testing.T, l ownable, owner string, want bool) {
	t.Helper()
	released, err := l.ReleaseOwner(t.Context(), owner)
	require.NoError(t, err)
	require.Equal(t, want, released)
}

// TestReleaseOwnerLeavesOtherReaders: they hold the lock together.
func TestReleaseOwnerLeavesOtherReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, nil)
		l := c.NewReadWriteLock("x", nil)
		first, err := l.ReadLock().TryLock(t.Context())
		require.NoError(t, err)
		second, err := l.ReadLock().TryLock(t.Context())
		require.NoError(t, err)
		requireReleased(t, l.ReadLock(), first.Owner(), true)
		requireReleased(t, l.WriteLock(), second.Owner(), false)
		_, err = s.client(t, nil).NewReadWriteLock("x", nil).WriteLock().TryLock(t.Context())
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		require.NoError(t, second.Release(t.Context()))
	})
}
