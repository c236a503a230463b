package primitives_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// Whatever returns a lease has a Do.
var _ = []interface {
	Do(ctx context.Context, work func(ctx context.Context, lease *primitives.Lease) error) error
}{
	(*primitives.Lock)(nil), (*primitives.FencedLock)(nil), (*primitives.FairLock)(nil), (*primitives.SpinLock)(nil),
	(*primitives.Mutex)(nil), (*primitives.ReadLock)(nil), (*primitives.WriteLock)(nil), (*primitives.MultiLock)(nil),
	(*primitives.RedLock)(nil), (*primitives.CountingSemaphore)(nil),
}

// doLock is Do of a lock, for work that needs no lease.
type doLock func(ctx context.Context, work func(context.Context) error) error

// doing runs a test of Do, whose work finds the lock held.
func doing(t *testing.T, test func(t *testing.T, s *fakeServer, do doLock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		lock := s.client(t, nil).NewLock("x", nil)
		test(t, s, func(ctx context.Context, work func(context.Context) error) error {
			return lock.Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
				require.Equal(t, s.holder("x"), lease.Owner())
				require.NoError(t, lease.Err())
				return work(ctx)
			})
		})
		require.Empty(t, s.holder("x"))
	})
}

func TestDoJoinsErrors(t *testing.T) {
	t.Parallel()
	errWork := errors.New("work")
	doing(t, func(t *testing.T, s *fakeServer, do doLock) {
		require.NoError(t, do(t.Context(), func(context.Context) error { return nil }))
		err := do(t.Context(), func(context.Context) error { return errWork })
		require.ErrorIs(t, err, errWork)
		require.NotErrorIs(t, err, primitives.ErrNotHeld)
		require.Equal(t, 2, s.called("lock_release"))
	})
}

// TestDoTellsOfALoss takes the lock away: the work's context ends, and Do says why.
func TestDoTellsOfALoss(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, s *fakeServer, do doLock) {
		err := do(t.Context(), func(ctx context.Context) error {
			s.set(func() { delete(s.locks, "x") })
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), primitives.ErrLost)
			return ctx.Err()
		})
		require.ErrorIs(t, err, primitives.ErrLost)
		require.ErrorIs(t, err, primitives.ErrNotHeld)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestDoOfALease has work done under a lease that TryLock has got.
func TestDoOfALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		lease, err := s.client(t, nil).NewLock("x", nil).TryLock(t.Context())
		require.NoError(t, err)
		err = lease.Do(t.Context(), func(ctx context.Context) error {
			require.Equal(t, lease.Owner(), s.holder("x"))
			s.set(func() { delete(s.locks, "x") })
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, primitives.ErrNotHeld)
		require.ErrorIs(t, lease.Do(t.Context(), func(ctx context.Context) error { return ctx.Err() }), context.Canceled)
	})
}

// TestDoWithoutTheLock does no work.
func TestDoWithoutTheLock(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, s *fakeServer, do doLock) {
		s.set(func() { s.locks["x"] = fakeLock{"another", time.Now().Add(time.Hour)} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := do(ctx, func(context.Context) error { panic("it works") })
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.set(func() { delete(s.locks, "x") })
	})
}

// TestDoReleasesAfterItsContext ends the context of Do during the work: the release is answered all the same.
func TestDoReleasesAfterItsContext(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, s *fakeServer, do doLock) {
		s.fault = func(string) fault { return fault{after: 500 * time.Millisecond} }
		ctx, cancel := context.WithCancel(t.Context())
		err := do(ctx, func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.Empty(t, s.holder("x"))
	})
}

// TestDoReleasesAfterAPanic lets the panic go on.
func TestDoReleasesAfterAPanic(t *testing.T) {
	t.Parallel()
	doing(t, func(t *testing.T, s *fakeServer, do doLock) {
		require.PanicsWithValue(t, "work", func() {
			_ = do(t.Context(), func(context.Context) error { panic("work") })
		})
		require.Equal(t, 1, s.called("lock_release"))
	})
}
