package primitives_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// tiers are throttles of a user, of a tenant and of all, and their server.
type tiers struct {
	*server
	client *primitives.Client
	each   []*primitives.Throttle
	steps  bool
}

var tierLimits = []primitives.Limit{
	{Permits: 3, Interval: time.Second, Burst: 5}, {Permits: 7, Interval: time.Second, Burst: 7}, {Permits: 100, Interval: time.Second},
}

// tiered runs a test of three throttles in virtual time, which are asked at once or in steps.
func tiered(t *testing.T, steps bool, run func(t *testing.T, x *tiers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, nil)
		x := &tiers{server: s, client: c, steps: steps}
		for i, name := range []string{"user", "tenant", "all"} {
			x.each = append(x.each, c.NewThrottle(name, tierLimits[i], refuse))
		}
		run(t, x)
	})
}

// all returns the throttles as one.
func (x *tiers) all(user, tenant, all int) *primitives.MultiThrottle {
	return primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: x.steps},
		x.each[0].Take(user), x.each[1].Take(tenant), x.each[2].Take(all))
}

// states returns the throttles' states.
func (x *tiers) states(t *testing.T) []primitives.Decision {
	t.Helper()
	return must(x.client.ThrottleStates(t.Context(), x.each...))(t)
}

// TestMultiThrottleRefusesForAll: the throttle with the longest wait is named, and nothing is taken.
func TestMultiThrottleRefusesForAll(t *testing.T) {
	t.Parallel()
	tiered(t, false, func(t *testing.T, x *tiers) {
		d := must(x.all(1, 1, 90).Allow(t.Context()))(t)
		require.True(t, d.Allowed)
		require.Same(t, x.each[0], d.Throttle)
		require.Equal(t, []int{4, 6, 10}, []int{d.Each[0].Remaining, d.Each[1].Remaining, d.Each[2].Remaining})
		before := x.states(t)
		d = must(x.all(5, 7, 1).Allow(t.Context()))(t)
		require.Equal(t, primitives.Decision{Remaining: 4, RetryAfter: 333_334_000, NextAfter: 333_334_000, ResetAfter: 333_334_000}, d.Decision)
		require.Same(t, x.each[0], d.Throttle)
		require.Equal(t, 142_858*time.Microsecond, d.Each[1].RetryAfter)
		require.True(t, d.Each[2].Allowed)
		require.Equal(t, before, x.states(t))
		require.Equal(t, 2, x.called("throttle_take_all"))
	})
}

// exactThrottle is a throttle in whole numbers: what is owed, in microseconds by the permits of an interval.
type exactThrottle struct {
	limit primitives.Limit
	owed  int64
	at    time.Time
}

// after returns what is owed after n more permits, and by how much that is too much.
func (m *exactThrottle) after(n int) (owed, over int64) {
	passed := time.Since(m.at).Microseconds() * int64(m.limit.Permits)
	interval := m.limit.Interval.Microseconds()
	owed = max(0, m.owed-passed) + int64(n)*interval
	return owed, owed - int64(m.limit.Burst)*interval
}

func (m *exactThrottle) take(n int) {
	m.owed, _ = m.after(n)
	m.at = time.Now()
}

// decision returns what the throttle says of n permits, that are taken or not.
func (m *exactThrottle) decision(n int, taken bool) primitives.Decision {
	micros := func(owed int64) time.Duration {
		permits := int64(m.limit.Permits)
		return time.Duration((owed+permits-1)/permits) * time.Microsecond
	}
	_, over := m.after(n)
	if taken {
		m.take(n)
	}
	owed, left := m.after(0)
	_, next := m.after(n)
	return primitives.Decision{
		Allowed: over <= 0, Remaining: int(-left / m.limit.Interval.Microseconds()),
		RetryAfter: micros(max(0, over)), NextAfter: micros(max(0, next)), ResetAfter: micros(owed),
	}
}

// requireDecisions compares decisions. The client rounds NextAfter a second time, up.
func requireDecisions(t *testing.T, want []primitives.Decision, got ...primitives.Decision) {
	t.Helper()
	for i, d := range got {
		if want[i].Allowed && want[i].NextAfter > 0 && d.NextAfter == want[i].NextAfter+time.Microsecond {
			want[i].NextAfter = d.NextAfter
		}
	}
	require.Equal(t, want, got)
}

// TestMultiThrottleIsExact: at random times callers take random numbers of permits of one throttle or of all, in one
// call or in steps. Each decision is the model's, and a refusal takes nothing.
func TestMultiThrottleIsExact(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		tiered(t, steps, func(t *testing.T, x *tiers) {
			r := rand.New(rand.NewPCG(46, 2)) //nolint:gosec // It is no secret.
			var models []*exactThrottle
			for _, limit := range tierLimits {
				limit.Burst = cmp.Or(limit.Burst, limit.Permits)
				models = append(models, &exactThrottle{limit: limit, at: time.Now()})
			}
			granted := 0
			for range 2000 {
				time.Sleep(time.Duration(r.IntN(500_000)) * time.Microsecond)
				if i := r.IntN(6); i < 3 {
					n := 1 + r.IntN(models[i].limit.Burst)
					_, over := models[i].after(n)
					d := must(x.each[i].Allow(t.Context(), n))(t)
					requireDecisions(t, []primitives.Decision{models[i].decision(n, over <= 0)}, d)
					continue
				}
				takes := []int{1 + r.IntN(5), 1 + r.IntN(7), 1 + r.IntN(100)}
				if x.allowsAsModels(t, takes, models) {
					granted++
				}
			}
			require.Greater(t, granted, 100)
			require.Less(t, granted, 900)
		})
	}
}

// allowsAsModels takes permits of all throttles, and compares.
func (x *tiers) allowsAsModels(t *testing.T, takes []int, models []*exactThrottle) bool {
	t.Helper()
	want, all := make([]primitives.Decision, 3), true
	for i, m := range models {
		_, over := m.after(takes[i])
		all = all && over <= 0
	}
	for i, m := range models {
		want[i] = m.decision(takes[i], all)
	}
	d := must(x.all(takes[0], takes[1], takes[2]).Allow(t.Context()))(t)
	require.Equal(t, all, d.Allowed)
	if all || !x.steps {
		requireDecisions(t, want, d.Each...)
	}
	if !all {
		for i, state := range x.states(t) {
			require.Equal(t, want[i].ResetAfter, state.ResetAfter)
			require.Equal(t, want[i].Remaining, state.Remaining)
		}
	}
	return all
}

// TestMultiThrottleInSteps: a refusal gives back, but for what the rate has freed in between; what cannot be given back
// stays in use.
func TestMultiThrottleInSteps(t *testing.T) {
	t.Parallel()
	tiered(t, true, func(t *testing.T, x *tiers) {
		require.NoError(t, errOf(x.each[2].Allow(t.Context(), 100)))
		d := must(x.all(5, 7, 50).Allow(t.Context()))(t)
		require.False(t, d.Allowed)
		require.Same(t, x.each[2], d.Throttle)
		require.Equal(t, 5, d.Each[0].Remaining)
		require.Equal(t, []string{"0"}, x.do("EXISTS", "user"))
		require.Equal(t, []int{3, 2}, []int{x.called("throttle_take_all"), x.called("throttle_return")})

		x.faults(fault{after: 50 * time.Millisecond})
		require.NoError(t, errOf(x.each[0].Allow(t.Context(), 1)))
		d, err := x.all(3, 1, 100).Allow(t.Context()) // Its third answer comes 150 ms after the first grant.
		require.NoError(t, err)
		require.False(t, d.Allowed)
		x.faults(fault{})
		// The 150 ms that the rate has freed until the return stay in use, with a permit of 333 ms, and 250 ms have passed.
		require.Equal(t, 183_334*time.Microsecond, x.states(t)[0].ResetAfter)

		x.faultOf("throttle_return", down)
		time.Sleep(time.Minute)
		require.NoError(t, errOf(x.each[1].Allow(t.Context(), 7)))
		d = must(x.all(2, 7, 1).Allow(t.Context()))(t)
		require.False(t, d.Allowed)
		states := x.states(t)
		require.Equal(t, []int{3, 0, 100}, []int{states[0].Remaining, states[1].Remaining, states[2].Remaining})
	})
}

// TestMultiThrottleWithoutAnAnswer: an error of a later slot gives back the grants of earlier ones, though ctx has ended.
func TestMultiThrottleWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, failure := range []fault{{err: backend.ErrUnavailable}, {broken: true}} {
		tiered(t, true, func(t *testing.T, x *tiers) {
			takes := 0
			ctx, end := context.WithCancel(t.Context())
			x.set(func() {
				x.fault = func(script string) fault {
					if script == "throttle_take_all" {
						takes++
					}
					if script != "throttle_take_all" || takes != 2 {
						return fault{}
					}
					end()
					return failure
				}
			})
			require.Equal(t, failure.broken, errors.Is(errOf(x.all(1, 1, 1).Allow(ctx)), primitives.ErrIndeterminate))
			synctest.Wait() // What the server executes without an answer is executed.
			states := x.states(t)
			require.Equal(t, []any{5, failure.broken, 100}, []any{states[0].Remaining, states[1].Remaining == 6, states[2].Remaining})
		})
	}
}

// TestMultiThrottleWaitersGoOnInOrder: each when all throttles have its permits, by one command.
func TestMultiThrottleWaitersGoOnInOrder(t *testing.T) {
	t.Parallel()
	tiered(t, false, func(t *testing.T, x *tiers) {
		all, begin, granted := x.all(1, 1, 25), time.Now(), make(chan int, 30)
		for range 4 {
			require.NoError(t, all.Wait(t.Context()))
		}
		for i := range 30 {
			go func() {
				if all.Wait(t.Context()) == nil {
					granted <- i
				}
			}()
			synctest.Wait()
		}
		for i := range 30 {
			require.Equal(t, i, <-granted)
			third := time.Duration(i) * time.Second / 3
			require.InDelta(t, max(third, time.Duration(i+1)*250*time.Millisecond), time.Since(begin), float64(2*time.Microsecond), "waiter %d", i)
		}
		require.Equal(t, 4+1+30, x.called("throttle_take_all"))
		ctx := within(t, time.Millisecond)
		require.EqualError(t, all.Wait(ctx), `acquire multi throttle "user, tenant, all": too few permits: context deadline exceeded`)
	})
}

// TestMultiThrottleErrors: takes that cannot be taken together send nothing; of a key of another program, and of keys of
// several slots, the error says which and what to do.
func TestMultiThrottleErrors(t *testing.T) {
	t.Parallel()
	tiered(t, false, func(t *testing.T, x *tiers) {
		user, other := x.each[0], x.server.client(t, nil)
		for says, takes := range map[string][]primitives.Take{
			"takes: the throttle of number 2 is nil": {user.Take(1), {}},
			`takes: two have the key "user"`:         {user.Take(1), x.client.NewThrottle("user", tierLimits[1], refuse).Take(1)},
			`takes: "x" is of another client`:        {user.Take(1), other.NewThrottle("x", tierLimits[0], refuse).Take(1)},
			`takes: "x" has other options than the first`: {
				user.Take(1), x.client.NewThrottle("x", tierLimits[0], &primitives.ThrottleOptions{Unavailable: primitives.Admit()}).Take(1),
			},
		} {
			_, err := primitives.NewMultiThrottle(nil, takes...).Allow(t.Context())
			require.EqualError(t, err, "acquire multi throttle: "+says)
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		require.ErrorIs(t, x.all(6, 1, 1).Wait(t.Context()), primitives.ErrAboveRate)
		require.Zero(t, x.called("throttle_take_all"))
		x.do("SET", "tenant", "text")
		_, err := x.all(1, 1, 1).Allow(t.Context())
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, `acquire multi throttle "user, tenant, all": acquire throttle "tenant": key is in use`)
		require.Equal(t, []string{"0"}, x.do("EXISTS", "user"))
	})
	tiered(t, true, func(t *testing.T, x *tiers) {
		x.faults(fault{err: backend.ErrCrossSlot})
		_, err := primitives.NewMultiThrottle(nil, x.each[0].Take(1), x.each[1].Take(1)).Allow(t.Context())
		require.ErrorIs(t, err, backend.ErrCrossSlot)
		require.ErrorContains(t, err, fmt.Sprintf("%v: give the names one hash tag, or set MultiThrottleOptions.Steps", backend.ErrCrossSlot))
	})
}
