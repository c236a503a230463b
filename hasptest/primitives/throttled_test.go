package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestThrottled: a tracer gets each decision by its throttle's policy.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
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

		ann, all := throttle("ann", "a user", 2, primitives.Refuse), throttle("all", "all users", 3, primitives.Refuse)
		allow(ann, 2)
		allow(ann, 1)
		_, _, _ = ann.Reserve(t.Context(), 2)
		allow(ann, 3)
		requireEvents("a user ann allowed false", "a user ann refused false", "a user ann refused false")
		require.NoError(t, ann.Wait(t.Context(), 1))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, ann.Wait(short, 1), context.DeadlineExceeded)
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
		allow(throttle("text", "", 1, primitives.Admit), 1)
		requireEvents(" text failed false")
		require.ErrorIs(t, last, primitives.ErrConflict)

		s.set(func() { s.fault = func(string) fault { return fault{err: primitives.ErrUnavailable} } })
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
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
		again, err := e.Acquire(first.Reenter(t.Context()))
		require.NoError(t, err)
		requireEvents()
		_, err = e.rates[0].Allow(t.Context(), 2)
		require.NoError(t, err)
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
		s.set(func() { s.fault = func(string) fault { return fault{err: primitives.ErrUnavailable} } })
		_, err = e.TryAcquire(t.Context())
		s.set(func() { s.fault = nil }) // The client releases a possible grant until it succeeds.
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		requireEvents("user failed", "all failed")
	})
}
