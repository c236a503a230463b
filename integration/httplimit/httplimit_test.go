package httplimit_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

// twoAMinute is the rate of most tests.
var twoAMinute = primitives.Rate{Permits: 2, Interval: time.Minute}

// byUser is a Key.
func byUser(r *http.Request) string { return r.Header.Get("User") }

// ok is the handler that is limited.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// newHandler returns a limit of two requests a minute for each user, before ok. Without options it refuses requests
// while the server is away.
func newHandler(t *testing.T, client *primitives.Client, opts httplimit.Options) http.Handler {
	t.Helper()
	opts.Key = byUser
	if opts.Unavailable == (primitives.Fallback{}) {
		opts.Unavailable = primitives.Refuse()
	}
	limit, err := httplimit.NewRateLimiter(client, "api", twoAMinute, &opts)
	require.NoError(t, err)
	return limit.Handler(ok)
}

// ask returns the response to a request of a user.
func ask(ctx context.Context, h http.Handler, user string) *http.Response {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	r.Header.Set("User", user)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// requireField compares all values of a header field.
func requireField(t *testing.T, r *http.Response, name string, want ...string) {
	t.Helper()
	require.Equal(t, want, r.Header.Values(name), name)
}

func TestAdmitsAndRefuses(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := newHandler(t, s.Client(nil), httplimit.Options{})
		first := ask(t.Context(), h, "ann")
		requireState(t, first, http.StatusNoContent, `"api";r=1`)
		requireField(t, first, "RateLimit-Policy", `"api";q=2;w=60`)
		requireField(t, first, "Retry-After")

		time.Sleep(9500 * time.Millisecond)
		requireState(t, ask(t.Context(), h, "ann"), http.StatusNoContent, `"api";r=0;t=51`)

		time.Sleep(500 * time.Millisecond)
		refused := ask(t.Context(), h, "ann")
		requireState(t, refused, http.StatusTooManyRequests, `"api";r=0;t=50`)
		requireField(t, refused, "RateLimit-Policy", `"api";q=2;w=60`)
		requireField(t, refused, "Retry-After", "50")
		require.Equal(t, http.StatusNoContent, ask(t.Context(), h, "bob").StatusCode, "he has permits of his own")

		time.Sleep(50 * time.Second) // as Retry-After says
		requireState(t, ask(t.Context(), h, "ann"), http.StatusNoContent, `"api";r=0;t=10`)
	})
}

func TestRefusalHasTheProblemOfTheDraft(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := newHandler(t, s.Client(nil), httplimit.Options{})
		for range twoAMinute.Permits {
			ask(t.Context(), h, "ann")
		}
		refused := ask(t.Context(), h, "ann")
		requireField(t, refused, "Content-Type", "application/problem+json")
		var body map[string]any
		require.NoError(t, json.NewDecoder(refused.Body).Decode(&body))
		require.Equal(t, map[string]any{
			"type":              "https://iana.org/assignments/http-problem-types#quota-exceeded",
			"title":             "Request cannot be satisfied as assigned quota has been exceeded",
			"status":            float64(http.StatusTooManyRequests),
			"violated-policies": []any{"api"},
		}, body)
	})
}

func TestNestedLimits(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		client := s.Client(nil)
		day := primitives.Rate{Permits: 1, Interval: 24 * time.Hour}
		burst := primitives.Rate{Permits: 9, Interval: 1500 * time.Millisecond}
		h := limited(t, client, "burst", burst, limited(t, client, "day", day, ok))
		admitted := ask(t.Context(), h, "")
		requireState(t, admitted, http.StatusNoContent, `"burst";r=8`, `"day";r=0;t=86400`)
		requireField(t, admitted, "RateLimit-Policy", `"burst";q=9`, `"day";q=1;w=86400`)
		refused := ask(t.Context(), h, "")
		requireState(t, refused, http.StatusTooManyRequests, `"burst";r=7`, `"day";r=0;t=86400`)
		requireViolated(t, refused, "day")
	})
}

// limited returns a handler that has one limit for all requests.
func limited(
	t *testing.T, client *primitives.Client, name string, rate primitives.Rate, next http.Handler,
) http.Handler {
	t.Helper()
	limit, err := httplimit.NewRateLimiter(client, name, rate, &httplimit.Options{Unavailable: primitives.Refuse()})
	require.NoError(t, err)
	return limit.Handler(next)
}

func TestNameIsEscapedInFields(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		r := ask(t.Context(), limited(t, s.Client(nil), `a "b" \c`, twoAMinute, ok), "")
		requireField(t, r, "RateLimit-Policy", `"a \"b\" \\c";q=2;w=60`)
		requireField(t, r, "RateLimit", `"a \"b\" \\c";r=1`)
	})
}

// TestConstructorsRefuse: what is wrong of a rate and of a limit, and by both constructors of the rest.
func TestConstructorsRefuse(t *testing.T) {
	t.Parallel()
	client, none := hasptest.New(t).Client(nil), primitives.Rate{Permits: -1}
	refuse := httplimit.Options{Unavailable: primitives.Refuse(), Key: byUser}
	for _, c := range []struct {
		field, name string
		rate        primitives.Rate // none: the constructor is not called
		limit       primitives.Limit
		opts        httplimit.Options
	}{
		{"Unavailable", "api", twoAMinute, burstOfThree, httplimit.Options{Key: byUser}},
		{"Unavailable", "api", twoAMinute, burstOfThree, httplimit.Options{Unavailable: primitives.LocalShare(3)}},
		{"Timeout", "api", twoAMinute, burstOfThree, httplimit.Options{Unavailable: primitives.Admit(), Timeout: -1}},
		{"name", "", twoAMinute, burstOfThree, refuse},
		{"name", "café", twoAMinute, burstOfThree, refuse},
		{"name", "a\nb", twoAMinute, burstOfThree, refuse},
		{"Rate", "api", primitives.Rate{}, primitives.Limit{}, refuse},
		{"Rate.Permits", "api", primitives.Rate{Interval: time.Minute}, primitives.Limit{}, refuse},
		{"Rate.Interval", "api", primitives.Rate{Permits: 1}, primitives.Limit{}, refuse},
		{"Rate.KeepAlive", "api", primitives.Rate{Permits: 1, Interval: time.Minute, KeepAlive: time.Second}, primitives.Limit{}, refuse},
		{"Limit.Permits", "api", none, primitives.Limit{Interval: time.Minute}, refuse},
		{"Limit.Interval", "api", none, primitives.Limit{Permits: 1}, refuse},
		{"Limit.Burst", "api", none, primitives.Limit{Permits: 1, Interval: time.Minute, Burst: -1}, refuse},
	} {
		invalid := new(primitives.FieldError)
		if c.rate != none {
			_, err := httplimit.NewRateLimiter(client, c.name, c.rate, &c.opts)
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, c.field, invalid.Field)
		}
		if c.limit != (primitives.Limit{}) {
			limit, err := httplimit.NewThrottle(client, c.name, c.limit, &c.opts)
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, c.field, invalid.Field)
			require.Nil(t, limit)
		}
	}
	_, err := httplimit.NewThrottle(client, "api", burstOfThree, nil)
	require.ErrorContains(t, err, "Unavailable")
}

// TestAnyTextIsAKey: clients choose keys. No two keys share permits, and none makes a name that the server refuses.
func TestAnyTextIsAKey(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := newHandler(t, s.Client(nil), httplimit.Options{})
		long := strings.Repeat("x", 1<<16)
		keys := []string{"", "ann", "{", "}a{", "{}", "a b", "a+b", "a%20b", "a:b", "é", long, long + "y"}
		for _, key := range keys {
			r := ask(t.Context(), h, key)
			require.Equal(t, http.StatusNoContent, r.StatusCode, "%.20q", key)
			requireField(t, r, "RateLimit", `"api";r=1`)
		}
		reply, err := s.Embedded().Do("KEYS", "api:*")
		require.NoError(t, err)
		names, err := reply.Items()
		require.NoError(t, err)
		require.Len(t, names, len(keys))
		for _, item := range names {
			name, err := item.Text()
			require.NoError(t, err)
			require.Less(t, len(name), 150)
			require.NotContains(t, name, "{")
		}
	})
}

// TestRemoteIP: all forms of an address are one key, with a port and without.
func TestRemoteIP(t *testing.T) {
	t.Parallel()
	remote := func(addr string) string { return httplimit.RemoteIP(&http.Request{RemoteAddr: addr}) }
	for addr, want := range map[string]string{
		"192.0.2.1":                 "192.0.2.1",
		"::ffff:192.0.2.1":          "192.0.2.1",
		"::ffff:c000:201":           "192.0.2.1",
		"::ffff:192.0.2.1%eth0":     "192.0.2.1",
		"64:ff9b::192.0.2.1":        "192.0.2.1",
		"64:ff9b::c000:201%eth0":    "192.0.2.1",
		"64:ff9b::c000:202":         "192.0.2.2",
		"64:ff9b::1:c000:201":       "64:ff9b::",
		"64:ff9b:1:2::c000:201":     "64:ff9b:1:2::",
		"2001:db8:1:2:3:4:5:6":      "2001:db8:1:2::",
		"2001:0DB8:0001:0002::0001": "2001:db8:1:2::",
		"2001:db8:1:3::1":           "2001:db8:1:3::",
		"fe80::1:2:3:4%eth0":        "fe80::",
		"::1":                       "::",
	} {
		require.Equal(t, want, remote(addr), addr)
		require.Equal(t, want, remote(net.JoinHostPort(addr, "1234")), addr)
		require.Equal(t, want, remote("["+addr+"]"), addr)
	}
	for _, addr := range []string{"@", "", "/run/app.sock", "app:1234"} { // "@" is a socket of the file system.
		require.Equal(t, addr, remote(addr))
	}
}

// virtual runs a test in virtual time, on a server of its own.
func virtual(t *testing.T, test func(t *testing.T, s *hasptest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, hasptest.New(t)) })
}
