package engine

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// watchedBackend is a backend that counts the answers and messages that a client of primitives gets.
type watchedBackend struct {
	seer
	reach func(situation string)

	mu     sync.Mutex
	events int            // messages, gaps and subscriptions so far
	tries  map[string]int // events so far when an acquire was refused, by what names the attempt
}

func newWatched(b backend.Backend, reach func(situation string)) *watchedBackend {
	w := &watchedBackend{reach: reach}
	w.seer = seer{b, w.sees}
	return w
}

// sees counts a call, and its outcome.
func (w *watchedBackend) sees(c backend.Call) (answered func(backend.Outcome)) {
	attempt := ""
	if strings.HasSuffix(c.Script.Name, "_acquire") {
		attempt = strings.Join(c.Args, " ")
		w.tried(attempt)
	}
	return func(o backend.Outcome) {
		var server *backend.ServerError
		switch {
		case errors.As(o.Err, &server):
			w.reach("error " + server.Code)
		case backend.MayHaveRun(o.Err):
			w.reach(c.Script.Name + " without an answer")
		case o.Err == nil && attempt != "":
			w.answered(attempt)
		}
	}
}

// RunBatch implements backend.Batcher.
func (w *watchedBackend) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	if len(calls) > 1 {
		w.reach("batch of several")
	}
	w.seer.RunBatch(ctx, calls, report)
}

// tried counts an attempt that was refused before, and whether nothing had made it try again.
func (w *watchedBackend) tried(attempt string) {
	w.mu.Lock()
	events, again := w.tries[attempt]
	quiet := events == w.events
	w.mu.Unlock()
	if again {
		w.reach("contention")
	}
	if again && quiet {
		w.reach("retry without a message")
	}
}

// answered notes an attempt that got an answer. If it was granted, it does not come again.
func (w *watchedBackend) answered(attempt string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries == nil {
		w.tries = map[string]int{}
	}
	w.tries[attempt] = w.events
}

// Subscribe implements backend.Subscriber.
func (w *watchedBackend) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	subscription, err := w.Backend.Subscribe(ctx, channel, func(e backend.Event) {
		w.event(map[backend.EventKind]string{
			backend.Message: "message", backend.Resubscribed: "gap",
		}[e.Kind])
		handler(e)
	})
	if err == nil {
		w.event("subscription")
	}
	return subscription, err
}

func (w *watchedBackend) event(situation string) {
	w.reach(situation)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
}
