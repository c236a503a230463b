package httpidem

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/integration/internal/limited"
	"github.com/hasp-go/hasp/integration/internal/problem"
)

// safe are the methods of requests that may come as often as they like.
var safe = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// key returns the key of a request and of its caller, "" if it is served as it comes, or why it is not served.
func (m *Middleware) key(r *http.Request) (string, *problem.Problem) {
	values := r.Header.Values("Idempotency-Key")
	switch {
	case slices.Contains(safe, r.Method), len(values) == 0 && (m.opts.Required == nil || !m.opts.Required(r)):
		return "", nil
	case len(values) == 0:
		return "", problem.Of(http.StatusBadRequest, "The header field Idempotency-Key is missing.")
	}
	key, tenant := parse(values), m.opts.Tenant(r)
	switch "" {
	case key:
		return "", problem.Of(http.StatusBadRequest, "The header field Idempotency-Key is malformed.")
	case tenant:
		return "", problem.Of(http.StatusForbidden, "The caller is not known.")
	}
	return tenant + " " + limited.Escape(key), nil // An escaped key has no space.
}

// field is a string of a structured field (RFC 9651), or a text without what ends one in a list.
var field = regexp.MustCompile(`^(?:"((?:[ !#-\[\]-~]|\\["\\])+)"|([!#-+\--:<-~]+))$`)

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// parse returns the key that a header field has, or "".
func parse(values []string) string {
	found := field.FindStringSubmatch(values[0])
	if found == nil || len(values) > 1 {
		return ""
	}
	return unescape.Replace(found[1]) + found[2]
}

// read reads the body of a request. It returns the request with that body, and a fingerprint of both.
func (m *Middleware) read(w http.ResponseWriter, r *http.Request) (*http.Request, string, *problem.Problem) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(m.opts.MaxRequest)))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, "", problem.Of(http.StatusRequestEntityTooLarge, "")
	} else if err != nil {
		return nil, "", problem.Of(http.StatusBadRequest, "The body cannot be read.")
	}
	with := *r
	with.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.New()
	_, _ = io.WriteString(sum, r.Method+" "+r.URL.RequestURI()+"\n") // Neither has a line's end.
	_, _ = sum.Write(body)
	return &with, hex.EncodeToString(sum.Sum(nil)), nil
}
