package page

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/primitives/inspect"
)

const (
	mostStreams = 64              // at a time
	mostFrom    = 16              // of them from one address
	mostSeen    = 100             // names that a page shows at a time
	mostListed  = 500             // objects that a page lists
	rest        = 5 * time.Second // at least, between two rounds of a list
)

// turn waits until another read is due, and returns the error of ctx if that ends before.
func (s *server) turn(ctx context.Context) error {
	s.mu.Lock()
	at := s.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	s.next = at.Add(time.Second / time.Duration(s.Reads))
	s.mu.Unlock()
	if !sleep(ctx, time.Until(at)) {
		return ctx.Err()
	}
	s.reads.Add(1)
	return nil
}

// sleep waits, and reports false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// stream is what one open page gets.
type stream struct {
	from string        // address
	more chan struct{} // has a value when the names are new, or there was an event

	mu    sync.Mutex
	names []string // that the page shows

	writing sync.Mutex
	out     http.ResponseWriter
}

// card is how the page shows a name. Left has the remaining leases in milliseconds, in the order of the bars.
type card struct {
	Name string  `json:"name"`
	HTML string  `json:"html"`
	Left []int64 `json:"left"`
}

// send sends an event, or instead an error, within ten seconds. It reports false if the page is gone, or ctx has ended.
func (st *stream) send(ctx context.Context, event string, data any, err error) bool {
	if err != nil {
		event, data = "failed", err.Error()
	}
	text, err := json.Marshal(data)
	st.writing.Lock()
	defer st.writing.Unlock()
	control := http.NewResponseController(st.out)
	_ = control.SetWriteDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // The writer shows it.
	if err == nil {
		_, err = fmt.Fprintf(st.out, "event: %s\ndata: %s\n\n", event, text)
	}
	return err == nil && control.Flush() == nil && ctx.Err() == nil
}

// again has the names read that the page shows, without the rest of a pause.
func (st *stream) again() {
	select {
	case st.more <- struct{}{}:
	default:
	}
}

// live streams what happens: for a page of one object its events, for the page of all objects those that are found.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.begin()
	defer context.AfterFunc(r.Context(), cancel)()
	id, st := rand.Text(), &stream{out: w, from: s.from(r), more: make(chan struct{}, 1)}
	var producers sync.WaitGroup
	defer producers.Wait()
	defer cancel()
	if !s.enter(id, st) {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.leave(id)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back.
	st.send(ctx, "stream", id, nil)
	if name := r.FormValue("name"); name != "" {
		st.names = []string{name}
		producers.Go(func() { s.events(ctx, st, name) })
	} else {
		producers.Go(func() { s.list(ctx, st, r.FormValue("q")) })
	}
	producers.Go(func() { s.refresh(ctx, st) })
	for st.send(ctx, "alive", nil, nil) && sleep(ctx, 15*time.Second) {
	}
}

// enter adds a stream, unless there are too many, or too many from its address.
func (s *server) enter(id string, st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := 0
	for _, other := range s.streams {
		if other.from == st.from {
			same++
		}
	}
	if len(s.streams) >= mostStreams || same >= mostFrom {
		return false
	}
	s.streams[id] = st
	return true
}

func (s *server) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
}

// seen takes the names that a page shows now.
func (s *server) seen(w http.ResponseWriter, r *http.Request) {
	var names []string
	if json.NewDecoder(r.Body).Decode(&names) != nil || len(names) > mostSeen {
		http.Error(w, "not a list of names, or too long", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	st := s.streams[r.URL.Query().Get("stream")]
	s.mu.Unlock()
	if st == nil {
		http.Error(w, "no such stream", http.StatusNotFound)
		return
	}
	st.mu.Lock()
	st.names = slices.DeleteFunc(names, func(name string) bool { return !s.shows(name) })
	st.mu.Unlock()
	st.again()
}

// refresh reads the names that the page shows, again and again: once a second at most, and after events.
func (s *server) refresh(ctx context.Context, st *stream) {
	for ctx.Err() == nil {
		st.mu.Lock()
		names := slices.Clone(st.names)
		st.mu.Unlock()
		for _, name := range names {
			all, err := s.describe(ctx, name)
			if !st.send(ctx, "object", s.card(name, all), err) {
				return
			}
		}
		select {
		case <-st.more:
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// describe reads a name in its turn.
func (s *server) describe(ctx context.Context, name string) ([]inspect.Object, error) {
	if err := s.turn(ctx); err != nil {
		return nil, err
	}
	all, err := s.source.Describe(ctx, name)
	if err != nil {
		s.failed.Add(1)
	}
	return all, err
}

// card returns how the page shows a name.
func (s *server) card(name string, all []inspect.Object) card {
	c, b := card{Name: name}, &strings.Builder{}
	_ = templates.ExecuteTemplate(b, "card", map[string]any{"Name": name, "All": all, "Release": s.AllowRelease}) //nolint:errcheck // It is parsed.
	c.HTML = b.String()
	for _, o := range all {
		for _, h := range o.Holders {
			if h.Remaining != nil {
				c.Left = append(c.Left, h.Remaining.Milliseconds())
			}
		}
	}
	return c
}

// found yields the objects whose name has the text in it.
func (s *server) found(ctx context.Context, text string) iter.Seq2[inspect.Object, error] {
	if len(s.Names) == 0 {
		return s.source.List(ctx, text, s.turn)
	}
	return func(yield func(inspect.Object, error) bool) {
		for _, name := range s.Names {
			if strings.Contains(name, text) && !yield(inspect.Object{Name: name}, nil) {
				return
			}
		}
	}
}

// list finds objects, again and again. Their cards follow when the page shows them. Between two rounds it rests for as
// long as a round took.
func (s *server) list(ctx context.Context, st *stream, text string) {
	for ctx.Err() == nil {
		begin, n, more := time.Now(), 0, false
		for o, err := range s.found(ctx, text) {
			if more = n == mostListed; more || !st.send(ctx, "found", o.Name, err) {
				break
			}
			n++
		}
		if !st.send(ctx, "listed", more, nil) || !sleep(ctx, max(rest, time.Since(begin))) {
			return
		}
	}
}
