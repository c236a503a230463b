package httplimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

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
