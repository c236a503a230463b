package page

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/primitives/inspect"
)

const (
	history     = 100              // events of a name that are kept
	mostWatched = mostStreams      // names at a time
	keep        = 10 * time.Minute // how long a name is watched that no page shows
)

// event is an event, or an error in its place.
type event struct {
	inspect.Event
	Error string `json:"error,omitempty"`
}

// watcher has the last events of a name.
type watcher struct {
	mu      sync.Mutex
	past    []event
	n       int           // of all events
	changed chan struct{} // closed at the next event
	viewers int
	end     *time.Timer // of the watch, without viewers
}

// events sends the last events of a name, and later ones.
func (s *server) events(ctx context.Context, st *stream, name string) {
	w := s.view(name)
	defer s.unview(w)
	for seen := 0; ; {
		w.mu.Lock()
		fresh := slices.Clone(w.past[max(0, len(w.past)-(w.n-seen)):])
		seen = w.n
		changed := w.changed
		w.mu.Unlock()
		for _, e := range fresh {
			if !st.send(ctx, "happened", e, nil) {
				return
			}
		}
		st.again()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// view returns the watcher of a name, with one viewer more. If there are too many, one without viewers ends: streams are
// fewer than watchers may be.
func (s *server) view(name string) *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchers[name]
	if w == nil || w.viewers == 0 && !w.end.Stop() { // It has just ended.
		for other, idle := range s.watchers {
			if len(s.watchers) >= mostWatched && idle.viewers == 0 {
				delete(s.watchers, other)
				idle.end.Reset(0)
			}
		}
		ctx, cancel := s.begin()
		w = &watcher{changed: make(chan struct{}), end: time.AfterFunc(keep, cancel)}
		w.end.Stop()
		s.watchers[name] = w
		go s.watch(ctx, name, w)
	}
	w.viewers++
	return w
}

func (s *server) unview(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.viewers--; w.viewers == 0 {
		w.end.Reset(keep)
	}
}

// watch adds events to a watcher, until ctx ends or an error stays: then the next viewer gets another watcher.
func (s *server) watch(ctx context.Context, name string, w *watcher) {
	for e, err := range s.source.Watch(ctx, name) {
		if s.turn(ctx) != nil {
			break
		}
		shown := event{Event: e}
		if err != nil {
			shown.At, shown.Error = time.Now(), err.Error()
		}
		w.add(shown)
		if e.Kind == inspect.Lost {
			s.mu.Lock()
			s.lost[labelled("hasp_page_lost_total", e.Object.Kind)]++
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[name] == w {
		delete(s.watchers, name)
	}
}

func (w *watcher) add(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past = append(w.past, e)
	w.past = w.past[max(0, len(w.past)-history):]
	w.n++
	close(w.changed)
	w.changed = make(chan struct{})
}
