package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/grpclimit"
	"github.com/hasp-go/hasp/primitives"
)

// option is a value of an option, and what becomes with it of calls of ann and bob, of ann after the server has forgotten
// all, and of ann while it is silent: the code, and the time.
type option struct {
	value any
	seen  string
}

// options has one for each; that of "" has none.
func options(seen *string) map[string]option {
	return map[string]option{
		"":    {nil, "OK/1ms ResourceExhausted/1ms OK/1ms Unavailable/1s"},
		"Key": {byUser, "OK/1ms OK/1ms OK/1ms Unavailable/1s"},
		"Cost": {func(ctx context.Context, _ string) int { return strings.Count(byUser(ctx, ""), "o") },
			"OK/0s OK/1ms OK/0s OK/0s"},
		"Unavailable":   {primitives.Admit(), "OK/1ms ResourceExhausted/1ms OK/1ms OK/1s"},
		"Timeout":       {time.Minute, "OK/1ms ResourceExhausted/1ms OK/1ms Unavailable/1m0s"},
		"RefuseLocally": {true, "OK/1ms ResourceExhausted/1ms ResourceExhausted/0s ResourceExhausted/0s"},
		"Steps":         {true, "OK/2ms ResourceExhausted/1ms OK/2ms Unavailable/1s"}, // Each policy has a request of its own.
		"OnError": {func(_ context.Context, method string, err error) {
			*seen += fmt.Sprintln(method, errors.Is(err, primitives.ErrIndeterminate))
		}, "OK/1ms ResourceExhausted/1ms OK/1ms /s/m true\nUnavailable/1s"},
	}
}

// TestOptions: each constructor heeds each of its options.
func TestOptions(t *testing.T) {
	t.Parallel()
	limit := primitives.Limit{Permits: 1, Interval: time.Minute}
	requireHeeded(t, reflect.TypeFor[grpclimit.MultiThrottleOptions](), func(c *primitives.Client, o *grpclimit.MultiThrottleOptions) (*grpclimit.Limit, error) {
		return grpclimit.NewMultiThrottle(c, o, grpclimit.Policy{Name: "api", Limit: limit}, grpclimit.Policy{Name: "many", Limit: twoAMinute})
	})
	requireHeeded(t, reflect.TypeFor[grpclimit.Options](), func(c *primitives.Client, o *grpclimit.MultiThrottleOptions) (*grpclimit.Limit, error) {
		return grpclimit.NewThrottle(c, "api", limit, &o.Options)
	})
}

func requireHeeded(t *testing.T, fields reflect.Type, limit func(*primitives.Client, *grpclimit.MultiThrottleOptions) (*grpclimit.Limit, error)) {
	t.Helper()
	for _, field := range append(reflect.VisibleFields(fields), reflect.StructField{}) {
		if field.Name == "_" || field.Anonymous {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s, seen, o := hasptest.New(t), "", grpclimit.MultiThrottleOptions{Options: grpclimit.Options{Unavailable: primitives.Refuse()}}
			row, known := options(&seen)[field.Name]
			require.True(t, known, field.Name)
			if row.value != nil {
				reflect.ValueOf(&o).Elem().FieldByName(field.Name).Set(reflect.ValueOf(row.value))
			}
			l, err := limit(s.Client(nil), &o)
			require.NoError(t, err)
			s.SetLatency(time.Millisecond)
			for i, user := range []string{"ann", "bob", "ann", "ann"} {
				begin := time.Now()
				code := status.Code(call(context.WithValue(t.Context(), userKey{}, user), l, "/s/m"))
				seen += fmt.Sprintf("%s/%s ", code, time.Since(begin))
				if i == 1 {
					_, err = s.Embedded().Do("FLUSHALL")
					require.NoError(t, err)
				} else if i == 2 {
					s.SetLatency(time.Hour)
				}
			}
			require.Equal(t, row.seen+" ", seen, field.Name)
		})
	}
}
