package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

// newLimit makes a limit of the options.
type newLimit func(c *primitives.Client, o *httplimit.Options) (*httplimit.Limit, error)

// rated is a limit called api, by a RateLimiter of so many permits a minute.
func rated(permits int) newLimit {
	return func(c *primitives.Client, o *httplimit.Options) (*httplimit.Limit, error) {
		return httplimit.NewRateLimiter(c, "api", primitives.Rate{Permits: permits, Interval: time.Minute}, o)
	}
}

// throttled is one by a Throttle.
func throttled(limit primitives.Limit) newLimit {
	return func(c *primitives.Client, o *httplimit.Options) (*httplimit.Limit, error) {
		return httplimit.NewThrottle(c, "api", limit, o)
	}
}

// several are the policies perUser and forAll.
func several(steps bool) newLimit {
	return func(c *primitives.Client, o *httplimit.Options) (*httplimit.Limit, error) {
		return httplimit.NewMultiThrottle(c, &httplimit.MultiThrottleOptions{Options: *o, Steps: steps}, perUser, forAll)
	}
}

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

// byUser is a Key.
func byUser(r *http.Request) string { return r.Header.Get("User") }

// ok is the handler that is limited.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// ask returns the response to a request of a user.
func ask(ctx context.Context, h http.Handler, user string) *http.Response {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	r.Header.Set("User", user)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// teller plays stories.
type teller struct {
	*testing.T
	*hasptest.Server
	client   *primitives.Client
	policies string   // of the last response
	notes    []string // what OnRefused and OnError have got since
}

// telling runs a test in virtual time, on a server of its own.
func telling(t *testing.T, test func(t *teller)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		test(&teller{T: t, Server: s, client: s.Client(nil)})
	})
}

// limit puts a limit before next. Without options it refuses requests while the server is away.
func (t *teller) limit(limit newLimit, o httplimit.Options, next http.Handler) http.Handler {
	t.Helper()
	if o.Unavailable == (primitives.Fallback{}) {
		o.Unavailable = primitives.Refuse()
	}
	o.OnRefused = func(_ *http.Request, policy string, in time.Duration) {
		t.notes = append(t.notes, fmt.Sprint(policy, in))
	}
	o.OnError = func(_ *http.Request, err error) {
		for word, is := range map[string]error{
			"unavailable": primitives.ErrUnavailable, "unknown": primitives.ErrIndeterminate,
			"conflict": primitives.ErrConflict, "above": primitives.ErrAboveRate,
		} {
			if errors.Is(err, is) {
				t.notes = append(t.notes, word)
			}
		}
	}
	l, err := limit(t.client, &o)
	require.NoError(t, err)
	return l.Handler(next)
}

// requireStory plays a story: each line is a step, and for the request of a user, after a colon, what comes of it. That
// is the status, RateLimit, Retry-After, the violated policies, what OnRefused and OnError get, and RateLimit-Policy if
// it is another one than before.
func (t *teller) requireStory(h http.Handler, want string) {
	t.Helper()
	var played []string
	for line := range strings.Lines(strings.TrimSpace(want)) {
		step, _, isRequest := strings.Cut(strings.TrimSpace(line), ": ")
		if isRequest {
			step += t.seen(ask(t.Context(), h, step))
		} else {
			t.do(strings.Fields(step))
		}
		synctest.Wait()
		played = append(played, step)
	}
	require.Equal(t, strings.TrimSpace(want), strings.Join(played, "\n"))
}

func (t *teller) do(words []string) {
	t.Helper()
	last := words[len(words)-1]
	d, notATime := time.ParseDuration(last)
	switch {
	case words[0] == "away":
		t.Away(d)
	case notATime == nil:
		time.Sleep(d)
	case words[0] == "lose":
		t.Lose(last)
	case words[0] == "unanswered":
		t.LoseAnswers(1)
	default:
		_, err := t.Embedded().Do(words...)
		require.NoError(t, err)
	}
}

func (t *teller) seen(r *http.Response) string {
	t.Helper()
	text := fmt.Sprint(": ", r.StatusCode)
	add := func(before string, words ...string) {
		if len(words) > 0 {
			text += before + strings.Join(words, ",")
		}
	}
	add(" ", r.Header.Values("RateLimit")...)
	add(" after ", r.Header.Values("Retry-After")...)
	if r.StatusCode >= http.StatusBadRequest {
		require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
		var body struct {
			Type, Title string
			Status      int
			Violated    []string `json:"violated-policies"`
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		require.Equal(t, r.StatusCode, body.Status)
		if r.StatusCode == http.StatusTooManyRequests { // As the draft has it.
			require.Equal(t, "https://iana.org/assignments/http-problem-types#quota-exceeded", body.Type)
			require.Equal(t, "Request cannot be satisfied as assigned quota has been exceeded", body.Title)
		}
		add(" by ", body.Violated...)
	}
	add(" noted ", t.notes...)
	t.notes = nil
	if policies := strings.Join(r.Header.Values("RateLimit-Policy"), ","); policies != t.policies {
		t.policies = policies
		add(" of ", policies)
	}
	return text
}

// costs has a request take what it costs, and one that costs more than there ever is refused.
const costs = `
2: 204 "api";r=1;t=%[1]d of "api";q=3;w=60
2: 429 "api";r=1;t=%[1]d after %[1]d by api noted api%[2]s
0: 204
-1: 204
1: 204 "api";r=0;t=%[1]d
4: 429 by api noted above
`

// bothPolicies has refusals that take nothing, and both policies in the fields. Ann's second request costs nothing of
// her own permits, and the costs of the last ones are more than there ever is.
const bothPolicies = `
ab: 204 "user";r=1,"all";r=2 of "user";q=2;w=60,"all";q=4;w=3600
ab: 204 "user";r=0;t=30,"all";r=1
ab: 429 "user";r=0;t=30%s after 30 by user noted user30s
cd: 204 "user";r=1,"all";r=0;t=900
ef: 429 "user";r=2,"all";r=0;t=900 after 900 by all noted all15m0s
abcd: 429 by user noted above
a+: 429 by all noted above
+++++: 429 by user,all noted above
`

// TestStories has limits of each kind, and their options.
func TestStories(t *testing.T) {
	t.Parallel()
	twoOfThree := primitives.Limit{Permits: 3, Interval: time.Minute, Burst: 2}
	twoOfASecond := primitives.Limit{Permits: 3, Interval: time.Second, Burst: 2}
	share := httplimit.Options{Unavailable: primitives.LocalShare(1)}
	counted := httplimit.Options{Unavailable: primitives.Admit(), Cost: func(r *http.Request) int {
		cost, _ := strconv.Atoi(byUser(r))
		return cost
	}}
	for name, c := range map[string]struct {
		limit newLimit
		opts  httplimit.Options
		story string
	}{
		"AdmitsAndRefuses": {rated(2), httplimit.Options{Key: byUser}, `
			ann: 204 "api";r=1 of "api";q=2;w=60
			9.5s
			ann: 204 "api";r=0;t=51
			500ms
			ann: 429 "api";r=0;t=50 after 50 by api noted api50s
			bob: 204 "api";r=1
			50s
			ann: 204 "api";r=0;t=10`},
		"Throttle": {throttled(twoOfThree), httplimit.Options{Key: byUser}, `
			ann: 204 "api";r=1 of "api";q=3;w=60
			4.5s
			ann: 204 "api";r=0;t=16
			ann: 429 "api";r=0;t=16 after 16 by api noted api15.5s
			bob: 204 "api";r=1
			15.5s
			ann: 204 "api";r=0;t=20`},
		"ThrottleOfAThird": {throttled(twoOfASecond), httplimit.Options{}, `
			ann: 204 "api";r=1 of "api";q=3;w=1
			bob: 204 "api";r=0;t=1`},
		"CostOfARateLimiter": {rated(3), counted, fmt.Sprintf(costs, 60, "1m0s")},
		"CostOfAThrottle":    {throttled(burstOfThree), counted, fmt.Sprintf(costs, 20, "20s")},
		"Shadow": {throttled(burstOfThree), httplimit.Options{Shadow: true}, `
			ann: 204
			ann: 204
			ann: 204
			ann: 204 noted api20s
			away 1s
			ann: 204 noted unavailable`},
		"AdmitsWithoutServer": {rated(1), httplimit.Options{Unavailable: primitives.Admit()}, `
			away 3s
			ann: 204 of "api";q=1;w=60
			ann: 204
			4s
			ann: 204
			ann: 204 "api";r=0;t=60`},
		"RefusesWithoutServer": {rated(2), httplimit.Options{}, `
			away 3s
			ann: 503 after 1 noted unavailable of "api";q=2;w=60
			4s
			ann: 503 after 1 noted unavailable
			ann: 204 "api";r=1`},
		"LimitsLocallyWithoutServer": {rated(2), httplimit.Options{Key: byUser, Unavailable: primitives.LocalShare(0.5)}, `
			away 1h
			ann: 204 of "api";q=2;w=60
			20s
			ann: 429 "api";r=0;t=40 after 40 by api noted api40s
			bob: 204
			40s
			ann: 204`},
		"LostAnswerMayUseAPermit": {rated(2), httplimit.Options{}, `
			unanswered
			ann: 503 after 1 noted unknown of "api";q=2;w=60
			ann: 204 "api";r=0;t=60
			ann: 429 "api";r=0;t=60 after 60 by api noted api1m0s`},
		"LostLimiter": {rated(2), httplimit.Options{Key: byUser}, `
			ann: 204 "api";r=1 of "api";q=2;w=60
			lose api:ann
			ann: 204 "api";r=0;t=60
			lose api:ann
			ann: 429 "api";r=0;t=60 after 60 by api noted api1m0s
			1m
			ann: 204 "api";r=1`},
		"Conflict": {rated(2), httplimit.Options{Key: byUser}, `
			SET api:ann text
			ann: 503 after 1 noted conflict of "api";q=2;w=60`},
		"Policies":        {several(false), httplimit.Options{}, fmt.Sprintf(bothPolicies, `,"all";r=1`)},
		"PoliciesInSteps": {several(true), httplimit.Options{}, fmt.Sprintf(bothPolicies, "")},
		"FreeOfOnePolicy": {several(false), httplimit.Options{}, `
			a: 204 "all";r=2 of "user";q=2;w=60,"all";q=4;w=3600
			abc: 204 "user";r=0;t=60,"all";r=1`},
		"BothRefuse": {several(false), httplimit.Options{}, `
			abc: 204 "user";r=0;t=60,"all";r=2 of "user";q=2;w=60,"all";q=4;w=3600
			bcd: 204 "user";r=0;t=60,"all";r=1
			cd: 204 "user";r=1,"all";r=0;t=900
			abc: 429 "user";r=0;t=60,"all";r=0;t=900 after 900 by all,user noted all15m0s`},
		"PoliciesWithoutServer": {several(false), share, `
			away 1h
			abc: 204 of "user";q=2;w=60,"all";q=4;w=3600
			abc: 429 "user";r=0;t=60 after 60 by user noted user1m0s
			bcd: 204
			cd: 204
			ef: 429 "all";r=0;t=900 after 900 by all noted all15m0s`},
	} {
		t.Run(name, func(t *testing.T) {
			telling(t, func(t *teller) {
				t.requireStory(t.limit(c.limit, c.opts, ok), strings.ReplaceAll(c.story, "\t", ""))
			})
		})
	}
}

// TestNestedLimits: a request has the fields of both, and names are escaped in them.
func TestNestedLimits(t *testing.T) {
	telling(t, func(t *teller) {
		of := func(name string, rate primitives.Rate) newLimit {
			return func(c *primitives.Client, o *httplimit.Options) (*httplimit.Limit, error) {
				return httplimit.NewRateLimiter(c, name, rate, o)
			}
		}
		day := t.limit(of(`a "b" \c`, primitives.Rate{Permits: 1, Interval: 24 * time.Hour}), httplimit.Options{}, ok)
		burst := of("burst", primitives.Rate{Permits: 9, Interval: 1500 * time.Millisecond})
		t.requireStory(t.limit(burst, httplimit.Options{}, day), `
ann: 204 "burst";r=8,"a \"b\" \\c";r=0;t=86400 of "burst";q=9,"a \"b\" \\c";q=1;w=86400
ann: 429 "burst";r=7,"a \"b\" \\c";r=0;t=86400 after 86400 by a "b" \c noted a "b" \c24h0m0s`)
	})
}

// TestRequestThatHasEnded: the client of the service has gone. Its request is neither served nor an error.
func TestRequestThatHasEnded(t *testing.T) {
	telling(t, func(t *teller) {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		h := t.limit(rated(2), httplimit.Options{Unavailable: primitives.Admit()}, ok)
		require.Equal(t, ": 503 after 1 of \"api\";q=2;w=60", t.seen(ask(ctx, h, "ann")))
	})
}
