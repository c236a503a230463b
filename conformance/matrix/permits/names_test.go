// Package permits has tests of the permit semaphore in virtual time: names that share leases, and more permits than
// there are.
package permits

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// client returns a client of a server of its own.
func client(t *testing.T) *primitives.Client {
	t.Helper()
	return cells.Over(t, must.Get(embedded.New(embedded.NewServer(), nil)), nil)
}

// TestNamesInBracesTakeNoLeases: a name and the same in braces have one set of leases. Nothing that would make the one
// touches what the other has lent.
func TestNamesInBracesTakeNoLeases(t *testing.T) {
	t.Parallel()
	o := &primitives.PermitSemaphoreOptions{Permits: 2}
	for name, other := range map[string]string{"p": "{p}", "{p}": "p"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			s, twin := c.NewPermitSemaphore(name, o), c.NewPermitSemaphore(other, o)
			lease := cells.Got(s.Acquire(t.Context(), 2))(t)
			require.ErrorIs(t, cells.Err(twin.TryAcquire(t.Context(), 1)), primitives.ErrConflict)
			require.ErrorIs(t, cells.Err(twin.InitPermits(t.Context(), 5)), primitives.ErrConflict)
			require.ErrorIs(t, twin.SetPermits(t.Context(), 5), primitives.ErrConflict)
			require.ErrorIs(t, twin.AddPermits(t.Context(), 5), primitives.ErrConflict)
			require.NoError(t, lease.Release(t.Context()))
			cells.Want(t, 2)(s.AvailablePermits(t.Context()))
			cells.Want(t, 2)(s.TotalPermits(t.Context()))
			cells.Want(t, true)(s.Delete(t.Context()))
			require.NoError(t, cells.Err(twin.TryAcquire(t.Context(), 1)), "the other is gone")
		})
	}
	c := client(t)
	for _, name := range []string{"a{p}", "{p}b", "{a}{p}", "b{p}"} {
		require.NoError(t, cells.Err(c.NewPermitSemaphore(name, o).TryAcquire(t.Context(), 1)), name)
	}
}

// TestMorePermitsThanThereAre: to acquire more permits than a semaphore has is an error, and for who waits already,
// when its number is made smaller. It waits for as many as the option says, and where there are none at all.
func TestMorePermitsThanThereAre(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		c := client(t)
		plain, of3 := c.NewPermitSemaphore("x", nil), c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 3})
		_, err := of3.TryAcquire(t.Context(), 4)
		require.ErrorIs(t, err, primitives.ErrAboveTotal, "of a semaphore that it would make")
		cells.Want(t, 0)(plain.TotalPermits(t.Context()))

		cells.Want(t, true)(plain.InitPermits(t.Context(), 3))
		lease := cells.Got(plain.Acquire(t.Context(), 2))(t)
		require.ErrorIs(t, cells.Err(plain.Acquire(t.Context(), 4)), primitives.ErrAboveTotal)
		_, err = plain.TryAcquire(t.Context(), 3)
		require.ErrorIs(t, err, primitives.ErrNotAcquired, "there will be as many")

		waits := func(s *primitives.PermitSemaphore) <-chan error {
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			t.Cleanup(cancel)
			go func() {
				l, err := s.Acquire(ctx, 3)
				if err == nil {
					err = l.Release(ctx)
				}
				done <- err
			}()
			synctest.Wait()
			return done
		}
		gaveUp, stays := waits(plain), waits(of3)
		require.NoError(t, plain.SetPermits(t.Context(), 2))
		require.ErrorIs(t, <-gaveUp, primitives.ErrAboveTotal)
		require.NoError(t, plain.SetPermits(t.Context(), 0))
		paused := waits(plain)
		time.Sleep(time.Minute)
		require.Empty(t, stays)
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, plain.SetPermits(t.Context(), 3))
		require.NoError(t, <-stays)
		require.NoError(t, <-paused)
	})
}
