package primitives_test

import (
	"context"
	"errors"
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
		})
	}
}

func TestLockTellsTheCauseWhileParked(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewLock("x", nil)
		held := must(lock.Lock(t.Context()))(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("shutting down")
		time.AfterFunc(time.Second, func() { cancel(stop) })
		wraps(t, errOf(lock.Lock(ctx)), context.Canceled, stop)
		require.NoError(t, held.Release(t.Context()))
	})
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
