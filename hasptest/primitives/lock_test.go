package primitives_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestLockCancelledLeavesNothing cancels an acquire in flight, whose script runs after that or
// whose reply never comes, while other releases come through.
func TestLockCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]fault{
		"RunsLater":  {before: 500 * time.Millisecond},
		"RunsMuch":   {before: 5 * time.Second},
		"RunsAfter":  {before: 8 * time.Second},
		"NoReply":    {before: 50 * time.Millisecond, lost: true},
		"LateReply":  {before: 50 * time.Millisecond, after: time.Second},
		"LongNoTrip": {before: 500 * time.Millisecond, lost: true},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			client := s.client(t, nil)
			s.once("lock_acquire", acquire)
			ctx := within(t, 100*time.Millisecond)
			start := time.Now()
			wraps(t, errOf(client.NewLock("x", nil).Lock(ctx)), context.DeadlineExceeded, backend.ErrIndeterminate)
			require.Equal(t, 100*time.Millisecond, time.Since(start))

			// A second after its reply came, or was given up, nothing is left.
			settled := acquire.before + acquire.after
			if acquire.lost {
				settled = 5 * time.Second
			}
			time.Sleep(time.Until(start.Add(settled + time.Second)))
			require.Empty(t, s.holder("x"))
			require.Zero(t, s.subscribed())

			// What still comes does not touch a later hold.
			next := must(client.NewLock("x", nil).Lock(t.Context()))(t)
			renewals := s.called("lock_renew")
			time.Sleep(8 * time.Second)
			require.Equal(t, next.Owner(), s.holder("x"))
			require.Equal(t, renewals, s.called("lock_renew"))
			require.NoError(t, next.Release(t.Context()))
		})
	}
}

// TestUnlockUnderTheLeasesOwnContext is what "ctx = lease.Context(ctx)" and a deferred Release do, and libraries that end a
// context with another: ending the lease ends the context, but not the waiting for the answer.
func TestUnlockUnderTheLeasesOwnContext(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Lock", "MultiLock", "RedLock"} {
		subtest(t, name, func(t *testing.T, s *server) {
			lock := construct(t, s.client(t, nil), name, "x", nil).(primitives.Locker)
			for i, under := range []func(l *primitives.Lease) context.Context{
				func(l *primitives.Lease) context.Context { return l.Context(t.Context()) },
				func(l *primitives.Lease) context.Context {
					merged, cancel := context.WithCancel(t.Context())
					context.AfterFunc(l.Context(t.Context()), cancel)
					return merged
				},
			} {
				s.faults(fault{})
				lease := must(lock.Lock(t.Context()))(t)
				ctx := under(lease)
				s.faults(fault{after: 50 * time.Millisecond})
				require.NoError(t, lease.Release(ctx))
				require.ErrorIs(t, ctx.Err(), context.Canceled)
				require.Equal(t, i+1, s.called("lock_release"))
			}

			// The deadline of its parent ends the waiting, but for a second.
			s.faults(fault{})
			lease := must(lock.Lock(t.Context()))(t)
			s.faults(fault{after: 2 * time.Second})
			parent := within(t, 20*time.Millisecond)
			start := time.Now()
			err := lease.Release(lease.Context(parent))
			if name == "Lock" { // The parts of the others have contexts of their own.
				require.ErrorIs(t, err, context.Canceled)
			}
			require.ErrorIs(t, err, primitives.ErrIndeterminate)
			require.Equal(t, time.Second, time.Since(start))
			time.Sleep(time.Second)
			require.Empty(t, s.holder("x"))
			require.Equal(t, 3, s.called("lock_release"))

			s.faults(fault{})
			lease = must(lock.Lock(t.Context()))(t)
			s.faults(fault{after: 2 * time.Second})
			start = time.Now()
			require.ErrorIs(t, lease.Release(parent), primitives.ErrIndeterminate)
			require.Zero(t, time.Since(start), "it had ended before")
		})
	}
}

// TestClientCloseAfterACancelledLock lets an acquire be cancelled that never reaches the server:
// nobody can know that, but Close does not wait for a lease to pass.
func TestClientCloseAfterACancelledLock(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		s.faultOf("lock_acquire", fault{before: time.Minute, lost: true})
		require.ErrorIs(t, errOf(client.NewLock("x", nil).Lock(within(t, time.Second))), backend.ErrIndeterminate)
		start := time.Now()
		require.NoError(t, client.Close(t.Context()))
		require.Less(t, time.Since(start), 4*time.Second)
		require.Greater(t, s.called("lock_release"), 3)
	})
}

// lockFunc acquires a lock, and waits for it.
type lockFunc func(context.Context) (*primitives.Lease, error)

// TestSelfDeadlock waits for locks under contexts of their own leases. It fails at once, and sends nothing.
func TestSelfDeadlock(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		for pair, is := range map[string]error{
			"Lock Lock": nil, "FairLock FairLock": nil, "FencedLock FencedLock": nil, "SpinLock SpinLock": nil, "PlainLock PlainLock": nil,
			"WriteLock WriteLock": nil, "WriteLock ReadLock": nil, "ReadLock WriteLock": primitives.ErrUpgrade,
			"RedLock RedLock": nil, "RedLock Lock": nil, "MultiLock Lock": nil, "MultiLock MultiLock": nil,
			"Lock Election": nil, "Lock PeriodicJob": nil, "SpinLock Lock": nil, "MultiLock PeriodicJob": nil,
		} {
			outer, inner, _ := strings.Cut(pair, " ")
			lease, err := acquirer(t, c, outer, "x")(t.Context())
			require.NoError(t, err, pair)
			for of, ctx := range contextsOf(t, lease) {
				var sent []string
				s.set(func() { s.seen = func(script string, _, _ []string) { sent = append(sent, script) } })
				start := time.Now()
				ctx, end := context.WithTimeout(ctx, time.Minute)
				_, err := acquirer(t, c, inner, "x")(ctx)
				end()
				require.ErrorIs(t, err, cmp.Or(is, primitives.ErrSelfDeadlock), "%s: %s", pair, of)
				if inner != "MultiLock" { // It asks for all of its locks before it waits.
					require.Empty(t, sent, "%s: %s", pair, of)
					require.Zero(t, time.Since(start), "%s: %s", pair, of)
				}
				s.set(func() { s.seen = nil })
			}
			require.NoError(t, lease.Err(), pair)
			require.NoError(t, lease.Release(t.Context()), pair)
		}
	})
}

// TestSelfDeadlockOfAnotherKind calls an election, a job and a lock of one name under each other's contexts, which do not
// re-enter either.
func TestSelfDeadlockOfAnotherKind(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		kinds, tried := []string{"Lock", "Election", "PeriodicJob"}, 0
		for _, outer := range kinds {
			hold(t, construct(t, c, outer, "x", nil), func(lease *primitives.Lease) {
				for _, inner := range kinds {
					for _, ctx := range []context.Context{lease.Context(t.Context()), lease.Reenter(t.Context())} {
						if inner == outer && inner != "PeriodicJob" {
							continue // A lock re-enters, and an election never calls itself.
						}
						ctx, end := context.WithTimeout(ctx, time.Minute)
						_, err := acquirer(t, c, inner, "x")(ctx)
						end()
						require.ErrorIs(t, err, primitives.ErrSelfDeadlock, "%s in %s", inner, outer)
						tried++
					}
				}
			})
		}
		require.Equal(t, 14, tried)
	})
}

// contextsOf are contexts of a lease, or made from one.
func contextsOf(t *testing.T, l *primitives.Lease) map[string]context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute) // It bounds a call that waits for itself all the same.
	work := l.Context(ctx)
	cancelled, cancel := context.WithCancel(context.WithValue(work, valueKey{}, 1))
	limited, stop := context.WithTimeout(cancelled, time.Hour)
	t.Cleanup(func() { stop(); cancel(); end() })
	return map[string]context.Context{
		"the lease's": work, "with a value": context.WithValue(work, valueKey{}, 1),
		"cancelled": cancelled, "limited": limited, "of two": l.Context(limited), "detached": context.WithoutCancel(work),
	}
}

// TestNoSelfDeadlock waits for what its own lease does not keep from it, or not for ever.
func TestNoSelfDeadlock(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		lock, rw := c.NewLock("x", nil), c.NewReadWriteLock("rw", nil)
		lease := must(lock.Lock(t.Context()))(t)
		work := lease.Context(t.Context())
		require.ErrorIs(t, errOf(lock.TryLock(work)), primitives.ErrNotAcquired)
		for _, ctx := range []context.Context{lease.Reenter(t.Context()), lease.Reenter(work), lease.Context(lease.Reenter(work))} {
			inner, err := lock.Lock(ctx)
			require.NoError(t, err, "it re-enters")
			require.NoError(t, inner.Release(ctx))
		}
		other := must(c.NewLock("y", nil).Lock(work))(t)
		require.NoError(t, other.Release(t.Context()))
		writer := must(rw.WriteLock().Lock(t.Context()))(t)
		reader, err := rw.ReadLock().Lock(writer.Reenter(t.Context()))
		require.NoError(t, err, "a writer may read")
		require.NoError(t, writer.Release(t.Context()))
		second, err := rw.ReadLock().Lock(reader.Context(t.Context()))
		require.NoError(t, err, "readers do not exclude each other")
		require.NoError(t, second.Release(t.Context()))
		require.NoError(t, reader.Release(t.Context()))

		require.NoError(t, lease.Release(t.Context()))
		lease = must(lock.Lock(context.WithoutCancel(work)))(t)
		require.NoError(t, lease.Release(t.Context()))
		_, err = lock.Lock(work)
		wraps(t, err, context.Canceled, primitives.ErrReleased)
		require.NotErrorIs(t, err, primitives.ErrSelfDeadlock)
	})
}

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
