package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

// burstOfThree frees a permit every 20 s.
var burstOfThree = primitives.Limit{Permits: 3, Interval: time.Minute}

// throttled returns a limit by a throttle, before ok. Without options it refuses requests while the server is away.
func throttled(t *testing.T, c *primitives.Client, limit primitives.Limit, opts httplimit.Options) http.Handler {
	t.Helper()
	if opts.Unavailable == (primitives.Fallback{}) {
		opts.Unavailable = primitives.Refuse()
	}
	l, err := httplimit.NewThrottle(c, "api", limit, &opts)
	require.NoError(t, err)
	return l.Handler(ok)
}

// byUsersField is a Cost.
func byUsersField(r *http.Request) int {
	cost, _ := strconv.Atoi(r.Header.Get("User"))
	return cost
}

// requireState compares the status and the RateLimit field of a response.
func requireState(t *testing.T, r *http.Response, status int, field ...string) {
	t.Helper()
	require.Equal(t, status, r.StatusCode)
	requireField(t, r, "RateLimit", field...)
}

func TestThrottle(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		limit := burstOfThree
		limit.Burst = 2
		h := throttled(t, s.Client(nil), limit, httplimit.Options{Key: byUser})
		first := ask(t.Context(), h, "ann")
		requireState(t, first, http.StatusNoContent, `"api";r=1`)
		requireField(t, first, "RateLimit-Policy", `"api";q=3;w=60`)
		time.Sleep(4500 * time.Millisecond)
		requireState(t, ask(t.Context(), h, "ann"), http.StatusNoContent, `"api";r=0;t=16`)
		refused := ask(t.Context(), h, "ann")
		requireState(t, refused, http.StatusTooManyRequests, `"api";r=0;t=16`)
		requireField(t, refused, "Retry-After", "16")
		requireState(t, ask(t.Context(), h, "bob"), http.StatusNoContent, `"api";r=1`)

		time.Sleep(15500 * time.Millisecond)
		requireState(t, ask(t.Context(), h, "ann"), http.StatusNoContent, `"api";r=0;t=20`)
	})
}

// TestThrottleOfAThird: the server rounds a third of a second up, and the permit that is free has no t.
func TestThrottleOfAThird(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		limit := primitives.Limit{Permits: 3, Interval: time.Second, Burst: 2}
		h := throttled(t, s.Client(nil), limit, httplimit.Options{})
		requireState(t, ask(t.Context(), h, ""), http.StatusNoContent, `"api";r=1`)
		requireState(t, ask(t.Context(), h, ""), http.StatusNoContent, `"api";r=0;t=1`)
	})
}

// TestCost: with both kinds a request takes what it costs, and one that costs more than there ever is is refused, even
// if requests are admitted while the server is away.
func TestCost(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]string{"RateLimiter": "60", "Throttle": "20"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var failures recorder
				opts := httplimit.Options{Unavailable: primitives.Admit(), Cost: byUsersField, OnError: failures.record}
				limit, err := httplimit.NewThrottle(hasptest.New(t).Client(nil), "api", burstOfThree, &opts)
				if name == "RateLimiter" {
					limit, err = httplimit.NewRateLimiter(
						hasptest.New(t).Client(nil), "api", primitives.Rate{Permits: 3, Interval: time.Minute}, &opts)
				}
				require.NoError(t, err)
				h := limit.Handler(ok)
				requireState(t, ask(t.Context(), h, "2"), http.StatusNoContent, `"api";r=1;t=`+retry)
				requireField(t, ask(t.Context(), h, "2"), "Retry-After", retry)
				for _, free := range []string{"0", "-1"} {
					requireState(t, ask(t.Context(), h, free), http.StatusNoContent)
				}
				requireState(t, ask(t.Context(), h, "1"), http.StatusNoContent, `"api";r=0;t=`+retry)
				require.Empty(t, failures.errs)

				tooMuch := ask(t.Context(), h, "4")
				requireState(t, tooMuch, http.StatusTooManyRequests)
				requireField(t, tooMuch, "Retry-After")
				require.Len(t, failures.errs, 1)
				require.ErrorIs(t, failures.errs[0], primitives.ErrAboveRate)
			})
		})
	}
}

// TestShadow: requests are counted, and all are served, also while the server is away.
func TestShadow(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var failures recorder
		var refused []time.Duration
		h := throttled(t, s.Client(nil), burstOfThree, httplimit.Options{
			Shadow: true, OnError: failures.record,
			OnRefused: func(_ *http.Request, policy string, retryIn time.Duration) {
				require.Equal(t, "api", policy)
				refused = append(refused, retryIn)
			},
		})
		serve := func() {
			r := ask(t.Context(), h, "")
			requireState(t, r, http.StatusNoContent)
			requireField(t, r, "RateLimit-Policy")
		}
		for range burstOfThree.Permits {
			serve()
		}
		require.Empty(t, refused)
		serve()
		require.Equal(t, []time.Duration{20 * time.Second}, refused)
		s.Away(time.Second)
		require.Empty(t, failures.errs)
		serve()
		require.Len(t, failures.errs, 1)
	})
}

// TestKeyOfARoute: the routes of a mux have permits of their own.
func TestKeyOfARoute(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := throttled(t, s.Client(nil), primitives.Limit{Permits: 1, Interval: time.Minute},
			httplimit.Options{Key: func(r *http.Request) string { return r.Pattern }})
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

// recorder is an OnError.
type recorder struct{ errs []error }

func (r *recorder) record(_ *http.Request, err error) { r.errs = append(r.errs, err) }

func TestAdmitsWithoutServer(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var failures recorder
		h := newHandler(t, s.Client(nil), httplimit.Options{Unavailable: primitives.Admit(), OnError: failures.record})
		s.Away(3 * time.Second)
		for range twoAMinute.Permits + 1 {
			r := ask(t.Context(), h, "ann")
			requireState(t, r, http.StatusNoContent)
			requireField(t, r, "RateLimit-Policy", `"api";q=2;w=60`)
		}
		require.Empty(t, failures.errs)

		askAgain(t, h)
		requireField(t, ask(t.Context(), h, "ann"), "RateLimit", `"api";r=1`)
	})
}

// askAgain waits until the server is back, and asks: that has the client look for the server.
func askAgain(t *testing.T, h http.Handler) {
	t.Helper()
	time.Sleep(4 * time.Second)
	ask(t.Context(), h, "ann")
	synctest.Wait()
}

func TestRefusesWithoutServer(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var failures recorder
		h := newHandler(t, s.Client(nil), httplimit.Options{Unavailable: primitives.Refuse(), OnError: failures.record})
		s.Away(3 * time.Second)
		r := ask(t.Context(), h, "ann")
		requireState(t, r, http.StatusServiceUnavailable)
		requireField(t, r, "Retry-After", "1")
		requireField(t, r, "Content-Type", "application/problem+json")
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrUnavailable)

		askAgain(t, h)
		require.Equal(t, http.StatusNoContent, ask(t.Context(), h, "ann").StatusCode)
	})
}

func TestLimitsLocallyWithoutServer(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := newHandler(t, s.Client(nil), httplimit.Options{Unavailable: primitives.LocalShare(0.5)}) // one a minute
		s.Away(time.Hour)
		for range 3 {
			requireState(t, ask(t.Context(), h, "ann"), http.StatusNoContent)
			time.Sleep(20 * time.Second)
			refused := ask(t.Context(), h, "ann")
			require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
			requireField(t, refused, "Retry-After", "40")
			require.Equal(t, http.StatusNoContent, ask(t.Context(), h, fmt.Sprint("bob", time.Now())).StatusCode)
			time.Sleep(40 * time.Second)
		}
	})
}

// TestLostAnswerMayUseAPermit: the request was executed, and its answer is lost.
func TestLostAnswerMayUseAPermit(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		var failures recorder
		h := newHandler(t, s.Client(nil), httplimit.Options{OnError: failures.record})
		s.LoseAnswers(1)
		require.Equal(t, http.StatusServiceUnavailable, ask(t.Context(), h, "ann").StatusCode)
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrIndeterminate)
		require.Equal(t, http.StatusNoContent, ask(t.Context(), h, "ann").StatusCode)
		require.Equal(t, http.StatusTooManyRequests, ask(t.Context(), h, "ann").StatusCode)
	})
}

// TestLostLimiter loses the limiter, as if an operator deleted it: the next request makes it again, and the grants
// still count.
func TestLostLimiter(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		h := newHandler(t, s.Client(nil), httplimit.Options{})
		requireField(t, ask(t.Context(), h, "ann"), "RateLimit", `"api";r=1`)
		s.Lose("api:ann")
		requireField(t, ask(t.Context(), h, "ann"), "RateLimit", `"api";r=0;t=60`)
		s.Lose("api:ann")
		require.Equal(t, http.StatusTooManyRequests, ask(t.Context(), h, "ann").StatusCode)
		time.Sleep(time.Minute)
		requireField(t, ask(t.Context(), h, "ann"), "RateLimit", `"api";r=1`)
	})
}

// TestRequestThatHasEnded: the client of the service has gone. Its request is neither served nor an error.
func TestRequestThatHasEnded(t *testing.T) {
	t.Parallel()
	var failures recorder
	h := newHandler(t, hasptest.New(t).Client(nil),
		httplimit.Options{Unavailable: primitives.Admit(), OnError: failures.record})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	require.Equal(t, http.StatusServiceUnavailable, ask(ctx, h, "ann").StatusCode)
	require.Empty(t, failures.errs)
}

func TestReportsAConflict(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		_, err := s.Embedded().Do("SET", "api:ann", "another program's")
		require.NoError(t, err)
		var failures recorder
		h := newHandler(t, s.Client(nil), httplimit.Options{OnError: failures.record})
		require.Equal(t, http.StatusServiceUnavailable, ask(t.Context(), h, "ann").StatusCode)
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrConflict)
	})
}
