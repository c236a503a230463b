package page

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/inspect"
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
		case !s.ownOrigin(r):
			http.Error(w, "a request of another site", http.StatusForbidden)
		case !s.admits(r):
			render(w, http.StatusUnauthorized, "login", map[string]string{"Next": "." + r.URL.RequestURI()})
		case !s.shows(r.FormValue("name")): // A form's, if it has one, and else the query's, as handlers read it.
			http.Error(w, "this page does not show that name", http.StatusNotFound)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a host is the name in --listen or --public-url, localhost or an address. With another name, a
// page of another site could read ours once that name has our address (DNS rebinding).
func (s *server) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost" || host != "" && (host == s.Host || host == s.Public.Hostname())
}

// ownOrigin reports whether a request is of our own page. A request that changes something needs an Origin.
func (s *server) ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return origin == "http://"+r.Host || origin == "https://"+r.Host || origin == s.Public.Scheme+"://"+s.Public.Host
}

// admits reports whether a request has the token, or needs none.
func (s *server) admits(r *http.Request) bool {
	path := r.URL.Path
	if s.Token == "" || path == "/healthz" || path == "/login" || strings.HasPrefix(path, "/assets/") {
		return true
	}
	if c, err := r.Cookie(cookie); err == nil && same(c.Value, sessionOf(s.Token)) {
		return true
	}
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && same(token, s.Token)
}

// login sets the cookie for a right token, and leads on to the page that was asked for. Only the browser knows the path
// at which a proxy shows the page, so the cookie has none, and the page is named from here.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	next := r.FormValue("next")
	if !strings.HasPrefix(next, "./") {
		next = "./"
	}
	if s.Token == "" || !same(r.FormValue("token"), s.Token) {
		render(w, http.StatusUnauthorized, "login", map[string]string{"Next": next, "Wrong": "That is not the token."})
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: sessionOf(s.Token), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(r.Header.Get("Origin"), "https:"),
	})
	w.Header().Set("Location", next)
	w.WriteHeader(http.StatusSeeOther)
}

// sessionOf returns the value of the cookie for a token. It outlives a restart, and does not reveal the token.
func sessionOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = mac.Write([]byte("hasp serve"))
	return hex.EncodeToString(mac.Sum(nil))
}

// from returns the address that a request is from: with a public URL, what the last proxy says. A network of IPv6 is one.
func (s *server) from(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	if all := r.Header.Values("X-Forwarded-For"); s.Public.Host != "" && len(all) > 0 {
		last := all[len(all)-1]
		host = strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().Is6() {
		network, _ := ip.WithZone("").Prefix(64)
		return network.String()
	}
	return host
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// health answers 200 if the server can be read. It waits for no turn: streams may have taken the next ones.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.source.Healthy(ctx); err != nil {
		http.Error(w, "the server cannot be read", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// metrics writes how many hold and wait for all objects, by kind, how many leases the watchers have seen lost, and what the
// pages do. If the objects cannot be read, they are missing. Those that the pages are for are watched for a while.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	for _, name := range s.Names[:min(len(s.Names), mostWatched)] {
		s.unview(s.view(name))
	}
	values := s.count(r.Context())
	values["hasp_page_reads_total"], values["hasp_page_read_failures_total"] = s.reads.Load(), s.failed.Load()
	s.mu.Lock()
	values["hasp_page_streams"], values["hasp_page_watched_objects"] = int64(len(s.streams)), int64(len(s.watchers))
	maps.Copy(values, s.lost)
	s.mu.Unlock()
	last := ""
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if name, _, _ := strings.Cut(key, "{"); name != last {
			fmt.Fprintf(w, "# TYPE %s %s\n", name, map[bool]string{true: "counter", false: "gauge"}[strings.HasSuffix(name, "_total")])
			last = name
		}
		fmt.Fprintf(w, "%s %d\n", key, values[key])
	}
}

func (s *server) count(ctx context.Context) map[string]int64 {
	values := map[string]int64{}
	for o, err := range s.found(ctx, "") {
		all := []inspect.Object{o}
		if err != nil {
			s.failed.Add(1)
		} else if len(s.Names) > 0 {
			all, err = s.describe(ctx, o.Name)
		}
		if err != nil {
			return map[string]int64{}
		}
		for _, o := range all {
			if o.Held != nil {
				values[labelled("hasp_page_held", o.Kind)] += *o.Held
				values[labelled("hasp_page_lost_total", o.Kind)] = 0 // It is shown before the first is lost.
			}
			if o.Queue != nil {
				values[labelled("hasp_page_waiting", o.Kind)] += o.Queue.Length
			}
		}
	}
	return values
}

func labelled(name string, kind inspect.Kind) string { return fmt.Sprintf("%s{kind=%q}", name, kind) }
