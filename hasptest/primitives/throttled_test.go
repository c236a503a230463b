package primitives_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
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

// refuseLocally are the options of throttles that repeat refusals.
var refuseLocally = &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Minute, RefuseLocally: true}

// refusing runs a test of a throttle that repeats refusals, in virtual time.
func refusing(t *testing.T, limit primitives.Limit, run func(t *testing.T, x *throttle)) {
	t.Helper()
	throttled(t, limit, func(t *testing.T, x *throttle) {
		x.Throttle = x.client.NewThrottle("x", limit, refuseLocally)
		run(t, x)
	})
}

// TestLocalRefusalsAreTheServers: one client draws permits, limits, settlements and deletions. Each of its decisions equals
// the server's, also where the client decides alone.
func TestLocalRefusalsAreTheServers(t *testing.T) {
	const burst = 6
	refusing(t, primitives.Limit{Permits: 4, Interval: time.Second, Burst: burst}, func(t *testing.T, x *throttle) {
		var open []func()
		r, freeAt := rand.New(rand.NewPCG(46, 5)), time.Now() //nolint:gosec // It is no secret.
		other := &throttle{limit: primitives.Limit{Permits: 10, Interval: time.Second, Burst: burst}}
		other.Throttle = x.client.NewThrottle("x", other.limit, refuseLocally)
		for range 6000 {
			one, n := x, 1+r.IntN(burst)
			if r.IntN(20) == 0 {
				one = other
			}
			each := one.limit.Interval / time.Duration(one.limit.Permits)
			time.Sleep(time.Duration(max(0, r.IntN(400_000)-300_000)) * time.Microsecond)
			if r.IntN(100) == 0 {
				require.NoError(t, errOf(one.Delete(t.Context())))
				freeAt = time.Now()
			}
			used := max(0, time.Until(freeAt))
			retry := max(0, used-time.Duration(burst-n)*each)
			work, d, err := one.AllowEstimate(t.Context(), n)
			require.NoError(t, err)
			if retry == 0 {
				used += time.Duration(n) * each
			}
			require.Equal(t, retry == 0, d.Allowed)
			require.LessOrEqual(t, d.RetryAfter, retry) // Since a refusal that is repeated, others may have been granted.
			require.LessOrEqual(t, d.ResetAfter, used)
			freeAt = time.Now().Add(used)
			if work != nil && r.IntN(4) == 0 {
				granted, unused := time.Now(), r.IntN(n+1)
				open = append(open, func() {
					require.NoError(t, work.Settle(t.Context(), n-unused))
					freeAt = freeAt.Add(-max(0, time.Duration(unused)*each-time.Since(granted)))
				})
			}
			if len(open) > 0 && r.IntN(4) == 0 {
				open[0]()
				open = open[1:]
			}
		}
		require.Less(t, x.called("throttle_take"), 3000)
	})
}

// TestLocalRefusalEnds: another process's deletion is seen after a second; this client's own at once, even by a call
// whose refusal comes later.
func TestLocalRefusalEnds(t *testing.T) {
	refusing(t, primitives.Limit{Permits: 3, Interval: time.Hour}, func(t *testing.T, x *throttle) {
		x.allows(t, 3)
		require.Equal(t, 40*time.Minute, x.refuses(t, 2).RetryAfter)
		x.do("DEL", "x")
		time.Sleep(time.Second - 1)
		in := 40*time.Minute - time.Second + 1
		want := primitives.Decision{RetryAfter: in, NextAfter: in, ResetAfter: time.Hour - time.Second + 1}
		require.Equal(t, want, x.refuses(t, 2))
		want.RetryAfter += 20 * time.Minute
		want.NextAfter = want.RetryAfter
		require.Equal(t, want, x.refuses(t, 3))
		x.allows(t, 1) // Fewer permits: the server is asked.
		time.Sleep(time.Nanosecond)
		x.allows(t, 2)

		x.faultOf("throttle_take", fault{after: time.Millisecond})
		late := make(chan bool)
		go func() {
			d, err := x.Allow(t.Context(), 1)
			late <- d.Allowed || err != nil
		}()
		synctest.Wait() // The server has refused.
		require.NoError(t, errOf(x.Delete(t.Context())))
		require.False(t, <-late)
		x.allows(t, 1)
	})
}

// TestMultiThrottleRefusesLocally: while one of its throttles does, which another call may have found. What it gives back
// ends refusals.
func TestMultiThrottleRefusesLocally(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		tiered(t, steps, func(t *testing.T, x *tiers) {
			for i, one := range x.each {
				x.each[i] = x.client.NewThrottle(one.Name(), tierLimits[i], refuseLocally)
			}
			allow := func(user, tenant, all int) primitives.MultiDecision {
				return must(x.all(user, tenant, all).Allow(t.Context()))(t)
			}
			require.True(t, allow(1, 7, 1).Allowed)
			require.Same(t, x.each[1], allow(1, 1, 1).Throttle)
			sent := x.called("throttle_take")
			time.Sleep(42_858 * time.Microsecond)
			in := 100 * time.Millisecond
			want := primitives.Decision{RetryAfter: in, NextAfter: in, ResetAfter: 957_142 * time.Microsecond}
			d := allow(1, 1, 1)
			require.Equal(t, want, d.Decision)
			require.Same(t, x.each[1], d.Throttle)
			require.Equal(t, []primitives.Decision{{}, want, {}}, d.Each)
			one := must(x.each[1].Allow(t.Context(), 1))(t)
			require.Equal(t, want, one)
			require.Equal(t, sent, x.called("throttle_take"))
			time.Sleep(100 * time.Millisecond)
			require.True(t, allow(1, 1, 1).Allowed)

			// Two throttles refuse together: the decision names the one that is free later.
			time.Sleep(2 * time.Second)
			require.True(t, allow(5, 7, 1).Allowed)
			require.False(t, allow(5, 2, 1).Allowed)
			sent = x.called("throttle_take")
			require.Same(t, x.each[0], allow(5, 2, 1).Throttle)
			require.Equal(t, sent, x.called("throttle_take"))
			time.Sleep(time.Minute)
			x.faults(fault{err: backend.ErrUnavailable})
			require.ErrorIs(t, errOf(x.all(1, 1, 1).Allow(t.Context())), primitives.ErrUnavailable)
		})
	}
}

// TestMultiThrottleGivesBackLocally: a refusal for permits that a call in steps takes for a moment is not repeated.
func TestMultiThrottleGivesBackLocally(t *testing.T) {
	t.Parallel()
	tiered(t, true, func(t *testing.T, x *tiers) {
		for i, one := range x.each {
			x.each[i] = x.client.NewThrottle(one.Name(), tierLimits[i], refuseLocally)
		}
		require.NoError(t, errOf(x.each[1].Allow(t.Context(), 7)))
		x.faults(fault{before: time.Millisecond})
		both := make(chan bool)
		go func() {
			d, err := x.all(5, 1, 1).Allow(t.Context())
			both <- d.Allowed || err != nil
		}()
		time.Sleep(1500 * time.Microsecond)
		x.faults(fault{})
		d := must(x.each[0].Allow(t.Context(), 1))(t)
		require.False(t, d.Allowed)
		require.False(t, <-both)
		d = must(x.each[0].Allow(t.Context(), 1))(t)
		require.True(t, d.Allowed)
	})
}
