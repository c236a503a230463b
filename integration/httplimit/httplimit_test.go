package httplimit_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
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

// twoAMinute is the rate of most tests, and burstOfThree frees a permit every 20 s.
var (
	twoAMinute   = primitives.Rate{Permits: 2, Interval: time.Minute}
	burstOfThree = primitives.Limit{Permits: 3, Interval: time.Minute}
)

// TestDecisionsHaveThePolicy: metrics count by it, and not by the keys.
func TestDecisionsHaveThePolicy(t *testing.T) {
	telling(t, func(t *teller) {
		var decisions []string
		t.client = t.Client(&primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			decisions = append(decisions, d.Policy+" "+d.Outcome())
		}}})
		h := t.limit(several(false), httplimit.Options{}, ok)
		for _, user := range []string{"abc", "abc", "a"} {
			ask(t.Context(), h, user)
		}
		ask(t.Context(), t.limit(rated(2), httplimit.Options{Key: byUser}, ok), "abc")
		require.Equal(t, []string{"user allowed", "all allowed", "user refused", "all allowed", "api allowed"}, decisions)
	})
}

// TestKeyOfARoute: the routes of a mux have permits of their own.
func TestKeyOfARoute(t *testing.T) {
	telling(t, func(t *teller) {
		h := t.limit(rated(1), httplimit.Options{Key: func(r *http.Request) string { return r.Pattern }}, ok)
		mux := http.NewServeMux()
		mux.Handle("/users/{id}", h)
		mux.Handle("/tenants/{id}", h)
		var statuses []int
		for _, path := range []string{"/users/1", "/users/2", "/tenants/1"} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			statuses = append(statuses, w.Code)
		}
		require.Equal(t, []int{http.StatusNoContent, http.StatusTooManyRequests, http.StatusNoContent}, statuses)
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

func TestNewMultiThrottleRefuses(t *testing.T) {
	t.Parallel()
	client := hasptest.New(t).Client(nil)
	opts := &httplimit.MultiThrottleOptions{Options: httplimit.Options{Unavailable: primitives.Refuse()}}
	of := func(name string) httplimit.Policy { return httplimit.Policy{Name: name, Limit: forAll.Limit} }
	for _, c := range []struct {
		field    string
		policies []httplimit.Policy
	}{
		{"policies", nil},
		{"name", []httplimit.Policy{perUser, of("é")}},
		{"Limit.Permits", []httplimit.Policy{perUser, {Name: "all"}}},
		{"name", []httplimit.Policy{perUser, forAll, perUser}},
		{"name", []httplimit.Policy{perUser, of("user:all")}}, // A client that calls itself all would share its permits.
	} {
		limit, err := httplimit.NewMultiThrottle(client, opts, c.policies...)
		var invalid *primitives.FieldError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, c.field, invalid.Field)
		require.Nil(t, limit)
	}
	ofAKey := of("all:user:a")
	ofAKey.Key = byUser
	_, err := httplimit.NewMultiThrottle(client, opts, forAll, of("all:user"), ofAKey)
	require.NoError(t, err)
}

// TestAnyTextIsAKey: clients choose keys. No two keys share permits, and none makes a name that the server refuses.
func TestAnyTextIsAKey(t *testing.T) {
	telling(t, func(t *teller) {
		h := t.limit(rated(2), httplimit.Options{Key: byUser}, ok)
		long := strings.Repeat("x", 1<<16)
		keys := []string{"", "ann", "{", "}a{", "{}", "a b", "a+b", "a%20b", "a:b", "é", long, long + "y"}
		for _, key := range keys {
			require.Equal(t, `"api";r=1`, ask(t.Context(), h, key).Header.Get("RateLimit"), "%.20q", key)
		}
		reply, err := t.Embedded().Do("KEYS", "api:*")
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

// seen is what becomes of requests of ann and bob, of ann after the server has forgotten all, and of ann while it is silent:
// the status, and the time.
type seen []string

func (s *seen) note(format string, of ...any) { *s = append(*s, fmt.Sprintf(format, of...)) }

// option is a value of an option, and what is seen with it.
type option struct {
	value any
	seen  string
}

// options has one for each; that of "" has none.
func (s *seen) options() map[string]option {
	return map[string]option{
		"":              {nil, "204/1ms 429/1ms 204/1ms 503/1s"},
		"Key":           {byUser, "204/1ms 204/1ms 204/1ms 503/1s"},
		"Cost":          {func(r *http.Request) int { return strings.Count(byUser(r), "o") }, "204/0s 204/1ms 204/0s 204/0s"},
		"Shadow":        {true, "204/1ms 204/1ms 204/1ms 204/1s"},
		"Unavailable":   {primitives.Admit(), "204/1ms 429/1ms 204/1ms 204/1s"},
		"Timeout":       {time.Minute, "204/1ms 429/1ms 204/1ms 503/1m0s"},
		"RefuseLocally": {true, "204/1ms 429/1ms 429/0s 429/0s"},
		"Steps":         {true, "204/2ms 429/1ms 204/2ms 503/1s"}, // Each policy has a request of its own.
		"OnRefused": {func(_ *http.Request, policy string, in time.Duration) { s.note("%s %s", policy, in.Round(time.Second)) },
			"204/1ms api 1m0s 429/1ms 204/1ms 503/1s"},
		"OnError": {func(_ *http.Request, err error) { s.note("%t", errors.Is(err, primitives.ErrIndeterminate)) }, "204/1ms 429/1ms 204/1ms true 503/1s"},
	}
}

// TestOptions: each constructor heeds each of its options.
func TestOptions(t *testing.T) {
	t.Parallel()
	limit := primitives.Limit{Permits: 1, Interval: time.Minute}
	all := func(c *primitives.Client, o *httplimit.MultiThrottleOptions) (*httplimit.Limit, error) {
		return httplimit.NewMultiThrottle(c, o, httplimit.Policy{Name: "api", Limit: limit}, httplimit.Policy{Name: "many", Limit: burstOfThree})
	}
	requireHeeded(t, reflect.TypeFor[httplimit.MultiThrottleOptions](), all)
	requireHeeded(t, reflect.TypeFor[httplimit.Options](), func(c *primitives.Client, o *httplimit.MultiThrottleOptions) (*httplimit.Limit, error) {
		return httplimit.NewThrottle(c, "api", limit, &o.Options)
	})
	requireHeeded(t, reflect.TypeFor[httplimit.Options](), func(c *primitives.Client, o *httplimit.MultiThrottleOptions) (*httplimit.Limit, error) {
		return httplimit.NewRateLimiter(c, "api", primitives.Rate{Permits: 1, Interval: time.Minute}, &o.Options)
	})
}

func requireHeeded(t *testing.T, fields reflect.Type, limit func(*primitives.Client, *httplimit.MultiThrottleOptions) (*httplimit.Limit, error)) {
	t.Helper()
	for _, field := range append(reflect.VisibleFields(fields), reflect.StructField{}) {
		if field.Name == "_" || field.Anonymous {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s, got, o := hasptest.New(t), seen{}, httplimit.MultiThrottleOptions{Options: httplimit.Options{Unavailable: primitives.Refuse()}}
			row, known := got.options()[field.Name]
			require.True(t, known, field.Name)
			if row.value != nil {
				reflect.ValueOf(&o).Elem().FieldByName(field.Name).Set(reflect.ValueOf(row.value))
			}
			l, err := limit(s.Client(nil), &o)
			require.NoError(t, err)
			s.SetLatency(time.Millisecond)
			for i, user := range []string{"ann", "bob", "ann", "ann"} {
				begin := time.Now()
				status := ask(t.Context(), l.Handler(ok), user).StatusCode
				got.note("%d/%s", status, time.Since(begin))
				if i == 1 {
					_, err = s.Embedded().Do("FLUSHALL")
					require.NoError(t, err)
				} else if i == 2 {
					s.SetLatency(time.Hour)
				}
			}
			require.Equal(t, row.seen, strings.Join(got, " "), field.Name)
		})
	}
}
