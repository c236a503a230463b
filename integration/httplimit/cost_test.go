package httplimit_test

import (
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

// costly returns a limit of three permits a minute, before ok.
func costly(t *testing.T, c *primitives.Client, opts httplimit.Options) http.Handler {
	t.Helper()
	limit, err := httplimit.New(c, "api", primitives.Rate{Permits: 3, Interval: time.Minute}, &opts)
	require.NoError(t, err)
	return limit.Handler(ok)
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

// TestCost: a request takes what it costs, and one that costs more than there ever is is refused, even if requests are
// admitted while the server is away.
func TestCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures recorder
		h := costly(t, hasptest.New(t).Client(nil), httplimit.Options{
			Unavailable: primitives.Admit, Cost: byUsersField, OnError: failures.record,
		})
		requireState(t, ask(t.Context(), h, "2"), http.StatusNoContent, `"api";r=1;t=60`)
		requireField(t, ask(t.Context(), h, "2"), "Retry-After", "60")
		for _, free := range []string{"0", "-1"} {
			requireState(t, ask(t.Context(), h, free), http.StatusNoContent)
		}
		requireState(t, ask(t.Context(), h, "1"), http.StatusNoContent, `"api";r=0;t=60`)
		require.Empty(t, failures.errs)

		tooMuch := ask(t.Context(), h, "4")
		requireState(t, tooMuch, http.StatusTooManyRequests)
		requireField(t, tooMuch, "Retry-After")
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrAboveRate)
	})
}

// TestShadow: requests are counted, and all are served, also while the server is away.
func TestShadow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures recorder
		var refused []time.Duration
		s := hasptest.New(t)
		h := costly(t, s.Client(nil), httplimit.Options{
			Unavailable: primitives.Refuse,
			Shadow:      true, OnError: failures.record,
			OnRefused: func(_ *http.Request, retryIn time.Duration) { refused = append(refused, retryIn) },
		})
		serve := func() {
			r := ask(t.Context(), h, "")
			requireState(t, r, http.StatusNoContent)
			requireField(t, r, "RateLimit-Policy")
		}
		for range 3 {
			serve()
		}
		require.Empty(t, refused)
		serve()
		require.Equal(t, []time.Duration{time.Minute}, refused)
		s.Away(time.Second)
		require.Empty(t, failures.errs)
		serve()
		require.Len(t, failures.errs, 1)
	})
}

// TestKeyOfARoute: the routes of a mux have permits of their own.
func TestKeyOfARoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := costly(t, hasptest.New(t).Client(nil), httplimit.Options{
			Unavailable: primitives.Refuse,
			Key:         func(r *http.Request) string { return r.Pattern },
			Cost:        func(*http.Request) int { return 2 },
		})
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
