package httpidem_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httpidem"
	"github.com/hasp-go/hasp/primitives"
)

// byUser is a Tenant: the user, or ann.
func byUser(r *http.Request) string { return strings.TrimSpace(r.Header.Get("User") + " ann")[:3] }

// guarded returns a handler behind the middleware of a process.
func guarded(t *testing.T, s *hasptest.Server, opts httpidem.Options, h http.HandlerFunc) http.Handler {
	t.Helper()
	if opts.Tenant == nil {
		opts.Tenant = byUser
	}
	idem, err := httpidem.New(s.Client(nil), "api", &opts)
	require.NoError(t, err)
	return idem.Handler(h)
}

// start returns the addresses of two processes of a service, on one server of keys.
func start(t *testing.T, opts httpidem.Options, h http.HandlerFunc) (s *hasptest.Server, one, other string) {
	t.Helper()
	t.Parallel()
	opts.Timeout = time.Minute // The machine may be busy.
	s = hasptest.New(t)
	urls := make([]string, 2)
	for i := range urls {
		idem := guarded(t, s, opts, h)
		process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-Outer"], w.Header()["X-Deleted"] = []string{"outer"}, []string{"outer"}
			idem.ServeHTTP(w, r)
		}))
		t.Cleanup(process.Close)
		urls[i] = process.URL
	}
	return s, urls[0], urls[1]
}

// request returns a POST with a body; fields are names and values, of which the key is one.
func request(ctx context.Context, url, body string, fields ...string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

const key = "Idempotency-Key"

// reply is a response with its whole body.
type reply struct {
	*http.Response
	body string
}

// client does not send a request again by itself, as Go's does with a key on a connection that it has used before.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// send sends a request. The reply has status 0 if there is none.
func send(r *http.Request) reply {
	response, err := client.Do(r)
	if err != nil {
		return reply{Response: &http.Response{}}
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return reply{response, string(body)}
}

func post(t *testing.T, url, body string, fields ...string) reply {
	t.Helper()
	return send(request(t.Context(), url, body, fields...))
}

// requireReplay expects an answer that was kept.
func requireReplay(t *testing.T, r reply, status int, body string) {
	t.Helper()
	require.Equal(t, status, r.StatusCode, r.body)
	require.Equal(t, body, r.body)
	require.Equal(t, "true", r.Header.Get("Idempotent-Replayed"))
}

// requireProblem expects a refusal, with such a Retry-After.
func requireProblem(t *testing.T, r reply, status int, retryAfter, detail string) {
	t.Helper()
	require.Equal(t, status, r.StatusCode, r.body)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.Equal(t, retryAfter, r.Header.Get("Retry-After"))
	require.Contains(t, r.body, detail)
}

// TestSameAnswer: the first process answers, and the other repeats the status, the body and the listed fields. A 500 is
// kept, too, as Stripe does.
func TestSameAnswer(t *testing.T) {
	ran := atomic.Int32{}
	opts := httpidem.Options{Headers: []string{"x-listed"}, Keep: func(int) bool { return true }}
	_, one, other := start(t, opts, func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		w.Header().Del("X-Deleted")
		for _, name := range []string{"Location", "X-Listed", "X-Unlisted", "Set-Cookie"} {
			w.Header().Set(name, "/"+strings.ToLower(name))
		}
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/created":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("Location", "/late")
			_, _ = w.Write(body)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/failed":
			w.WriteHeader(http.StatusInternalServerError)
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}\n\n")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "\x00")
		}
	})
	for i, c := range []struct {
		path, body, kind string
		status           int
	}{
		{"/created", "12\n3", "text/plain; charset=utf-8", http.StatusCreated}, {"/nothing", "", "", http.StatusOK},
		{"/empty", "", "", http.StatusNoContent}, {"/failed", "", "", http.StatusInternalServerError}, {"/json", "{}\n\n\x00", "application/json", http.StatusOK},
	} {
		first := post(t, one+c.path, "12\n3", key, c.path)
		require.Equal(t, c.status, first.StatusCode)
		require.Equal(t, c.body, first.body)
		require.Equal(t, []string{"", "/x-unlisted", "/set-cookie", "outer", ""},
			fields(first, "Idempotent-Replayed", "X-Unlisted", "Set-Cookie", "X-Outer", "X-Deleted"))

		again := post(t, other+c.path, "12\n3", key, `"`+c.path+`"`)
		requireReplay(t, again, c.status, c.body)
		require.Equal(t, []string{c.kind, "/location", "/x-listed", "", ""},
			fields(again, "Content-Type", "Location", "X-Listed", "X-Unlisted", "Set-Cookie"))
		require.EqualValues(t, i+1, ran.Load())
	}
}

func fields(r reply, names ...string) (values []string) {
	for _, name := range names {
		values = append(values, strings.Join(r.Header.Values(name), ", "))
	}
	return values
}

// gate is a handler that waits for each piece of its answer, until it is closed or the test ends.
type gate struct {
	entered chan *http.Request
	pieces  chan string
	end     <-chan struct{}
}

func newGate(t *testing.T) *gate {
	t.Helper()
	return &gate{make(chan *http.Request), make(chan string), t.Context().Done()}
}

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	for {
		select {
		case g.entered <- r:
		case <-g.end:
		}
		select {
		case piece, more := <-g.pieces:
			if !more {
				return
			}
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		case <-g.end:
			return
		}
	}
}

// write has the handler write a piece, and waits until it has.
func (g *gate) write(piece string) {
	g.pieces <- piece
	<-g.entered
}

// TestOtherRequest: another method, path, query or body is another request.
func TestOtherRequest(t *testing.T) {
	_, one, other := start(t, httpidem.Options{}, func(http.ResponseWriter, *http.Request) {})
	require.Equal(t, http.StatusOK, post(t, one+"/a?b", "1", key, "a").StatusCode)
	put := request(t.Context(), other+"/a?b", "1", key, "a")
	put.Method = http.MethodPut
	for _, r := range []reply{
		send(put), post(t, other+"/b?b", "1", key, "a"), post(t, other+"/a?c", "1", key, "a"), post(t, other+"/a?b", "", key, "a"),
	} {
		requireProblem(t, r, http.StatusUnprocessableEntity, "", "Another request")
	}
	requireReplay(t, post(t, other+"/a?b", "1", key, "a"), http.StatusOK, "")
}

// TestWhatIsNotKept: after such a status, even of an answer that is too large, and after a panic, the next request runs.
func TestWhatIsNotKept(t *testing.T) {
	statuses, ran := []int{http.StatusInternalServerError, http.StatusTooManyRequests, -1, 1000, http.StatusNotFound}, atomic.Int32{}
	_, one, other := start(t, httpidem.Options{MaxResponse: 3}, func(w http.ResponseWriter, _ *http.Request) {
		status := statuses[ran.Add(1)-1]
		if status < 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		if status == http.StatusInternalServerError {
			_, _ = io.WriteString(w, "too large")
		}
	})
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests, 0, 0} {
		require.Equal(t, status, post(t, one, "1", key, "a").StatusCode)
	}
	require.Equal(t, http.StatusNotFound, post(t, other, "1", key, "a").StatusCode)
	require.EqualValues(t, len(statuses), ran.Load())
}

// TestCutConnection: the handler goes on, and the client's next request gets its answer.
func TestCutConnection(t *testing.T) {
	g := newGate(t)
	_, one, other := start(t, httpidem.Options{}, g.serve)
	ctx, cut := context.WithCancel(t.Context())
	first := make(chan reply, 1)
	go func() { first <- send(request(ctx, one, "1", key, "a")) }()
	r := <-g.entered
	cut()
	require.Zero(t, (<-first).StatusCode)
	for _, url := range []string{one, other} {
		requireProblem(t, post(t, url, "1", key, "a"), http.StatusConflict, "1", "is running")
		requireProblem(t, post(t, url, "2", key, "a"), http.StatusUnprocessableEntity, "", "Another request")
	}
	require.NoError(t, r.Context().Err())
	g.write("done")
	close(g.pieces)
	require.Eventually(t, func() bool { // until it is stored
		return post(t, other, "1", key, "a").StatusCode != http.StatusConflict
	}, time.Minute, time.Millisecond)
	requireReplay(t, post(t, other, "1", key, "a"), http.StatusOK, "done")
}

// TestLargeAnswer: nothing leaves before the bound. Then it is first stored that the answer is not kept.
func TestLargeAnswer(t *testing.T) {
	half, g, missed := strings.Repeat("x", 1<<19), newGate(t), make(chan error, 1)
	_, one, other := start(t, httpidem.Options{OnError: func(_ *http.Request, err error) { missed <- err }}, g.serve)
	arrived := make(chan *http.Response, 1)
	go func() {
		if response, err := client.Do(request(t.Context(), one, "1", key, "a")); err == nil {
			arrived <- response
		}
	}()
	<-g.entered
	g.write(half)
	g.write(half)
	requireProblem(t, post(t, other, "1", key, "a"), http.StatusConflict, "1", "is running")
	require.Empty(t, arrived)
	g.write(half)
	first := <-arrived // while the handler still writes
	defer first.Body.Close()
	requireProblem(t, post(t, other, "1", key, "a"), http.StatusConflict, "", "too large")
	g.write(half)
	g.write("y")
	body := make([]byte, 4*len(half)+1)
	_, err := io.ReadFull(first.Body, body) // by Flush
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(half, 4)+"y", string(body))
	close(g.pieces)
	_, err = first.Body.Read(body)
	require.ErrorIs(t, err, io.EOF)
	requireProblem(t, post(t, one, "1", key, "a"), http.StatusConflict, "", "too large")
	require.ErrorIs(t, <-missed, primitives.ErrNotKept)
}

// TestKeys: a key of either form, of each caller; requests that have none, or need none.
func TestKeys(t *testing.T) {
	ran := atomic.Int32{}
	_, one, other := start(t, httpidem.Options{
		Required: func(r *http.Request) bool { return r.URL.Path == "/required" },
		Tenant:   func(r *http.Request) string { return r.Header.Get("User") },
	}, func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		_, _ = io.WriteString(w, r.Header.Get("User"))
	})
	runs := func(want int32, f func() reply) reply {
		t.Helper()
		before := ran.Load()
		r := f()
		require.Equal(t, want, ran.Load()-before, r.body)
		return r
	}
	for _, user := range []string{"ann", "bob", "ann a", "ann%20a", strings.Repeat("x", 999)} {
		first := runs(1, func() reply { return post(t, one, "", key, "a", "User", user) })
		require.Equal(t, user, first.body)
		requireReplay(t, runs(0, func() reply { return post(t, other, "", key, "a", "User", user) }), http.StatusOK, user)
	}
	for _, same := range [][2]string{{`"b"`, "b"}, {`"\"\\"`, `"\"\\"`}, {`"c d"`, `"c d"`}, {`"a:,;"`, `"a:,;"`}, {`x\`, `"x\\"`}} {
		runs(1, func() reply { return post(t, one, "", key, same[0], "User", "ann") })
		runs(0, func() reply { return post(t, other, "", key, same[1], "User", "ann") })
	}
	for _, malformed := range []string{``, `"`, `""`, `"a`, `a"`, `"a"b"`, `a b`, `a,b`, `a;b`, `"a";b`, `"\a"`, `"é"`, `é`} {
		requireProblem(t, runs(0, func() reply { return post(t, one, "", key, malformed, "User", "ann") }), http.StatusBadRequest, "", "malformed")
	}
	requireProblem(t, runs(0, func() reply { return post(t, one, "", key, "a", key, "b", "User", "ann") }), http.StatusBadRequest, "", "malformed")
	requireProblem(t, runs(0, func() reply { return post(t, one, "", key, "a") }), http.StatusForbidden, "", "not known")
	requireProblem(t, runs(0, func() reply { return post(t, one+"/required", "") }), http.StatusBadRequest, "", "missing")
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodHead} {
		r := request(t.Context(), one, "", "User", "ann")
		if r.Method = method; method != http.MethodPost {
			r.Header.Set(key, "a")
		}
		for range 2 {
			require.Equal(t, http.StatusOK, runs(1, func() reply { return send(r) }).StatusCode)
		}
	}
}

// TestBodiesAreBounded: that of a request is read before the handler runs.
func TestBodiesAreBounded(t *testing.T) {
	_, one, other := start(t, httpidem.Options{MaxRequest: 3, MaxResponse: 3}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	require.Equal(t, "123", post(t, one, "123", key, "a").body)
	requireReplay(t, post(t, other, "123", key, "a"), http.StatusOK, "123")
	requireProblem(t, post(t, one, "1234", key, "b"), http.StatusRequestEntityTooLarge, "", "Too Large")
	require.Equal(t, "1234", post(t, one, "1234").body)
}
