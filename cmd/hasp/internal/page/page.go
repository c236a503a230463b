package page

import (
	"context"
	"crypto/rand"
	"embed"
	"html/template"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/inspect"
)

// Source is where the objects come from.
type Source interface {
	// List yields the objects whose name has the text in it. The text may be a pattern. It calls turn before each read.
	List(ctx context.Context, text string, turn func(context.Context) error) iter.Seq2[inspect.Object, error]
	Describe(ctx context.Context, name string) ([]inspect.Object, error)
	Watch(ctx context.Context, name string) iter.Seq2[inspect.Event, error]
	// Release frees a lock at once, if the owner holds it. The kind is lock, mutex, fair, read or write.
	Release(ctx context.Context, kind, name, owner string) (bool, error)
}

// Options set what the pages may do.
type Options struct {
	Host         string // the name in --listen
	Token        string // "": no token is needed
	Reads        int    // a second at most, for all pages
	AllowRelease bool
}

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"mode": mode, "free": free}).ParseFS(assets, "assets/*.html"))

// server serves the pages.
type server struct {
	Options
	source  Source
	begin   func() (context.Context, context.CancelFunc) // what ends with the server
	session string                                       // the value of the cookie that a right token sets
	reads   atomic.Int64
	failed  atomic.Int64

	mu       sync.Mutex
	next     time.Time // of a read
	streams  map[string]*stream
	watchers map[string]*watcher
}

// New returns the handler of the pages. When ctx ends, its streams end.
func New(ctx context.Context, source Source, o Options) http.Handler {
	s := &server{
		Options: o, source: source, session: rand.Text(), streams: map[string]*stream{}, watchers: map[string]*watcher{},
		begin: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("index"))
	mux.HandleFunc("GET /object", s.page("object"))
	mux.HandleFunc("GET /assets/{file}", asset)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("POST /seen", s.seen)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	if o.AllowRelease {
		mux.HandleFunc("POST /release", s.release)
	}
	return s.guarded(mux)
}

// page returns the handler of a page. What it shows, its stream brings.
func (s *server) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		render(w, http.StatusOK, name, map[string]string{"Name": r.FormValue("name"), "Text": r.FormValue("q")})
	}
}

// render writes a template.
func render(w http.ResponseWriter, code int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = templates.ExecuteTemplate(w, name, data) //nolint:errcheck // The browser has left.
}

// asset serves a script, a style or a picture.
func asset(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "assets/"+r.PathValue("file"))
}

// release frees a lock.
func (s *server) release(w http.ResponseWriter, r *http.Request) {
	freed, err := s.source.Release(r.Context(), r.FormValue("kind"), r.FormValue("name"), r.FormValue("owner"))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	case !freed:
		http.Error(w, "this owner no longer holds it: nothing was freed", http.StatusConflict)
	}
}

// mode returns the kind of lock by which a holder is released, or "" if it cannot be.
func mode(o inspect.Object, h inspect.Holder) string {
	switch o.Kind {
	case inspect.Lock, inspect.Election, inspect.PeriodicJob:
		return "lock"
	case inspect.FairLock:
		return "fair"
	case inspect.Mutex:
		return "mutex"
	case inspect.ReadWriteLock:
		return h.Mode
	}
	return ""
}

// free reports whether it is known that nobody holds an object.
func free(o inspect.Object) bool { return o.Held != nil && *o.Held == 0 }
