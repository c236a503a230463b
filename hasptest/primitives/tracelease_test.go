package primitives_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestTracerOfLeaseEnds ends leases in all ways, each once.
func TestTracerOfLeaseEnds(t *testing.T) {
	t.Parallel()
	type ending = func(t *testing.T, s *server, c *primitives.Client, lease *primitives.Lease)
	for name, c := range map[string]struct {
		end   ending
		held  time.Duration
		cause error
		err   error
	}{
		"Release": {func(t *testing.T, _ *server, _ *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			time.Sleep(time.Minute)
			require.NoError(t, lease.Release(t.Context()))
			require.Error(t, lease.Release(t.Context()))
			lease.Forget()
		}, time.Minute, primitives.ErrReleased, nil},
		"Forget": {func(_ *testing.T, _ *server, _ *primitives.Client, lease *primitives.Lease) {
			time.Sleep(time.Second)
			lease.Forget()
			lease.Forget()
		}, time.Second, primitives.ErrReleased, nil},
		"Close": {func(t *testing.T, _ *server, c *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			time.Sleep(time.Second)
			require.NoError(t, c.Close(t.Context()))
			require.Error(t, lease.Release(t.Context()))
		}, time.Second, primitives.ErrClosed, nil},
		"LostByTheClock": {func(t *testing.T, s *server, _ *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			s.set(func() { s.fault = func(script string) fault { return fault{lost: script == "lock_renew"} } })
			<-lease.Done()
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)
		}, 27*time.Second - roundTrip, primitives.ErrLost, nil},
		"LostOnTheServer": {func(t *testing.T, s *server, _ *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			s.lose("x")
			<-lease.Done()
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)
		}, 10 * time.Second, primitives.ErrLost, nil},
		"LostAtRelease": {func(t *testing.T, s *server, _ *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			time.Sleep(time.Second)
			s.lose("x")
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)
		}, time.Second, primitives.ErrLost, primitives.ErrNotHeld},
		"Unanswered": {func(t *testing.T, s *server, _ *primitives.Client, lease *primitives.Lease) {
			t.Helper()
			time.Sleep(time.Second)
			s.set(func() { s.fault = func(script string) fault { return fault{broken: script == "lock_release"} } })
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrIndeterminate)
		}, time.Second, primitives.ErrReleased, primitives.ErrIndeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			traced(t, func(t *testing.T, s *server, client *primitives.Client, r *recorder) {
				lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
				c.end(t, s, client, lease)
				time.Sleep(time.Hour)
				ends := taken(r, &r.leases)
				require.Len(t, ends, 1)
				require.Equal(t, theLock, ends[0].Object)
				require.InDelta(t, c.held, ends[0].Held, float64(time.Second), "renewals are a little early")
				require.ErrorIs(t, ends[0].Cause, c.cause)
				require.ErrorIs(t, ends[0].Err, c.err)
			})
		})
	}
}

// TestTracerOfNoLease: nobody had the lease of an acquire that failed.
func TestTracerOfNoLease(t *testing.T) {
	traced(t, func(t *testing.T, s *server, c *primitives.Client, r *recorder) {
		s.set(func() { s.fault = func(script string) fault { return fault{broken: script == "lock_acquire"} } })
		require.ErrorIs(t, errOf(c.NewLock("x", nil).Lock(t.Context())), primitives.ErrIndeterminate)
		time.Sleep(time.Hour)
		require.Empty(t, taken(r, &r.leases))
	})
}

// TestTracerOfRenewals: what is renewed, how long it takes, and what fails.
func TestTracerOfRenewals(t *testing.T) {
	traced(t, func(t *testing.T, s *server, c *primitives.Client, r *recorder) {
		for _, name := range []string{"x", "y"} {
			require.NoError(t, errOf(c.NewLock(name, nil).Lock(t.Context())))
		}
		time.Sleep(11 * time.Second)
		require.Equal(t, []trace.Renewal{{Leases: 2, Took: roundTrip}}, taken(r, &r.renewals))

		down := errors.New("down")
		s.faults(fault{err: down})
		time.Sleep(10 * time.Second)
		s.faults(fault{})
		renewals := taken(r, &r.renewals)
		require.NotEmpty(t, renewals)
		require.Equal(t, 2, renewals[0].Failed)
		require.ErrorIs(t, renewals[0].Err, down)

		time.Sleep(5 * time.Second)
		renewals = taken(r, &r.renewals)
		require.NotEmpty(t, renewals)
		require.Zero(t, renewals[0].Failed)
		require.NoError(t, renewals[0].Err)
		require.Empty(t, taken(r, &r.leases))
	})
}

// TestTracerOfGaps: a link that broke, and subscriptions that are refused.
func TestTracerOfGaps(t *testing.T) {
	const channel = "redisson_lock__channel:{x}"
	traced(t, func(t *testing.T, s *server, c *primitives.Client, r *recorder) {
		require.NoError(t, errOf(c.NewLock("x", nil).Lock(t.Context())))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _, _ = c.NewLock("x", nil).Lock(ctx) }()
		time.Sleep(time.Second)
		require.Empty(t, taken(r, &r.gaps))
		s.set(func() {
			for subscription := range s.handlers {
				go subscription.handler(backend.Event{Kind: backend.EventResubscribed})
			}
		})
		time.Sleep(time.Second)
		require.Equal(t, []trace.SubscriptionGap{{Channel: channel}}, taken(r, &r.gaps))

		refused := s.over(t, refusingSubscriber{s}, &primitives.Options{Tracer: r.tracer()})
		go func() { _, _ = refused.NewLock("x", nil).Lock(ctx) }()
		time.Sleep(10 * time.Second)
		gaps := taken(r, &r.gaps)
		require.NotEmpty(t, gaps)
		require.Equal(t, channel, gaps[0].Channel)
		require.ErrorIs(t, gaps[0].Err, backend.ErrNoPermission)
	})
}
