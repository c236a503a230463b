package page_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/page"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// markup is a text that does harm if it is not escaped.
const markup = `"><script>alert('x')</script>`

// fake is a source with one lock of each name.
type fake struct {
	names []string

	mu       sync.Mutex
	reads    int
	released []string
	kind     inspect.Kind // of all objects; "": Lock
	held     *int64
	queue    *inspect.Queue
	err      error               // of each read
	events   []inspect.EventKind // that a watch sees; nil: Acquired
	log      strings.Builder
	watches  atomic.Int32
	ended    atomic.Int32 // of these
	refused  int32        // how many watches end by an error
}

func (f *fake) List(ctx context.Context, _ string, turn func(context.Context) error) iter.Seq2[inspect.Object, error] {
	return func(yield func(inspect.Object, error) bool) {
		for _, name := range f.names {
			if turn(ctx) != nil {
				return
			}
			if all, err := f.Describe(ctx, name); !yield(all[0], err) {
				return
			}
		}
	}
}

func (f *fake) Describe(_ context.Context, name string) ([]inspect.Object, error) {
	f.mu.Lock()
	f.reads++
	f.mu.Unlock()
	left := time.Second
	h := inspect.Holder{Owner: markup, Host: markup, Metadata: markup, Remaining: &left}
	return []inspect.Object{{
		Name: name, Kind: cmp.Or(f.kind, inspect.Lock), Held: f.held, Queue: f.queue, Value: markup,
		Holders: []inspect.Holder{h, {Owner: "0000", Revoked: true, Remaining: &left}},
	}}, f.err
}

func (f *fake) Watch(ctx context.Context, name string) iter.Seq2[inspect.Event, error] {
	return func(yield func(inspect.Event, error) bool) {
		if f.watches.Add(1) <= f.refused {
			yield(inspect.Event{Kind: inspect.Gap}, primitives.ErrNoPermission)
			return
		}
		kinds := f.events
		if kinds == nil {
			kinds = []inspect.EventKind{inspect.Acquired}
		}
		for _, kind := range kinds {
			yield(inspect.Event{Kind: kind, Owner: markup, Object: inspect.Object{Name: name, Kind: inspect.Lock}}, nil)
		}
		<-ctx.Done()
		f.ended.Add(1)
	}
}

func (f *fake) Release(_ context.Context, kind, name, owner string) (bool, error) {
	f.released = append(f.released, kind+" "+name+" "+owner)
	return owner == "o", nil
}

func (f *fake) Healthy(context.Context) error { return nil }

// public is the address of the pages behind a proxy.
var public = url.URL{Scheme: "https", Host: "ops.example.com", Path: "/locks"}

// TestRequests: requests of other sites, without a token or with another method are refused.
func TestRequests(t *testing.T) {
	t.Parallel()
	const token, own = "a long enough token", "http://localhost:8377"
	type header = map[string]string
	for _, c := range []struct {
		name    string
		options page.Options
		request string // its method and path
		host    string
		header  header
		form    string
		code    int
	}{
		{name: "Page", request: "GET /", code: 200},
		{name: "Address", request: "GET /", host: "[::1]:8377", code: 200},
		{name: "NoHost", request: "GET /", host: ":8377", code: 421},
		{name: "OwnHost", options: page.Options{Host: "hasp.example"}, request: "GET /", host: "hasp.example:8377", code: 200},
		{name: "OtherPort", request: "GET /", header: header{"Origin": "http://localhost:80"}, code: 403},
		{name: "OwnOrigin", request: "GET /", header: header{"Origin": own}, code: 200},
		{name: "Post", request: "POST /seen?stream=x", header: header{"Origin": own}, form: "[]", code: 404},
		{name: "TooManyNames", request: "POST /seen?stream=x", header: header{"Origin": own}, form: "[" + strings.Repeat(`"a",`, 100) + `"a"]`, code: 400},
		{name: "ReleaseNotAllowed", request: "POST /release", header: header{"Origin": own}, form: "kind=lock&name=n&owner=o", code: 404},
		{name: "Release", options: page.Options{AllowRelease: true}, request: "POST /release", header: header{"Origin": own}, form: "kind=lock&name=n&owner=o", code: 200},
		{name: "ReleaseOfNobody", options: page.Options{AllowRelease: true}, request: "POST /release", header: header{"Origin": own}, form: "kind=lock&name=n&owner=p", code: 409},
		{name: "Login", options: page.Options{Token: token}, request: "POST /login", header: header{"Origin": own}, form: "token=a+long+enough+token", code: 303},
		{name: "WrongLogin", options: page.Options{Token: token}, request: "POST /login", header: header{"Origin": own}, form: "token=a", code: 401},
		{name: "LoginWithoutToken", request: "POST /login", header: header{"Origin": own}, form: "token=", code: 401},
		{name: "PublicOriginAlone", options: page.Options{Public: public}, request: "GET /", host: "127.0.0.1:8377", header: header{"Origin": "https://ops.example.com"}, code: 200},
		{name: "PublicHost", options: page.Options{Public: public}, request: "GET /", host: "ops.example.com", code: 200},
		{name: "PublicPath", options: page.Options{Public: public}, request: "GET /locks/object?name=n", code: 200},
		{name: "OtherThanPublic", options: page.Options{Public: public}, request: "GET /", header: header{"Origin": "http://ops.example.com"}, code: 403},
		{name: "OtherPath", options: page.Options{Public: public}, request: "GET /lock/object", code: 404},
		{name: "NameOfOthers", options: page.Options{Names: []string{"m"}}, request: "GET /object?name=n", code: 404},
		{name: "EventsOfOthers", options: page.Options{Names: []string{"m"}}, request: "GET /live?name=n", code: 404},
		{name: "ReleaseOfOthers", options: page.Options{AllowRelease: true, Names: []string{"m"}}, request: "POST /release", header: header{"Origin": own}, form: "kind=lock&name=n&owner=o", code: 404},
		{name: "ReleaseOfOthersByTwoNames", options: page.Options{AllowRelease: true, Names: []string{"m"}}, request: "POST /release?name=m", header: header{"Origin": own}, form: "kind=lock&name=n&owner=o", code: 404},
		{name: "NoSuchAsset", request: "GET /assets/none.js", code: 404},
	} {
		source := &fake{}
		method, path, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(c.form))
		if r.Host = c.host; c.host == "" {
			r.Host = "localhost:8377"
		}
		if !strings.HasPrefix(c.form, "[") { // The page's script sends names as a text.
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for key, value := range c.header {
			r.Header.Set(key, value)
		}
		w := answer(t, source, c.options, r)
		require.Equal(t, c.code, w.Code, "%s: %s", c.name, w.Body)
		require.Equal(t, strings.HasPrefix(c.name, "Release") && c.code != 403 && c.code < 404 || c.code == 409, len(source.released) > 0)
		if strings.HasPrefix(c.name, "Release") && (c.code == 200 || c.code == 409) {
			require.Equal(t, fmt.Sprintf("release of the lock \"n\", held by %q, for 192.0.2.1: freed: %t, error: <nil>\n", c.form[len(c.form)-1:], c.code == 200), source.log.String())
		}
		require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; ")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
}

// TestEveryPath: each path that the program serves is refused without the token, but for those that are named here; and
// with another method, for another host and from another site.
func TestEveryPath(t *testing.T) {
	t.Parallel()
	const token, host, own = "a long enough token", "localhost:8377", "http://localhost:8377"
	const bearer = "Bearer " + token
	open := map[string]bool{"/healthz": true, "/assets/page.css": true}
	source, err := os.ReadFile("page.go")
	require.NoError(t, err)
	patterns := regexp.MustCompile(`mux\.HandleFunc\("(\w+) ([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	require.Len(t, patterns, strings.Count(string(source), "mux.HandleFunc("))
	for _, pattern := range patterns {
		method, path := pattern[1], strings.NewReplacer("{$}", "", "{file}", "page.css").Replace(pattern[2])
		code := func(method, host, origin, bearer string) int {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // What streams ends at once.
			r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(""))
			r.Host = host
			r.Header.Set("Origin", origin)
			r.Header.Set("Authorization", bearer)
			return answer(t, &fake{}, page.Options{Token: token, AllowRelease: true}, r).Code
		}
		if path != "/login" { // It asks for the token in its form.
			require.NotContains(t, []int{401, 403, 405, 421}, code(method, host, own, bearer), path)
			require.Equal(t, !open[path], code(method, host, own, "") == 401, path)
			require.Equal(t, !open[path], code(method, host, own, bearer+"x") == 401, path)
		}
		require.Equal(t, 403, code(method, host, "http://evil.example", bearer), path)
		require.Equal(t, 421, code(method, "evil.example:8377", own, bearer), path)
		for _, other := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			if other != method {
				require.Equal(t, 405, code(other, host, own, bearer), "%s %s", other, path)
			}
		}
	}
}

// TestHeaders: each header that the program reads, when it is missing, empty, there twice, or has a list. Of those who
// forwarded a request, the last one counts: what is before it a client may have made up.
func TestHeaders(t *testing.T) {
	t.Parallel()
	const token, own, from = "a long enough token", "https://ops.example.com", "192.0.2.1"
	login := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/locks/login?token="+url.QueryEscape(token), nil)
	login.Header.Set("Origin", own)
	options := page.Options{Public: public, Token: token, AllowRelease: true}
	login.Host = public.Host
	cookie, rules, _ := strings.Cut(answer(t, &fake{}, options, login).Header().Get("Set-Cookie"), ";")
	require.Contains(t, rules, "HttpOnly")
	require.Contains(t, rules, "SameSite=Strict")
	require.NotContains(t, cookie, token)
	rows := map[string]map[string]string{ // what lines of the header lead to: a code, or the address in the log
		"X-Forwarded-For": {
			"-": from, "": "", "1.1.1.1": "1.1.1.1", "1.1.1.1\n2.2.2.2": "2.2.2.2", "1.1.1.1, 2.2.2.2\n3.3.3.3,4.4.4.4": "4.4.4.4",
			"1.1.1.1, 2.2.2.2 ": "2.2.2.2", "1.1.1.1\n": "", "1.1.1.1,": "", "2001:db8::1": "2001:db8::/64", "1.1.1.1, unknown": "unknown",
		},
		"Origin": {"-": "403", "": "403", own: from, "http://evil.example\n" + own: "403", own + ", http://evil.example": "403", "null": "403"},
		"Authorization": {
			"-": "401", "": "401", "Bearer " + token: from, "Basic eA==\nBearer " + token: "401", "Bearer " + token + ", Bearer x": "401",
			"Bearer ": "401", token: "401",
		},
		"Cookie": {"": "401", cookie: from, "a=b; " + cookie: from, "a=b\n" + cookie: from, "hasp=": "401", cookie + "x": "401", "hasp=x; " + cookie: "401"},
	}
	source, err := os.ReadFile("guard.go")
	require.NoError(t, err)
	for _, header := range regexp.MustCompile(`r\.Header\.\w+\("([\w-]+)"`).FindAllStringSubmatch(string(source), -1) {
		require.Contains(t, rows, header[1])
	}
	for header, of := range rows {
		for lines, want := range of {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/locks/release?kind=lock&name=n&owner=o", nil)
			r.Host = public.Host
			if r.Header.Set("Origin", own); header != "Cookie" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			if r.Header.Del(header); lines != "-" {
				r.Header[header] = strings.Split(lines, "\n")
			}
			f := &fake{}
			got := fmt.Sprint(answer(t, f, options, r).Code)
			if logged := regexp.MustCompile(`, for (.*): freed`).FindStringSubmatch(f.log.String()); logged != nil && got == "200" {
				got = logged[1]
			}
			require.Equal(t, want, got, "%s %q", header, lines)
		}
	}
}

// answer returns the answer to a request.
func answer(t *testing.T, f *fake, o page.Options, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	serve(t.Context(), f, o).ServeHTTP(w, r)
	return w
}

// serve returns the pages, whose log is in the source.
func serve(ctx context.Context, f *fake, o page.Options) http.Handler {
	o.Reads, o.Log = max(1, o.Reads), log.New(io.Discard, "", 0)
	o.Log.SetOutput(&f.log)
	return page.New(ctx, page.Source{List: f.List, Describe: f.Describe, Watch: f.Watch, Release: f.Release, Healthy: f.Healthy}, o)
}

// virtual runs a test of the pages in virtual time. All streams end with it.
func virtual(t *testing.T, f *fake, o page.Options, test func(ctx context.Context, t *testing.T, h http.Handler)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		test(ctx, t, serve(ctx, f, o))
		cancel()
		synctest.Wait()
	})
}

// TestBehindProxies: a proxy passes on the path or cuts it, and the host or not. A login opens the page that was asked
// for, and the same after a restart.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cuts, host, path bool }{{false, false, true}, {true, true, true}, {true, false, true}, {false, true, false}} {
		var behind http.Handler
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { behind.ServeHTTP(w, r) }))
		address, err := url.Parse(proxy.URL)
		require.NoError(t, err)
		if c.path {
			address.Path = "/locks"
		}
		restart := func() {
			server := httptest.NewServer(serve(t.Context(), &fake{}, page.Options{Public: *address, Token: "token"}))
			t.Cleanup(server.Close)
			target, err := url.Parse(server.URL)
			require.NoError(t, err)
			behind = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				if c.host {
					r.Out.Host = r.In.Host
				}
			}}
			if c.cuts {
				behind = http.StripPrefix("/locks", behind)
			}
		}
		restart()
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		client := &http.Client{Jar: jar}
		ask := func(code int, method, path, form string) (*http.Response, string) {
			r, err := http.NewRequestWithContext(t.Context(), method, address.JoinPath(path).String(), strings.NewReader(form))
			require.NoError(t, err)
			r.URL.RawQuery = "name=n"
			r.Header.Set("Origin", proxy.URL)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			answer, err := client.Do(r)
			require.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, code, answer.StatusCode, "%+v: %s", c, text)
			return answer, string(text)
		}
		_, login := ask(401, http.MethodGet, "object", "")
		require.Contains(t, login, `name="next" type="hidden" value="./object?name=n"`)
		ask(401, http.MethodPost, "login", "token=wrong")
		answer, _ := ask(200, http.MethodPost, "login", "token=token&next=.%2Fobject%3Fname%3Dn")
		require.Equal(t, address.String()+"/object?name=n", answer.Request.URL.String())
		ask(200, http.MethodGet, "assets/page.js", "")
		restart()
		ask(200, http.MethodGet, "object", "")
		answer, _ = ask(200, http.MethodPost, "login", "token=token&next=https%3A%2F%2Fevil.example")
		require.Equal(t, address.String()+"/", answer.Request.URL.String())
		proxy.Close()
	}
}

// TestStreamsOfOneAddress: an address cannot take the streams of others.
func TestStreamsOfOneAddress(t *testing.T) {
	virtual(t, &fake{}, page.Options{Public: public}, func(ctx context.Context, t *testing.T, h http.Handler) {
		open := func(i int, from, by string) (code int) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("http://localhost/live?name=", i), nil)
			r.RemoteAddr = from
			if by != "" {
				r.Header.Set("X-Forwarded-For", "1.2.3.4, "+by)
			}
			go h.ServeHTTP(w, r)
			synctest.Wait()
			return w.Code
		}
		for i := range 16 {
			require.Equal(t, 200, open(i, fmt.Sprintf("[2001:db8::%d]:1", i), ""))
		}
		require.Equal(t, 503, open(16, "[2001:db8::ffff]:1", ""))
		require.Equal(t, 200, open(17, "[2001:db8:0:1::]:1", ""))
		require.Equal(t, 200, open(18, "[2001:db8::1]:1", "192.0.2.1"))
	})
}

// TestSeenNames: a page that was opened for some names reads no others.
func TestSeenNames(t *testing.T) {
	virtual(t, &fake{}, page.Options{Reads: 100, Names: []string{"mine"}}, func(ctx context.Context, t *testing.T, h http.Handler) {
		s := &sink{header: http.Header{}}
		go h.ServeHTTP(s, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/live", nil))
		synctest.Wait()
		_, id, _ := strings.Cut(s.String(), `data: "`)
		id, _, _ = strings.Cut(id, `"`)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/seen?stream="+id, strings.NewReader(`["other","mine"]`))
		r.Header.Set("Origin", "http://localhost")
		h.ServeHTTP(httptest.NewRecorder(), r)
		time.Sleep(time.Second)
		require.Contains(t, s.String(), `{"name":"mine"`)
		require.NotContains(t, s.String(), "other")
	})
}

// TestButtonOfEachKind frees an object of a kind as a lock of a kind. A text that may be another program's has no button, so
// that nobody releases it by mistake.
func TestButtonOfEachKind(t *testing.T) {
	t.Parallel()
	for kind, lock := range map[inspect.Kind]string{
		inspect.Lock: "lock", inspect.FairLock: "fair", inspect.Mutex: "mutex", inspect.Election: "lock", inspect.PeriodicJob: "lock", inspect.Memo: "lock",
		inspect.PlainLock: "", inspect.Semaphore: "", inspect.RateLimiter: "", inspect.CountDownLatch: "", inspect.AtomicLong: "", inspect.Unknown: "",
	} {
		html := cardOf(t, &fake{kind: kind}, "name=n")
		require.Contains(t, html, string(kind))
		require.Equal(t, lock != "", strings.Contains(html, "<button"), kind)
		require.Equal(t, lock != "", strings.Contains(html, `data-kind="`+lock+`"`), kind)
	}
}

// TestEscapes: names and what others have stored are text, and no markup.
func TestEscapes(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/object", nil)
	r.URL.RawQuery = "name=" + strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E").Replace(markup)
	w := answer(t, &fake{}, page.Options{}, r)
	require.Contains(t, w.Body.String(), "alert(")
	require.NotContains(t, w.Body.String(), "<script>")

	html := cardOf(t, &fake{}, r.URL.RawQuery)
	for _, field := range []string{"held by", "Remaining lease of", "data-owner", "revoked"} {
		require.Contains(t, html, field)
	}
	require.NotContains(t, html, "0000", "an owner that no client has")
	require.NotContains(t, html, "<script>")
}

// cardOf returns what the page shows of the object that a query asks for.
func cardOf(t *testing.T, f *fake, query string) (html string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(serve(ctx, f, page.Options{Reads: 1000, AllowRelease: true}))
	defer server.Close()
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/live?"+query, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text := make([]byte, 0, 1<<16)
	for !strings.Contains(string(text), "event: object") || !strings.HasSuffix(string(text), "\n\n") {
		part := make([]byte, 1<<14)
		n, err := answer.Body.Read(part)
		require.NoError(t, err)
		text = append(text, part[:n]...)
	}
	_, object, _ := strings.Cut(string(text), "event: object\ndata: ")
	var card struct{ HTML string }
	require.NoError(t, json.NewDecoder(strings.NewReader(object)).Decode(&card))
	return card.HTML
}

// TestReads: however many pages and names there are, no more names are read than the bound says.
func TestReads(t *testing.T) {
	source := &fake{names: strings.Fields(strings.Repeat("name ", 2000))}
	virtual(t, source, page.Options{Reads: 20}, func(ctx context.Context, t *testing.T, h http.Handler) {
		for _, query := range []string{"", "?q=x", "?name=a", "?name=b", "?name=c"} {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/live"+query, nil)
			go h.ServeHTTP(&sink{header: http.Header{}}, r)
		}
		time.Sleep(10*time.Second - time.Millisecond)
		source.mu.Lock()
		require.LessOrEqual(t, source.reads, 200)
		require.Greater(t, source.reads, 190)
		source.mu.Unlock()
		begin := time.Now()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil))
		require.Zero(t, time.Since(begin), "health waits for no turn")
	})
}

// TestWatchAfterAnError: a page that is opened after an error that stayed watches again, and others share that watch. It
// ends ten minutes after the last of them.
func TestWatchAfterAnError(t *testing.T) {
	source := &fake{refused: 1}
	virtual(t, source, page.Options{Reads: 1000}, func(ctx context.Context, t *testing.T, h http.Handler) {
		open := func() (seen func() string, leave func()) {
			ctx, cancel := context.WithCancel(ctx)
			s := &sink{header: http.Header{}}
			go h.ServeHTTP(s, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/live?name=a", nil))
			return func() string { time.Sleep(time.Second); return s.String() }, cancel
		}
		first, leave := open()
		require.Contains(t, first(), primitives.ErrNoPermission.Error())
		second, leaveSecond := open()
		require.Contains(t, second(), `"kind":"acquired"`)
		leave()
		leave = leaveSecond
		for _, alone := range []time.Duration{time.Second, 9 * time.Minute} {
			leave()
			time.Sleep(alone) // without a viewer
			next, leaveNext := open()
			require.Contains(t, next(), `"kind":"acquired"`)
			leave = leaveNext
			time.Sleep(11 * time.Minute)
		}
		require.EqualValues(t, 2, source.watches.Load())
		leave()
		time.Sleep(11 * time.Minute)
		open()
		synctest.Wait()
		require.EqualValues(t, 3, source.watches.Load())
	})
}

// TestWatchesMakeRoom: as many names as there may be streams are watched; then one without viewers ends.
func TestWatchesMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &fake{}
		ctx, cancel := context.WithCancel(t.Context())
		h := serve(ctx, source, page.Options{Reads: 1000})
		for i := range 65 {
			require.Zero(t, source.ended.Load())
			ctx, leave := context.WithCancel(ctx)
			go h.ServeHTTP(&sink{header: http.Header{}}, httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("http://localhost/live?name=", i), nil))
			synctest.Wait()
			leave()
			synctest.Wait()
		}
		require.EqualValues(t, 1, source.ended.Load())
		cancel()
		synctest.Wait()
	})
}

// sink takes a stream.
type sink struct {
	header http.Header
	mu     sync.Mutex
	text   strings.Builder
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.text.Write(p) }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}

// TestMetrics: holders, waiters and lost leases by kind, of all objects or of those that the page is for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names []string
		err   error
		want  string
	}{
		{want: "T hasp_page_held gauge|hasp_page_held{kind=\"mutex\"} 4|T hasp_page_lost_total counter|hasp_page_lost_total{kind=\"mutex\"} 0|" +
			"T hasp_page_read_failures_total counter|hasp_page_read_failures_total 0|T hasp_page_reads_total counter|hasp_page_reads_total 4|" +
			"T hasp_page_streams gauge|hasp_page_streams 0|T hasp_page_waiting gauge|hasp_page_waiting{kind=\"mutex\"} 6|" +
			"T hasp_page_watched_objects gauge|hasp_page_watched_objects 0|"},
		{names: []string{"x"}, want: "T hasp_page_held gauge|hasp_page_held{kind=\"mutex\"} 2|T hasp_page_lost_total counter|" +
			"hasp_page_lost_total{kind=\"lock\"} 2|hasp_page_lost_total{kind=\"mutex\"} 0|"},
		{err: primitives.ErrUnavailable, want: "T hasp_page_read_failures_total counter|hasp_page_read_failures_total 2|T hasp_page_reads_total"},
		{names: []string{"x"}, err: primitives.ErrUnavailable, want: "hasp_page_read_failures_total 2|"},
	} {
		synctest.Test(t, func(t *testing.T) {
			held := int64(2)
			handler := serve(t.Context(), &fake{
				names: []string{"x", "y"}, kind: inspect.Mutex, held: &held, queue: &inspect.Queue{Length: 3}, err: c.err,
				events: []inspect.EventKind{inspect.Lost, inspect.Released, inspect.Lost},
			}, page.Options{Names: c.names, Reads: 1000})
			text := ""
			for range 2 { // The second time the watchers have seen what they see.
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/metrics", nil))
				text = strings.ReplaceAll(strings.ReplaceAll(w.Body.String(), "# TYPE", "T"), "\n", "|")
				time.Sleep(time.Second)
			}
			require.Contains(t, text, c.want)
		})
	}
}
