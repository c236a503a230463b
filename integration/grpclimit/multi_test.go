package grpclimit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/grpclimit"
	"github.com/hasp-go/hasp/primitives"
)

// perUser and forAll are two limits of which a Report costs nothing for all, and a user is known by a context.
var (
	perUser = grpclimit.Policy{Name: "user", Limit: twoAMinute, Key: byUser}
	forAll  = grpclimit.Policy{Name: "all", Limit: primitives.Limit{Permits: 3, Interval: time.Hour}, Cost: costOfAll}
)

func costOfAll(_ context.Context, method string) int {
	return map[string]int{"/s/m": 1, "/s/Many": 4}[method]
}

// TestSeveralLimits: a refusal takes nothing from any, and names the policy that refuses for the longest time.
func TestSeveralLimits(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client, failed := hasptest.New(t).Client(nil), error(nil)
			l, err := grpclimit.NewMultiThrottle(client, &grpclimit.MultiThrottleOptions{Steps: steps, Options: grpclimit.Options{
				Unavailable: primitives.Refuse(), OnError: func(_ context.Context, _ string, err error) { failed = err },
			}}, perUser, forAll)
			require.NoError(t, err)
			as := func(user, method string) error {
				return call(context.WithValue(t.Context(), userKey{}, user), l, method)
			}
			requireRefusedBy := func(err error, policy string, delay time.Duration) {
				t.Helper()
				requireRefused(t, err, delay)
				require.Equal(t, `limit "`+policy+`": too few permits`, status.Convert(err).Message())
			}
			for range 2 {
				require.NoError(t, as("ann", "/s/m"))
			}
			for range 3 {
				requireRefusedBy(as("ann", "/s/m"), "user", 30*time.Second)
			}
			require.NoError(t, as("bob", "/s/m"), "ann's refusals have taken no permits for all")
			requireRefusedBy(as("bob", "/s/m"), "all", 20*time.Minute)
			require.NoError(t, as("bob", "/s/Report"), "and bob's none of his own")
			requireRefusedBy(as("bob", "/s/Report"), "user", 30*time.Second)

			err = as("eve", "/s/Many")
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.Equal(t, `limit "user, all": the call costs more than the burst`, status.Convert(err).Message())
			require.ErrorIs(t, failed, primitives.ErrAboveRate)
		})
	}
}

// TestPoliciesThatShareAThrottle are refused.
func TestPoliciesThatShareAThrottle(t *testing.T) {
	t.Parallel()
	client, ofAKey := hasptest.New(t).Client(nil), forAll
	ofAKey.Name = "user:ann"
	for _, policies := range [][]grpclimit.Policy{nil, {forAll, forAll}, {perUser, ofAKey}, {ofAKey, perUser}} {
		_, err := grpclimit.NewMultiThrottle(client, &grpclimit.MultiThrottleOptions{Options: grpclimit.Options{Unavailable: primitives.Refuse()}}, policies...)
		var invalid *primitives.FieldError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, map[bool]string{true: "policies", false: "name"}[policies == nil], invalid.Field)
	}
}

// TestSteps: with Steps a call asks for each limit by itself, as a cluster needs it.
func TestSteps(t *testing.T) {
	t.Parallel()
	for steps, requests := range map[bool]time.Duration{false: 1, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := hasptest.New(t)
			l, err := grpclimit.NewMultiThrottle(s.Client(nil), &grpclimit.MultiThrottleOptions{Options: grpclimit.Options{Unavailable: primitives.Refuse()}, Steps: steps}, perUser, forAll)
			require.NoError(t, err)
			s.SetLatency(time.Millisecond)
			begin := time.Now()
			require.NoError(t, call(context.WithValue(t.Context(), userKey{}, "ann"), l, "/s/m"))
			require.Equal(t, requests*time.Millisecond, time.Since(begin))
		})
	}
}
