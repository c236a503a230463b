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
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/grpclimit"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// twoAMinute frees a permit every 30 s.
var twoAMinute = primitives.Limit{Permits: 2, Interval: time.Minute}

type userKey struct{}

// byUser is a Key.
func byUser(ctx context.Context, _ string) string { return ctx.Value(userKey{}).(string) }

// newLimit returns two calls a minute. Without options it refuses calls while the server is away.
func newLimit(t *testing.T, s *hasptest.Server, opts grpclimit.Options) *grpclimit.Limit {
	t.Helper()
	if opts.Unavailable == (primitives.Fallback{}) {
		opts.Unavailable = primitives.Refuse()
	}
	limit, err := grpclimit.NewThrottle(s.Client(nil), "api", twoAMinute, &opts)
	require.NoError(t, err)
	return limit
}

// call makes a unary call.
func call(ctx context.Context, l *grpclimit.Limit, method string) error {
	reply, err := l.Unary(ctx, "request", &grpc.UnaryServerInfo{FullMethod: method},
		func(_ context.Context, req any) (any, error) { return req, nil })
	if err == nil && reply != "request" {
		return fmt.Errorf("the handler was not called")
	}
	return err
}

// stream is a stream of a call.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

// begin begins a stream, and reports whether it was served.
func begin(ctx context.Context, l *grpclimit.Limit) (served bool, _ error) {
	err := l.Stream(nil, stream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/s/m"},
		func(any, grpc.ServerStream) error { served = true; return nil })
	return served, err
}

// requireRefused compares the code and the RetryInfo of a refusal.
func requireRefused(t *testing.T, err error, delay time.Duration) {
	t.Helper()
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	details := status.Convert(err).Details()
	require.Len(t, details, 1)
	info, ok := details[0].(*errdetails.RetryInfo)
	require.True(t, ok)
	require.Equal(t, delay, info.GetRetryDelay().AsDuration())
}

func TestCallsAndStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimit(t, hasptest.New(t), grpclimit.Options{Key: byUser})
		ann := context.WithValue(t.Context(), userKey{}, "ann")
		bob := context.WithValue(t.Context(), userKey{}, "bob {}")
		require.NoError(t, call(ann, l, "/s/m"))
		served, err := begin(ann, l)
		require.True(t, served)
		require.NoError(t, err)

		time.Sleep(10 * time.Second)
		requireRefused(t, call(ann, l, "/s/m"), 20*time.Second)
		served, err = begin(ann, l)
		require.False(t, served)
		requireRefused(t, err, 20*time.Second)
		require.NoError(t, call(bob, l, "/s/m"))

		time.Sleep(20 * time.Second) // as the RetryInfo says
		require.NoError(t, call(ann, l, "/s/m"))
	})
}

// TestDecisionsHaveThePolicy: metrics count by it, and not by the keys.
func TestDecisionsHaveThePolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var decisions []string
		client := hasptest.New(t).Client(&primitives.Options{Tracer: &trace.Tracer{Throttled: func(d trace.Throttled) {
			decisions = append(decisions, d.Policy+" "+d.Outcome())
		}}})
		l, err := grpclimit.NewThrottle(client, "api", twoAMinute, &grpclimit.Options{Unavailable: primitives.Refuse(), Key: byUser})
		require.NoError(t, err)
		require.NoError(t, call(context.WithValue(t.Context(), userKey{}, "ann"), l, "/s/m"))
		require.Equal(t, []string{"api allowed"}, decisions)
	})
}

// TestWithoutServer has what three calls get, by each Fallback.
func TestWithoutServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fallback primitives.Fallback
		third    codes.Code
		failures int
	}{
		{primitives.Refuse(), codes.Unavailable, 3},
		{primitives.Admit(), codes.OK, 0},
		{primitives.LocalShare(1), codes.ResourceExhausted, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, failures := hasptest.New(t), 0
			l := newLimit(t, s, grpclimit.Options{
				Unavailable: c.fallback,
				OnError: func(_ context.Context, _ string, err error) {
					require.ErrorIs(t, err, primitives.ErrUnavailable)
					failures++
				},
			})
			s.Away(time.Hour)
			_ = call(t.Context(), l, "/s/m")
			_ = call(t.Context(), l, "/s/m")
			require.Equal(t, c.third, status.Code(call(t.Context(), l, "/s/m")))
			require.Equal(t, c.failures, failures)
		})
	}
}

// TestCancelledCall ends with the context's code, and is no failure of the limit.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := newLimit(t, hasptest.New(t), grpclimit.Options{
		Unavailable: primitives.Admit(),
		OnError:     func(_ context.Context, _ string, err error) { t.Error(err) },
	})
	require.Equal(t, codes.Canceled, status.Code(call(ctx, l, "/s/m")))
}

func TestNewThrottleRefuses(t *testing.T) {
	t.Parallel()
	client := hasptest.New(t).Client(nil)
	refuse := &grpclimit.Options{Unavailable: primitives.Refuse(), Key: byUser}
	for _, c := range []struct {
		field, name string
		limit       primitives.Limit
		opts        *grpclimit.Options
	}{
		{"Unavailable", "api", twoAMinute, nil},
		{"Unavailable", "api", twoAMinute, &grpclimit.Options{Unavailable: primitives.LocalShare(2)}},
		{"Timeout", "api", twoAMinute, &grpclimit.Options{Unavailable: primitives.Admit(), Timeout: -1}},
		{"name", "", twoAMinute, refuse},
		{"Limit.Permits", "api", primitives.Limit{Interval: time.Minute}, refuse},
	} {
		limit, err := grpclimit.NewThrottle(client, c.name, c.limit, c.opts)
		var invalid *primitives.FieldError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, c.field, invalid.Field)
		require.Nil(t, limit)
	}
}

// perUser and forAll are two limits of which a Report costs nothing for all, and a user is known by a context.
var (
	perUser = grpclimit.Policy{Name: "user", Limit: twoAMinute, Key: byUser}
	forAll  = grpclimit.Policy{
		Name: "all", Limit: primitives.Limit{Permits: 3, Interval: time.Hour},
		Cost: func(_ context.Context, method string) int { return map[string]int{"/s/m": 1, "/s/Many": 4}[method] },
	}
)

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
			require.Empty(t, status.Convert(err).Details(), "no time would do")
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
