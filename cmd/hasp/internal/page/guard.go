package page

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// cookie is the name of the cookie that a right token sets.
const cookie = "hasp"

// largest is how many bytes the body of a request may have.
const largest = 1 << 18

// policy lets the page use its own files alone, and no inline script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded refuses requests that another site may have made, or that have no token.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // Without it browsers send no Origin.
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, largest)
		switch {
		case !s.knows(r.Host):
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
		case !ownOrigin(r):
			http.Error(w, "a request of another site", http.StatusForbidden)
		case !s.admits(r):
			render(w, http.StatusUnauthorized, "login", nil)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a host is the name in --listen, localhost or an address. With another name, a page of another
// site could read ours once that name has our address (DNS rebinding).
func (s *server) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost" || host != "" && host == s.Host
}

// ownOrigin reports whether a request is of our own page. A request that changes something needs an Origin.
func ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return origin == "http://"+r.Host || origin == "https://"+r.Host
}

// admits reports whether a request has the token, or needs none.
func (s *server) admits(r *http.Request) bool {
	path := r.URL.Path
	if s.Token == "" || path == "/healthz" || path == "/login" || strings.HasPrefix(path, "/assets/") {
		return true
	}
	if c, err := r.Cookie(cookie); err == nil && same(c.Value, s.session) {
		return true
	}
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && same(token, s.Token)
}

// login sets the cookie for a right token.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	if s.Token == "" || !same(r.FormValue("token"), s.Token) {
		render(w, http.StatusUnauthorized, "login", "That is not the token.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// health answers 200 if the server can be read.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	if _, err := s.describe(r.Context(), "hasp"); err != nil {
		http.Error(w, "the server cannot be read", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// metrics writes the page's own metrics. Those of locks are in the programs that hold them.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	streams, watched := len(s.streams), len(s.watchers)
	s.mu.Unlock()
	for _, m := range []struct {
		name, kind string
		value      int64
	}{
		{"hasp_page_reads_total", "counter", s.reads.Load()},
		{"hasp_page_read_failures_total", "counter", s.failed.Load()},
		{"hasp_page_streams", "gauge", int64(streams)},
		{"hasp_page_watched_objects", "gauge", int64(watched)},
	} {
		fmt.Fprintf(w, "# TYPE %s %s\n%s %d\n", m.name, m.kind, m.name, m.value)
	}
}
