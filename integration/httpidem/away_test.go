package httpidem_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httpidem"
	"github.com/hasp-go/hasp/primitives"
)

// ask has a handler answer a request in virtual time.
func ask(ctx context.Context, h http.Handler, body string) reply {
	r, w := request(ctx, "/", body, key, "a"), httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Result(), w.Body.String()}
}

// asks is ask, which does not wait for the answer.
func asks(ctx context.Context, h http.Handler) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- ask(ctx, h, "") }()
	synctest.Wait()
	return done
}

// recorder is an OnError.
type recorder struct{ errs []error }

func (r *recorder) record(_ *http.Request, err error) { r.errs = append(r.errs, err) }

// takes is longer than it takes until a renewal finds that a lease is lost.
const takes = 15 * time.Second

// slow answers in the end, or once its context has ended.
func slow(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(takes):
		_, _ = io.WriteString(w, "done")
	case <-r.Context().Done():
		http.Error(w, context.Cause(r.Context()).Error(), http.StatusInternalServerError)
	}
}

// virtual runs a test in virtual time, with two processes of the middleware before slow.
func virtual(t *testing.T, opts httpidem.Options, test func(t *testing.T, s *hasptest.Server, one, other http.Handler)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		test(t, s, guarded(t, s, opts, slow), guarded(t, s, opts, slow))
	})
}

// TestWithoutServer: requests are refused, or run each time.
func TestWithoutServer(t *testing.T) {
	t.Parallel()
	for _, run := range []bool{false, true} {
		failures := new(recorder)
		synctest.Test(t, func(t *testing.T) {
			s := hasptest.New(t)
			h := guarded(t, s, httpidem.Options{RunUnavailable: run, OnError: failures.record}, slow)
			s.Away(time.Minute)
			for range 2 {
				if r := ask(t.Context(), h, ""); run {
					require.Equal(t, "done", r.body)
					require.Empty(t, r.Header.Get("Idempotent-Replayed"))
				} else {
					requireProblem(t, r, http.StatusServiceUnavailable, "1", "")
				}
			}
		})
		require.Len(t, failures.errs, 2)
		require.ErrorIs(t, failures.errs[1], primitives.ErrUnavailable)
	}
}

// TestSilentServer: a request waits for Timeout. One whose client has gone does not run.
func TestSilentServer(t *testing.T) {
	failures := new(recorder)
	virtual(t, httpidem.Options{RunUnavailable: true, OnError: failures.record}, func(t *testing.T, s *hasptest.Server, one, _ http.Handler) {
		s.SetLatency(time.Hour)
		begin := time.Now()
		require.Equal(t, "done", ask(t.Context(), one, "").body)
		require.Equal(t, takes+time.Second, time.Since(begin))
		require.Len(t, failures.errs, 1)
		require.ErrorContains(t, failures.errs[0], "no answer in time")

		ctx, leave := context.WithCancel(t.Context())
		gone := asks(ctx, one)
		leave()
		require.Equal(t, http.StatusServiceUnavailable, (<-gone).StatusCode)
		require.Len(t, failures.errs, 1)
	})
}

// TestAwayInMidRun: the request has run, so its client gets the answer, and the program learns that it was not kept.
func TestAwayInMidRun(t *testing.T) {
	failures := new(recorder)
	virtual(t, httpidem.Options{OnError: failures.record}, func(t *testing.T, s *hasptest.Server, one, _ http.Handler) {
		first := asks(t.Context(), one)
		s.Away(time.Minute)
		require.Equal(t, "done", (<-first).body)
		require.Len(t, failures.errs, 1)
	})
}

// TestWait: a request waits for another one, of its process or of another, for as long as Wait says.
func TestWait(t *testing.T) {
	virtual(t, httpidem.Options{Wait: 4 * time.Second}, func(t *testing.T, _ *hasptest.Server, one, other http.Handler) {
		first, begin := asks(t.Context(), one), time.Now()
		for _, waiter := range []<-chan reply{asks(t.Context(), other), asks(t.Context(), other)} {
			requireProblem(t, <-waiter, http.StatusConflict, "1", "is running")
		}
		require.Equal(t, 4*time.Second, time.Since(begin))
		require.Equal(t, http.StatusUnprocessableEntity, ask(t.Context(), one, "2").StatusCode)
		time.Sleep(takes - 6*time.Second)
		second, third := asks(t.Context(), one), asks(t.Context(), other)
		require.Equal(t, "done", (<-first).body)
		requireReplay(t, <-second, http.StatusOK, "done")
		requireReplay(t, <-third, http.StatusOK, "done")
		require.Equal(t, takes, time.Since(begin))
	})
}

// TestWaitersOfAFailure: the first asks at once, the second waits and runs, and the third waits for the second: it gets its
// failure, or 409 if that has left before its end.
func TestWaitersOfAFailure(t *testing.T) {
	t.Parallel()
	for bound, last := range map[int]int{0: http.StatusInternalServerError, 3: http.StatusConflict} {
		synctest.Test(t, func(t *testing.T) {
			ran, all := 0, [3]<-chan reply{}
			h := guarded(t, hasptest.New(t), httpidem.Options{Wait: time.Minute, MaxResponse: bound}, func(w http.ResponseWriter, _ *http.Request) {
				ran++
				time.Sleep(time.Second)
				http.Error(w, "sorry", http.StatusInternalServerError)
			})
			for i := range all {
				all[i] = asks(t.Context(), h)
			}
			require.Equal(t, "sorry\n", (<-all[0]).body)
			require.Equal(t, "sorry\n", (<-all[1]).body)
			require.Equal(t, last, (<-all[2]).StatusCode)
			require.Equal(t, 2, ran)
		})
	}
}

// TestUnreadable: an answer that is kept, and that cannot be decoded, is no reason to run; nor is a body that does not come.
func TestUnreadable(t *testing.T) {
	failures := new(recorder)
	virtual(t, httpidem.Options{RunUnavailable: true, OnError: failures.record}, func(t *testing.T, s *hasptest.Server, one, _ http.Handler) {
		ask(t.Context(), one, "")
		_, err := s.Embedded().Do("HSET", "{api:ann+a}:memo", "result", "text")
		require.NoError(t, err)
		requireProblem(t, ask(t.Context(), one, ""), http.StatusServiceUnavailable, "1", "")
		require.ErrorIs(t, failures.errs[0], primitives.ErrUndecodable)

		r, w := request(t.Context(), "/", "", key, "b"), httptest.NewRecorder()
		r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
		one.ServeHTTP(w, r)
		requireProblem(t, reply{w.Result(), w.Body.String()}, http.StatusBadRequest, "", "cannot be read")
	})
}

// TestGrace: a handler may go on for that long after its client has gone.
func TestGrace(t *testing.T) {
	virtual(t, httpidem.Options{Grace: 3 * time.Second}, func(t *testing.T, _ *hasptest.Server, one, other http.Handler) {
		ctx, leave := context.WithCancelCause(t.Context())
		first, begin := asks(ctx, one), time.Now()
		leave(errors.New("gone"))
		require.Equal(t, "gone\n", (<-first).body)
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.Equal(t, "done", ask(t.Context(), other, "").body)
	})
}

// TestLoss: the handler's context ends with the lease, and the answer of the run that was granted next is kept.
func TestLoss(t *testing.T) {
	failures := new(recorder)
	virtual(t, httpidem.Options{OnError: failures.record}, func(t *testing.T, s *hasptest.Server, one, other http.Handler) {
		first := asks(t.Context(), one)
		s.Lose("api:ann+a")
		second := asks(t.Context(), other)
		require.Equal(t, http.StatusInternalServerError, (<-first).StatusCode)
		require.Equal(t, "done", (<-second).body)
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrLost)
		requireReplay(t, ask(t.Context(), one, ""), http.StatusOK, "done")
	})
}

// TestOvertaken: a run whose lock was lost, and which has not noticed, gives the answer of the run that has stored its own.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, runs := hasptest.New(t), 0
		h := guarded(t, s, httpidem.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			runs++
			run := runs
			time.Sleep(time.Duration(3-run) * time.Second)
			fmt.Fprint(w, run)
		})
		first := asks(t.Context(), h)
		s.Lose("api:ann+a")
		require.Equal(t, "2", ask(t.Context(), h, "").body)
		requireReplay(t, <-first, http.StatusOK, "2")
	})
}

// TestAwayAtTheBound: the answer leaves, though nobody could store that it is not kept, and the next request runs.
func TestAwayAtTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, failures, runs := hasptest.New(t), new(recorder), 0
		h := guarded(t, s, httpidem.Options{MaxResponse: 3, OnError: failures.record}, func(w http.ResponseWriter, _ *http.Request) {
			runs++
			s.Away(time.Second)
			fmt.Fprint(w, "done", runs)
			time.Sleep(2 * time.Second)
		})
		require.Equal(t, "done1", ask(t.Context(), h, "").body)
		require.Len(t, failures.errs, 1)
		require.ErrorIs(t, failures.errs[0], primitives.ErrUnavailable)
		require.Equal(t, "done2", ask(t.Context(), h, "").body)
	})
}

// TestTTL: an answer is kept for TTL.
func TestTTL(t *testing.T) {
	virtual(t, httpidem.Options{TTL: time.Minute}, func(t *testing.T, _ *hasptest.Server, one, other http.Handler) {
		require.Equal(t, "done", ask(t.Context(), one, "").body)
		time.Sleep(time.Minute - time.Millisecond)
		requireReplay(t, ask(t.Context(), other, ""), http.StatusOK, "done")
		time.Sleep(time.Millisecond)
		require.Empty(t, ask(t.Context(), other, "").Header.Get("Idempotent-Replayed"))
	})
}

// TestNewRefuses names the option that is wrong.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	client := hasptest.New(t).Client(nil)
	for field, opts := range map[string]*httpidem.Options{
		"Tenant":      nil,
		"Headers":     {Tenant: byUser, Headers: []string{"x", "set-cookie"}},
		"TTL":         {Tenant: byUser, TTL: time.Nanosecond},
		"MaxRequest":  {Tenant: byUser, MaxRequest: -1},
		"MaxResponse": {Tenant: byUser, MaxResponse: -1},
		"Wait":        {Tenant: byUser, Wait: -1},
		"Timeout":     {Tenant: byUser, Timeout: -1},
		"Grace":       {Tenant: byUser, Grace: -1},
	} {
		invalid := new(primitives.FieldError)
		_, err := httpidem.New(client, "api", opts)
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	_, err := httpidem.New(client, "", &httpidem.Options{Tenant: byUser})
	require.Error(t, err)
}
