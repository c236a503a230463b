package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
	"github.com/hasp-go/hasp/primitives"
)

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
