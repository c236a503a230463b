package httplimit_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// perUser and forAll are the policies of most tests. A request costs as much of the first as its field User is longer
// than a character, and 1 of the second, or 4 if the field has a +.
var (
	perUser = httplimit.Policy{
		Name: "user", Limit: primitives.Limit{Permits: 2, Interval: time.Minute}, Key: byUser,
		Cost: func(r *http.Request) int { return len(r.Header.Get("User")) - 1 },
	}
	forAll = httplimit.Policy{
		Name: "all", Limit: primitives.Limit{Permits: 4, Interval: time.Hour, Burst: 3},
		Cost: func(r *http.Request) int { return 1 + 3*strings.Count(r.Header.Get("User"), "+") },
	}
)

// refusals is what an OnRefused got.
type refusals []string

// several returns the two policies, before ok. Without options it refuses requests while the server is away.
func several(t *testing.T, c *primitives.Client, steps bool, opts httplimit.Options) (http.Handler, *refusals) {
	t.Helper()
	var got refusals
	opts.OnRefused = func(_ *http.Request, policy string, in time.Duration) { got = append(got, fmt.Sprint(policy, in)) }
	if opts.Unavailable == (primitives.Fallback{}) {
		opts.Unavailable = primitives.Refuse()
	}
	l, err := httplimit.NewMultiThrottle(c, &httplimit.MultiThrottleOptions{Options: opts, Steps: steps}, perUser, forAll)
	require.NoError(t, err)
	return l.Handler(ok), &got
}

// requireViolated compares the policies of a refusal's problem.
func requireViolated(t *testing.T, r *http.Response, want ...string) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	var body struct {
		Violated []string `json:"violated-policies"`
	}
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	require.Equal(t, want, body.Violated)
}

// TestSeveralPolicies: a refusal takes nothing, and both policies are in the fields. With Steps the result is the same.
func TestSeveralPolicies(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, refused := several(t, hasptest.New(t).Client(nil), steps, httplimit.Options{})
			first := ask(t.Context(), h, "ab")
			requireField(t, first, "RateLimit-Policy", `"user";q=2;w=60`, `"all";q=4;w=3600`)
			requireState(t, first, http.StatusNoContent, `"user";r=1`, `"all";r=2`)
			requireState(t, ask(t.Context(), h, "ab"), http.StatusNoContent, `"user";r=0;t=30`, `"all";r=1`)

			byUser := ask(t.Context(), h, "ab")
			requireField(t, byUser, "Retry-After", "30")
			requireViolated(t, byUser, "user")
			requireState(t, ask(t.Context(), h, "cd"), http.StatusNoContent, `"user";r=1`, `"all";r=0;t=900`)
			byAll := ask(t.Context(), h, "ef")
			requireState(t, byAll, http.StatusTooManyRequests, `"user";r=2`, `"all";r=0;t=900`)
			requireField(t, byAll, "Retry-After", "900")
			requireViolated(t, byAll, "all")
			require.Equal(t, refusals{"user30s", "all15m0s"}, *refused)
		})
	}
}

// TestDecisionsHaveThePolicy: metrics count by it, and not by the keys.
func TestDecisionsHaveThePolicy(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var decisions []string
		c := s.Client(&primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			decisions = append(decisions, d.Policy+" "+d.Outcome())
		}}})
		h, _ := several(t, c, false, httplimit.Options{})
		for _, user := range []string{"abc", "abc", "a"} {
			ask(t.Context(), h, user)
		}
		ask(t.Context(), newHandler(t, c, httplimit.Options{}), "abc")
		require.Equal(t, []string{"user allowed", "all allowed", "user refused", "all allowed", "api allowed"}, decisions)
	})
}

// TestBothRefuse: the problem begins with the policy that refuses for the longest time. With Steps the second server is
// not asked, so its policy has no state.
func TestBothRefuse(t *testing.T) {
	t.Parallel()
	for _, steps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, refused := several(t, hasptest.New(t).Client(nil), steps, httplimit.Options{})
			ask(t.Context(), h, "abc")
			ask(t.Context(), h, "bcd")
			ask(t.Context(), h, "cd")
			r := ask(t.Context(), h, "abc")
			if steps {
				requireField(t, r, "RateLimit", `"user";r=0;t=60`)
				requireViolated(t, r, "user")
				require.Equal(t, refusals{"user1m0s"}, *refused)
				return
			}
			requireField(t, r, "RateLimit", `"user";r=0;t=60`, `"all";r=0;t=900`)
			requireViolated(t, r, "all", "user")
			require.Equal(t, refusals{"all15m0s"}, *refused)
		})
	}
}

// TestCostsOfPolicies: a policy of which a request costs nothing is left out, and one of which it costs too much refuses.
func TestCostsOfPolicies(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var failures recorder
		h, refused := several(t, s.Client(nil), false, httplimit.Options{OnError: failures.record})
		free := ask(t.Context(), h, "a")
		requireField(t, free, "RateLimit-Policy", `"user";q=2;w=60`, `"all";q=4;w=3600`)
		requireState(t, free, http.StatusNoContent, `"all";r=2`)
		requireState(t, ask(t.Context(), h, "abc"), http.StatusNoContent, `"user";r=0;t=60`, `"all";r=1`)

		tooMuch := ask(t.Context(), h, "abcd")
		requireField(t, tooMuch, "Retry-After")
		requireField(t, tooMuch, "RateLimit")
		requireViolated(t, tooMuch, "user")
		requireViolated(t, ask(t.Context(), h, "a+"), "all")
		requireViolated(t, ask(t.Context(), h, "+++++"), "user", "all")
		require.Empty(t, *refused)
		require.Len(t, failures.errs, 3)
		require.ErrorIs(t, failures.errs[1], primitives.ErrAboveRate)
	})
}

// TestSeveralWithoutServer: a local share takes of all or none, too, and only a refusal has a state.
func TestSeveralWithoutServer(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h, refused := several(t, s.Client(nil), false, httplimit.Options{Unavailable: primitives.LocalShare(1)})
		shadow, counted := several(t, s.Client(nil), false, httplimit.Options{Unavailable: primitives.LocalShare(1), Shadow: true})
		s.Away(time.Hour)
		requireState(t, ask(t.Context(), h, "abc"), http.StatusNoContent)
		requireState(t, ask(t.Context(), h, "abc"), http.StatusTooManyRequests, `"user";r=0;t=60`)
		requireState(t, ask(t.Context(), h, "bcd"), http.StatusNoContent)
		requireState(t, ask(t.Context(), h, "cd"), http.StatusNoContent)
		requireViolated(t, ask(t.Context(), h, "ef"), "all")
		require.Equal(t, refusals{"user1m0s", "all15m0s"}, *refused)
		for range 2 {
			requireState(t, ask(t.Context(), shadow, "abc"), http.StatusNoContent)
		}
		require.Equal(t, refusals{"user1m0s"}, *counted)
	})
}

func TestNewMultiThrottleRefuses(t *testing.T) {
	t.Parallel()
	client := hasptest.New(t).Client(nil)
	for field, policies := range map[string][]httplimit.Policy{
		"policies":      nil,
		"name":          {perUser, {Name: "é", Limit: forAll.Limit}},
		"Limit.Permits": {perUser, {Name: "all"}},
	} {
		requireInvalid(t, client, field, policies)
	}
	requireInvalid(t, client, "name", []httplimit.Policy{perUser, forAll, perUser})
	// A client that calls itself all would share the permits of all.
	requireInvalid(t, client, "name", []httplimit.Policy{perUser, {Name: "user:all", Limit: forAll.Limit}})
	_, err := httplimit.NewMultiThrottle(client, &httplimit.MultiThrottleOptions{Options: httplimit.Options{Unavailable: primitives.Refuse()}},
		forAll, httplimit.Policy{Name: "all:user", Limit: forAll.Limit}, httplimit.Policy{Name: "all:user:a", Limit: forAll.Limit, Key: byUser})
	require.NoError(t, err)
}

// requireInvalid expects that policies are refused for a field.
func requireInvalid(t *testing.T, c *primitives.Client, field string, policies []httplimit.Policy) {
	t.Helper()
	limit, err := httplimit.NewMultiThrottle(c, &httplimit.MultiThrottleOptions{Options: httplimit.Options{Unavailable: primitives.Refuse()}}, policies...)
	var invalid *primitives.FieldError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, field, invalid.Field)
	require.Nil(t, limit)
}
