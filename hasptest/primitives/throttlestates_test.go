package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

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
					d, err := one.Allow(t.Context(), i)
					require.NoError(t, err)
					require.True(t, d.Allowed)
				}
				all = append(all, one)
			}
			for _, one := range all {
				state, err := one.State(t.Context())
				require.NoError(t, err)
				want = append(want, state)
			}
			x.set(func() { x.fault = func(string) fault { return fault{after: time.Second} } })
			before, began := x.called("throttle_state"), time.Now()
			states, err := primitives.ThrottleStates(t.Context(), all...)
			require.NoError(t, err)
			require.Equal(t, want, states)
			require.Equal(t, c.calls, x.called("throttle_state")-before)
			require.Equal(t, time.Second, time.Since(began))
		})
	}
}

func TestThrottleStatesFails(t *testing.T) {
	t.Parallel()
	tiered(t, false, func(t *testing.T, x *tiers) {
		states, err := primitives.ThrottleStates(t.Context())
		require.NoError(t, err)
		require.Empty(t, states)
		other := x.server.client(t, nil).NewThrottle("x", tierLimits[0], refuse)
		for _, second := range []*primitives.Throttle{nil, other, x.client.NewThrottle("x", primitives.Limit{}, refuse)} {
			_, err := primitives.ThrottleStates(t.Context(), x.each[0], second)
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		require.Zero(t, x.called("throttle_state"))
		x.do("SET", "tenant", "text")
		states, err = primitives.ThrottleStates(t.Context(), x.each...)
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, `query throttle "tenant": key is in use`)
		require.Nil(t, states)

		x.set(func() { x.fault = func(string) fault { return fault{err: backend.ErrUnavailable} } })
		states, err = primitives.ThrottleStates(t.Context(), x.each...)
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		require.ErrorContains(t, err, `query throttles "user and 2 others"`)
		require.Nil(t, states)
	})
}
