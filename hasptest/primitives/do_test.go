package primitives_test

import (
	"context"
	"errors"
	"strings"
	"testing"
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
	(*primitives.RedLock)(nil), (*primitives.CountingSemaphore)(nil), (*primitives.PlainLock)(nil),
}

// doLock is Do of a lock, for work that needs no lease.
type doLock func(ctx context.Context, work func(context.Context) error) error

// doing runs a test of Do, whose work finds the lock held.
func doing(t *testing.T, test func(t *testing.T, s *server, do doLock)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
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
	errWork := errors.New("work")
	doing(t, func(t *testing.T, s *server, do doLock) {
		require.NoError(t, do(t.Context(), func(context.Context) error { return nil }))
		require.Equal(t, errWork, do(t.Context(), func(context.Context) error { return errWork }))
		require.Equal(t, 2, s.called("lock_release"))
	})
}

// TestDoTellsOfALoss takes the lock away: the work's context ends, and Do says why.
func TestDoTellsOfALoss(t *testing.T) {
	doing(t, func(t *testing.T, s *server, do doLock) {
		err := do(t.Context(), func(ctx context.Context) error {
			s.lose("x")
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), primitives.ErrLost)
			return ctx.Err()
		})
		wraps(t, err, primitives.ErrLost, primitives.ErrNotHeld, context.Canceled)
		var failed *primitives.ReleaseError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, context.Canceled, failed.Work)
		require.EqualError(t, err, `context canceled; release lock "x": not held: lease lost: the server no longer has it`)
	})
}

// TestDoTellsItsPhases loses the answers of the acquire, or of the release, of each kind that has a Do: both errors
// are ErrIndeterminate, and only that of the release, which says that work was called, is a ReleaseError.
func TestDoTellsItsPhases(t *testing.T) {
	t.Parallel()
	type work = func(ctx context.Context, lease *primitives.Lease) error
	phases := map[string]func(context.Context, *primitives.Client, work) error{
		"PermitSemaphore": func(ctx context.Context, c *primitives.Client, w work) error {
			return c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 1}).Do(ctx, 1, w)
		},
		"Lease": func(ctx context.Context, c *primitives.Client, w work) error {
			lease, err := c.NewLock("x", nil).TryLock(ctx)
			if err != nil {
				return err
			}
			return lease.Do(ctx, func(ctx context.Context) error { return w(ctx, lease) })
		},
		"PeriodicJob": func(ctx context.Context, c *primitives.Client, w work) error {
			_, err := c.NewPeriodicJob("x", time.Second, nil).Do(ctx, time.Now(),
				func(ctx context.Context, run primitives.JobRun) error { return w(ctx, run.Lease) })
			return err
		},
	}
	for _, kind := range strings.Fields("Lock FencedLock FairLock SpinLock Mutex ReadLock WriteLock MultiLock RedLock CountingSemaphore") {
		phases[kind] = func(ctx context.Context, c *primitives.Client, w work) error {
			return construct(t, c, kind, "x", nil).(interface {
				Do(context.Context, work) error
			}).Do(ctx, w)
		}
	}
	for name, do := range phases {
		subtest(t, name, func(t *testing.T, s *server) {
			client, errWork := s.client(t, nil), errors.New("work")
			for _, failing := range []string{"acquire", "release"} {
				s.set(func() {
					s.fault = func(script string) fault {
						return fault{after: time.Millisecond, broken: strings.Contains(script, failing)}
					}
				})
				for _, result := range []error{nil, errWork} {
					called := false
					err := do(t.Context(), client, func(context.Context, *primitives.Lease) error { called = true; return result })
					require.ErrorIs(t, err, primitives.ErrIndeterminate)
					var failed *primitives.ReleaseError
					require.Equal(t, called, errors.As(err, &failed))
					require.Equal(t, failing == "release", called)
					if called {
						require.Equal(t, result, failed.Work)
						require.ErrorIs(t, failed.Release, primitives.ErrIndeterminate)
					}
					require.NotContains(t, err.Error(), "\n")
					time.Sleep(time.Minute)
				}
			}
			s.faults(fault{})
		})
	}
}

// TestDoWithoutTheLock does no work.
func TestDoWithoutTheLock(t *testing.T) {
	doing(t, func(t *testing.T, s *server, do doLock) {
		s.hold("x", another, time.Hour)
		ctx := within(t, time.Minute)
		err := do(ctx, func(context.Context) error { panic("it works") })
		wraps(t, err, primitives.ErrNotAcquired, context.DeadlineExceeded)
		s.lose("x")
	})
}

// TestDoReleasesAfterItsContext ends the context of Do during the work: the release is answered all the same.
func TestDoReleasesAfterItsContext(t *testing.T) {
	doing(t, func(t *testing.T, s *server, do doLock) {
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
	doing(t, func(t *testing.T, s *server, do doLock) {
		require.PanicsWithValue(t, "work", func() {
			_ = do(t.Context(), func(context.Context) error { panic("work") })
		})
		require.Equal(t, 1, s.called("lock_release"))
	})
}

// TestDoWaitsForItsRelease on a link that hangs for a while: a tenth of the lease, within 1 s and 3 s. The release
// continues in the background.
func TestDoWaitsForItsRelease(t *testing.T) {
	t.Parallel()
	lock := func(opts *primitives.LockOptions) func(*primitives.Client) doLock {
		return func(c *primitives.Client) doLock {
			return func(ctx context.Context, work func(context.Context) error) error {
				return c.NewLock("x", opts).Do(ctx, func(ctx context.Context, _ *primitives.Lease) error { return work(ctx) })
			}
		}
	}
	for name, c := range map[string]struct {
		do    func(*primitives.Client) doLock
		waits time.Duration
	}{
		"Watchdog": {lock(nil), 3 * time.Second},
		"Long":     {lock(&primitives.LockOptions{Lease: time.Hour}), 3 * time.Second},
		"Medium":   {lock(&primitives.LockOptions{Lease: 15 * time.Second}), 1500 * time.Millisecond},
		"Short":    {lock(&primitives.LockOptions{Lease: 2 * time.Second}), time.Second},
		"MultiLock": {func(c *primitives.Client) doLock {
			return func(ctx context.Context, work func(context.Context) error) error {
				m := primitives.NewMultiLock(c.NewLock("x", nil), c.NewLock("y", nil))
				return m.Do(ctx, func(ctx context.Context, _ *primitives.Lease) error { return work(ctx) })
			}
		}, 3 * time.Second},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			var ended time.Time
			err := c.do(s.client(t, nil))(context.Background(), func(context.Context) error {
				s.faults(fault{before: time.Minute})
				ended = time.Now()
				return nil
			})
			require.Equal(t, c.waits, time.Since(ended))
			require.ErrorAs(t, err, new(*primitives.ReleaseError))
			require.ErrorIs(t, err, primitives.ErrIndeterminate)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "no context has ended")
			require.ErrorContains(t, err, "no answer within "+c.waits.String())
			require.NotEmpty(t, s.holder("x"))
			s.faults(fault{})
			time.Sleep(10 * time.Second)
			require.Empty(t, s.holder("x"))
		})
	}
}
