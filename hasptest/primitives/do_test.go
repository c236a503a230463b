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

// work is what Do calls.
type work = func(ctx context.Context, lease *primitives.Lease) error

// doOf returns the Do of an object, which whatever returns a lease has.
func doOf(object any) func(context.Context, work) error {
	return object.(interface {
		Do(context.Context, work) error
	}).Do
}

// TestDo returns what the work returns, passes its panic on, and releases, also when the context of Do has ended. It ends
// the work's context when the lock is lost, and says why. It does no work without the lock.
func TestDo(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		do := func(ctx context.Context, work func(context.Context) error) error {
			return c.NewLock("x", nil).Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
				require.Equal(t, s.holder("x"), lease.Owner())
				require.NoError(t, lease.Err())
				return work(ctx)
			})
		}
		failed := errors.New("work")
		require.NoError(t, do(t.Context(), func(context.Context) error { return nil }))
		require.Equal(t, failed, do(t.Context(), func(context.Context) error { return failed }))
		require.PanicsWithValue(t, "work", func() {
			_ = do(t.Context(), func(context.Context) error { panic("work") })
		})
		require.Equal(t, 3, s.called("lock_release"))
		err := do(t.Context(), func(ctx context.Context) error {
			s.lose("x")
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), primitives.ErrLost)
			return ctx.Err()
		})
		wraps(t, err, primitives.ErrLost, primitives.ErrNotHeld, context.Canceled)
		released := new(primitives.ReleaseError)
		require.ErrorAs(t, err, &released)
		require.Equal(t, context.Canceled, released.Work)
		require.EqualError(t, err, `context canceled; release lock "x": not held: lease lost: the server no longer has it`)
		s.faults(fault{after: 500 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		err = do(ctx, func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		require.Empty(t, s.holder("x"))
		s.faults(fault{})
		s.hold("x", another, time.Hour)
		err = do(within(t, time.Minute), func(context.Context) error { panic("it works") })
		wraps(t, err, primitives.ErrNotAcquired, context.DeadlineExceeded)
		require.Equal(t, another, s.holder("x"))
	})
}

// TestDoTellsItsPhases loses the answers of the acquire, or of the release, of each kind that has a Do: both errors
// are ErrIndeterminate, and only that of the release, which says that work was called, is a ReleaseError.
func TestDoTellsItsPhases(t *testing.T) {
	t.Parallel()
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
	for _, kind := range strings.Fields("Lock FencedLock FairLock SpinLock Mutex PlainLock ReadLock WriteLock MultiLock RedLock CountingSemaphore") {
		phases[kind] = func(ctx context.Context, c *primitives.Client, w work) error {
			return doOf(construct(t, c, kind, "x", nil))(ctx, w)
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

// TestDoWaitsForItsRelease on a link that hangs for a while: a tenth of the lease, within 1 s and 3 s. The release
// continues in the background.
func TestDoWaitsForItsRelease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind         string
		lease, waits time.Duration
	}{
		"Watchdog":  {"Lock", 0, 3 * time.Second},
		"Long":      {"Lock", time.Hour, 3 * time.Second},
		"Medium":    {"Lock", 15 * time.Second, 1500 * time.Millisecond},
		"Short":     {"Lock", 2 * time.Second, time.Second},
		"MultiLock": {"MultiLock", 0, 3 * time.Second},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			var ended time.Time
			err := doOf(construct(t, s.client(t, nil), c.kind, "x", settings{"Lease": c.lease}))(context.Background(),
				func(context.Context, *primitives.Lease) error {
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
