package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestThrottled: a tracer gets each decision by its throttle's policy.
func TestThrottled(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var events []string
		var last error
		c := s.client(t, &primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			events = append(events, fmt.Sprint(d.Policy, " ", d.Object.Name, " ", d.Outcome(), " ", d.Local))
			last = d.Err
			require.Equal(t, d.Outcome() == "failed", d.Err != nil)
		}}})
		requireEvents := func(want ...string) {
			t.Helper()
			require.Equal(t, want, events)
			events = nil
		}
		throttle := func(name, policy string, burst int, away primitives.Fallback) *primitives.Throttle {
			return c.NewThrottle(name, primitives.Limit{Permits: 1, Interval: time.Minute, Burst: burst},
				&primitives.ThrottleOptions{Unavailable: away, Policy: policy})
		}
		allow := func(t *primitives.Throttle, n int) { _, _ = t.Allow(context.Background(), n) }

		ann, all := throttle("ann", "a user", 2, primitives.Refuse()), throttle("all", "all users", 3, primitives.Refuse())
		allow(ann, 2)
		allow(ann, 1)
		_, _, _ = ann.AllowEstimate(t.Context(), 2)
		allow(ann, 3)
		requireEvents("a user ann allowed false", "a user ann refused false", "a user ann refused false")
		require.NoError(t, ann.Wait(t.Context(), 1))
		require.ErrorIs(t, ann.Wait(within(t, time.Second), 1), context.DeadlineExceeded)
		requireEvents("a user ann allowed false")

		both := func(n int) *primitives.MultiThrottle {
			return primitives.NewMultiThrottle(nil, ann.Take(1), all.Take(n))
		}
		time.Sleep(2 * time.Minute)
		_, _ = both(1).Allow(t.Context())
		_, _ = both(3).Allow(t.Context())
		requireEvents("a user ann allowed false", "all users all allowed false", "all users all refused false")
		require.NoError(t, both(3).Wait(t.Context()))
		_, _ = both(3).Allow(t.Context())
		_, _ = both(1).Allow(t.Context())
		requireEvents("a user ann allowed false", "all users all allowed false",
			"all users all refused false", "all users all refused false")

		s.do("SET", "text", "another program's")
		allow(throttle("text", "", 1, primitives.Admit()), 1)
		requireEvents(" text failed false")
		require.ErrorIs(t, last, primitives.ErrConflict)

		s.faults(fault{err: primitives.ErrUnavailable})
		local := throttle("bob", "a user", 1, primitives.LocalShare(1))
		allow(local, 1)
		allow(local, 1)
		require.NoError(t, local.Wait(t.Context(), 1))
		allow(ann, 1)
		_, _ = both(1).Allow(t.Context())
		requireEvents("a user bob allowed true", "a user bob refused true", "a user bob allowed true",
			"a user ann failed false", "a user ann failed false", "all users all failed false")
		require.ErrorIs(t, last, primitives.ErrUnavailable)
	})
}

// TestThrottledByAdmission: a tracer gets the decisions of an Admission's throttles. A caller that waits has one.
func TestThrottledByAdmission(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var events []string
		o := &primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			events = append(events, d.Object.Name+" "+d.Outcome())
		}}}
		e := entryOf(s.client(t, o))
		requireEvents := func(want ...string) {
			t.Helper()
			require.Equal(t, want, events)
			events = nil
		}
		first, second := e.admitted(t), e.admitted(t)
		requireEvents("user allowed", "all allowed", "user allowed", "all allowed")
		require.True(t, e.refused(t).Full)
		again := must(e.Acquire(first.Reenter(t.Context())))(t)
		requireEvents()
		require.NoError(t, errOf(e.rates[0].Allow(t.Context(), 2)))
		events = nil
		require.NotNil(t, e.refused(t).Throttle)
		requireEvents("user refused")
		for _, lease := range []*primitives.Lease{again, first, second} {
			require.NoError(t, lease.Release(t.Context()))
		}
		time.Sleep(350 * time.Millisecond) // One permit is free, and none is for the repeat.
		repeated, err := entryOf(s.over(t, repeating{s}, o)).Acquire(t.Context())
		require.NoError(t, err)
		requireEvents("user allowed", "all allowed")
		require.NoError(t, repeated.Release(t.Context()))
		s.faults(fault{err: primitives.ErrUnavailable})
		_, err = e.TryAcquire(t.Context())
		s.set(func() { s.fault = nil }) // The client releases a possible grant until it succeeds.
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		requireEvents("user failed", "all failed")
	})
}

// TestThrottledByRateLimiter: a tracer gets each decision of a rate limiter.
func TestThrottledByRateLimiter(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var events []string
		c := s.client(t, &primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			events = append(events, fmt.Sprint(d.Policy, " ", d.Object.Name, " ", d.Outcome(), " ", d.Local))
			require.Equal(t, d.Outcome() == "failed", d.Err != nil)
		}}})
		rate := primitives.Rate{Permits: 2, Interval: time.Minute}
		limiter := func(name, policy string) *primitives.RateLimiter {
			return c.NewRateLimiter(name, rate, &primitives.RateLimiterOptions{Unavailable: primitives.LocalShare(1), Policy: policy})
		}
		l := limiter("x", "all")
		require.NoError(t, allowed(l.Allow(t.Context(), 2)))
		require.ErrorIs(t, allowed(l.Allow(t.Context(), 1)), primitives.ErrNotAcquired)
		require.NoError(t, l.Wait(t.Context(), 2))
		require.ErrorIs(t, l.Wait(within(t, time.Second), 2), context.DeadlineExceeded)
		s.do("SET", "text", "another program's")
		require.ErrorIs(t, limiter("text", "a").Wait(t.Context(), 1), primitives.ErrConflict)
		s.faults(fault{err: primitives.ErrUnavailable})
		require.NoError(t, allowed(limiter("y", "a").Allow(t.Context(), 2)))
		require.ErrorIs(t, allowed(limiter("y", "a").Allow(t.Context(), 1)), primitives.ErrNotAcquired)
		require.Equal(t, []string{
			"all x allowed false", "all x refused false", "all x allowed false",
			"a text failed false", "a y allowed true", "a y refused true",
		}, events)
	})
}

// slotted is a server of a cluster: the keys of a call must share a slot.
type slotted struct{ *server }

func (s slotted) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	if err := backend.SameSlot(keys); err != nil {
		return backend.Reply{}, err
	}
	return s.server.Run(ctx, script, keys, args)
}

// TestThrottleStates: the states of many names are those that each has, in one call, in a cluster in one for each slot,
// all at once.
func TestThrottleStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cluster bool
		calls   int
	}{{false, 1}, {true, 4}} {
		tiered(t, false, func(t *testing.T, x *tiers) {
			if c.cluster {
				x.client = x.over(t, slotted{x.server}, nil)
			}
			var all []*primitives.Throttle
			var want []primitives.Decision
			for i := range 12 {
				one := x.client.NewThrottle(fmt.Sprintf("{%d}%d", i%4, i), primitives.Limit{Permits: 3 + i, Interval: time.Minute}, refuse)
				if i > 0 {
					require.True(t, must(one.Allow(t.Context(), i))(t).Allowed)
				}
				all = append(all, one)
			}
			for _, one := range all {
				want = append(want, must(one.State(t.Context()))(t))
			}
			x.faults(fault{after: time.Second})
			before, began := x.called("throttle_state"), time.Now()
			require.Equal(t, want, must(x.client.ThrottleStates(t.Context(), all...))(t))
			require.Equal(t, c.calls, x.called("throttle_state")-before)
			require.Equal(t, time.Second, time.Since(began))
		})
	}
}

func TestThrottleStatesFails(t *testing.T) {
	t.Parallel()
	tiered(t, false, func(t *testing.T, x *tiers) {
		require.Empty(t, must(x.client.ThrottleStates(t.Context()))(t))
		other := x.server.client(t, nil).NewThrottle("x", tierLimits[0], refuse)
		for _, second := range []*primitives.Throttle{nil, other, x.client.NewThrottle("x", primitives.Limit{}, refuse)} {
			require.ErrorAs(t, errOf(x.client.ThrottleStates(t.Context(), x.each[0], second)), new(*primitives.FieldError))
		}
		require.Zero(t, x.called("throttle_state"))
		x.do("SET", "tenant", "text")
		states, err := x.client.ThrottleStates(t.Context(), x.each...)
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, `query throttle "tenant": key is in use`)
		require.Nil(t, states)

		x.faults(fault{err: backend.ErrUnavailable})
		states, err = x.client.ThrottleStates(t.Context(), x.each...)
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		require.ErrorContains(t, err, `query throttles "user and 2 others"`)
		require.Nil(t, states)
	})
}

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
