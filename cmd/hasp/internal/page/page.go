// Package page serves pages that show objects of a Redis server, and what happens to them.
package page

import (
	"cmp"
	"context"
	"embed"
	"html/template"
	"iter"
	"log"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/cmd/hasp/internal/rows"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// Source is where the objects come from.
type Source struct {
	// List yields the objects whose name has the text in it. The text may be a pattern. It calls turn before each read.
	List     func(ctx context.Context, text string, turn func(context.Context) error) iter.Seq2[inspect.Object, error]
	Describe func(ctx context.Context, name string) ([]inspect.Object, error)
	Watch    func(ctx context.Context, name string) iter.Seq2[inspect.Event, error]
	Release  func(ctx context.Context, kind, name, owner string) (bool, error) // at once, if the owner holds it
	Healthy  func(ctx context.Context) error                                   // nil if the server answers
}

// Options set what the pages may do.
type Options struct {
	Host         string   // the name in --listen
	Public       url.URL  // as browsers see the pages, without a slash at its end; zero: as they are
	Token        string   // "": no token is needed
	Names        []string // that the pages show; empty: all
	Reads        int      // a second at most, for all pages
	AllowRelease bool
	Log          *log.Logger // has a line for each release
}

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"mode": mode, "rows": rows.Of, "kind": rows.Kind, "plain": rows.Plain}).ParseFS(assets, "assets/*.html"))

// server serves the pages.
type server struct {
	Options
	source Source
	begin  func() (context.Context, context.CancelFunc) // what ends with the server
	reads  atomic.Int64
	failed atomic.Int64

	mu       sync.Mutex
	next     time.Time // of a read
	streams  map[string]*stream
	watchers map[string]*watcher
	lost     map[string]int64 // leases, as watchers have seen, by the name of the metric
}

// New returns the handler of the pages. When ctx ends, its streams end.
func New(ctx context.Context, source Source, o Options) http.Handler {
	s := &server{
		Options: o, source: source, streams: map[string]*stream{}, watchers: map[string]*watcher{}, lost: map[string]int64{},
		begin: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("index"))
	mux.HandleFunc("GET /object", s.page("object"))
	mux.Handle("GET /assets/{file}", http.FileServerFS(assets))
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("POST /seen", s.seen)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	if o.AllowRelease {
		mux.HandleFunc("POST /release", s.release)
	}
	if o.Public.Path == "" {
		return s.guarded(mux)
	}
	both := http.NewServeMux() // Some proxies cut the path, and some do not.
	both.Handle("/", s.guarded(mux))
	both.Handle(o.Public.Path+"/", http.StripPrefix(o.Public.Path, s.guarded(mux)))
	return both
}

// shows reports whether the pages may show a name, and free it. Without a name there is nothing to refuse.
func (s *server) shows(name string) bool {
	return name == "" || len(s.Names) == 0 || slices.Contains(s.Names, name)
}

// page returns the handler of a page. What it shows, its stream brings.
func (s *server) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		render(w, http.StatusOK, name, map[string]string{"Name": r.FormValue("name"), "Text": r.FormValue("q")})
	}
}

func render(w http.ResponseWriter, code int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = templates.ExecuteTemplate(w, name, data) //nolint:errcheck // The browser has left.
}

func (s *server) release(w http.ResponseWriter, r *http.Request) {
	kind, name, owner := r.FormValue("kind"), r.FormValue("name"), r.FormValue("owner")
	freed, err := s.source.Release(r.Context(), kind, name, owner)
	s.Log.Printf("release of the %s %q, held by %q, for %s: freed: %t, error: %v", kind, name, owner, s.from(r), freed, err)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	case !freed:
		http.Error(w, "this owner no longer holds it: nothing was freed", http.StatusConflict)
	}
}

// modes are the kinds of locks by which the one holder of an object is released.
var modes = map[inspect.Kind]string{
	inspect.Lock: "lock", inspect.Election: "lock", inspect.PeriodicJob: "lock", inspect.Memo: "lock", inspect.FairLock: "fair", inspect.Mutex: "mutex",
}

// mode returns the kind of lock by which a holder is released, or "" if it cannot be.
func mode(o inspect.Object, h inspect.Holder) string { return cmp.Or(modes[o.Kind], h.Mode) }
