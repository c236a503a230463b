package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// requireThrottled requires that the decisions of throttles are these, and forgets what was recorded.
func (r *recorder) requireThrottled(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, data := range taken[trace.Throttled](r) {
		got = append(got, textOf(data))
	}
	require.Equal(t, want, got)
}

// TestThrottled: a tracer gets each decision by its throttle's policy.
func TestThrottled(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &recorder{}
		c := s.client(t, &primitives.Options{Tracer: r.tracer()})
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
		r.requireThrottled(t, "a user ann allowed", "a user ann refused", "a user ann refused")
		require.NoError(t, ann.Wait(t.Context(), 1))
		require.ErrorIs(t, ann.Wait(within(t, time.Second), 1), context.DeadlineExceeded)
		r.requireThrottled(t, "a user ann allowed")

		both := func(n int) *primitives.MultiThrottle {
			return primitives.NewMultiThrottle(nil, ann.Take(1), all.Take(n))
		}
		time.Sleep(2 * time.Minute)
		_, _ = both(1).Allow(t.Context())
		_, _ = both(3).Allow(t.Context())
		r.requireThrottled(t, "a user ann allowed", "all users all allowed", "all users all refused")
		require.NoError(t, both(3).Wait(t.Context()))
		_, _ = both(3).Allow(t.Context())
		_, _ = both(1).Allow(t.Context())
		r.requireThrottled(t, "a user ann allowed", "all users all allowed",
			"all users all refused", "all users all refused")

		s.do("SET", "text", "another program's")
		allow(throttle("text", "", 1, primitives.Admit()), 1)
		r.requireThrottled(t, " text failed Conflict")

		s.faults(fault{err: primitives.ErrUnavailable})
		local := throttle("bob", "a user", 1, primitives.LocalShare(1))
		allow(local, 1)
		allow(local, 1)
		require.NoError(t, local.Wait(t.Context(), 1))
		allow(ann, 1)
		_, _ = both(1).Allow(t.Context())
		r.requireThrottled(t, "a user bob allowed locally", "a user bob refused locally", "a user bob allowed locally",
			"a user ann failed Unavailable", "a user ann failed Unavailable", "all users all failed Unavailable")
	})
}

// TestThrottledByAdmission: a tracer gets the decisions of an Admission's throttles. A caller that waits has one.
func TestThrottledByAdmission(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &recorder{}
		o := &primitives.Options{Tracer: r.tracer()}
		e := entryOf(s.client(t, o))
		first, second := e.admitted(t), e.admitted(t)
		r.requireThrottled(t, " user allowed", " all allowed", " user allowed", " all allowed")
		require.True(t, e.refused(t).Full)
		again := must(e.Acquire(first.Reenter(t.Context())))(t)
		r.requireThrottled(t)
		require.NoError(t, errOf(e.rates[0].Allow(t.Context(), 2)))
		taken[any](r)
		require.NotNil(t, e.refused(t).Throttle)
		r.requireThrottled(t, " user refused")
		for _, lease := range []*primitives.Lease{again, first, second} {
			require.NoError(t, lease.Release(t.Context()))
		}
		time.Sleep(350 * time.Millisecond) // One permit is free, and none is for the repeat.
		repeated, err := entryOf(s.over(t, repeating{s}, o)).Acquire(t.Context())
		require.NoError(t, err)
		r.requireThrottled(t, " user allowed", " all allowed")
		require.NoError(t, repeated.Release(t.Context()))
		s.faults(fault{err: primitives.ErrUnavailable})
		_, err = e.TryAcquire(t.Context())
		s.set(func() { s.fault = nil }) // The client releases a possible grant until it succeeds.
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		r.requireThrottled(t, " user failed Unavailable", " all failed Unavailable")
	})
}

// TestThrottledByRateLimiter: a tracer gets each decision of a rate limiter.
func TestThrottledByRateLimiter(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &recorder{}
		c := s.client(t, &primitives.Options{Tracer: r.tracer()})
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
		r.requireThrottled(t, "all x allowed", "all x refused", "all x allowed",
			"a text failed Conflict", "a y allowed locally", "a y refused locally")
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
