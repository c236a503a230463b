package httpidem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// maxFields is for the status and the header fields of an answer, besides its body.
const maxFields = 64 << 10

// described are the header fields that are always kept.
var described = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Disposition", "Content-Range",
	"Location", "Link", "Etag", "Last-Modified", "Cache-Control",
}

// fields returns the names of the header fields that are kept.
func fields(further []string) []string {
	names := slices.Clone(described)
	for _, name := range further {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names
}

// answer is what is kept.
type answer struct {
	Status int
	Fields http.Header
	Body   []byte `json:"-"`

	of *recorder // nil: it comes from the server
}

// marshal encodes an answer. The body follows in a line of its own, as it is.
func marshal(value any) ([]byte, error) {
	head, err := json.Marshal(value)
	body := value.(answer).Body //nolint:forcetypeassert // The memo has no other type.
	return slices.Concat(head, []byte("\n"), body), err
}

func unmarshal(data []byte, value any) error {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	value.(*answer).Body = body //nolint:forcetypeassert // The memo has no other type.
	return json.Unmarshal(head, value)
}

// replay writes the answer of another request.
func (a *answer) replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Fields)
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // The client of the service may be gone.
}

// unkeptError has an answer that is not to be kept, and nil if it has left as it was written.
type unkeptError struct {
	status int
	answer *answer
}

func (e *unkeptError) Error() string {
	return fmt.Sprintf("an answer with status %d is not kept", e.status)
}

// recorder is the [http.ResponseWriter] of a handler. It keeps the answer back, until the body is too large.
type recorder struct {
	w           http.ResponseWriter
	opts        *Options
	keepNothing func() error

	header  http.Header
	status  int         // 0: the handler has not set it
	sent    http.Header // the header when the status was set
	body    []byte
	flowing bool
	failed  error // of keepNothing
}

// Header implements [http.ResponseWriter].
func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader implements [http.ResponseWriter]. A status below 200 does not leave.
func (rec *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpidem: status %d", status)) // as net/http does, before it is kept
	}
	if status >= http.StatusOK && rec.status == 0 {
		rec.status, rec.sent = status, rec.header.Clone()
	}
}

// Write implements [http.ResponseWriter].
func (rec *recorder) Write(b []byte) (int, error) {
	rec.WriteHeader(http.StatusOK)
	if len(rec.body)+len(b) > rec.opts.MaxResponse && !rec.flowing {
		rec.overflow()
	}
	if rec.flowing {
		return rec.w.Write(b)
	}
	rec.body = append(rec.body, b...)
	return len(b), nil
}

// Flush implements [http.Flusher]. Nothing leaves while the answer may still be kept.
func (rec *recorder) Flush() {
	rec.WriteHeader(http.StatusOK)
	if rec.flowing {
		_ = http.NewResponseController(rec.w).Flush() // A writer that cannot is no fault of the handler.
	}
}

// overflow lets the answer leave, once the server has stored that it is not kept. Otherwise a client whose connection is
// cut might have it run again.
func (rec *recorder) overflow() {
	if rec.opts.Keep(rec.status) {
		rec.failed = rec.keepNothing()
	}
	rec.send()
	rec.flowing, rec.body = true, nil
}

// send writes what was kept back.
func (rec *recorder) send() {
	if rec.flowing {
		return
	}
	clear(rec.w.Header())
	maps.Copy(rec.w.Header(), rec.sent)
	rec.w.WriteHeader(rec.status)
	_, _ = rec.w.Write(rec.body) // The client of the service may be gone.
}

// answer returns what is kept, or why nothing is.
func (rec *recorder) answer() (answer, error) {
	rec.WriteHeader(http.StatusOK)
	a := answer{Status: rec.status, Fields: http.Header{}, Body: rec.body, of: rec}
	for _, name := range rec.opts.Headers {
		if values := rec.sent.Values(name); len(values) > 0 {
			a.Fields[name] = values
		}
	}
	switch {
	case rec.failed != nil:
		return answer{}, rec.failed
	case rec.opts.Keep(rec.status):
		return a, nil
	case rec.flowing:
		return answer{}, &unkeptError{status: rec.status}
	}
	return answer{}, &unkeptError{rec.status, &a}
}
