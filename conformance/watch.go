package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// watched is a backend that counts what a client of primitives is told by it.
type watched struct {
	backend.Backend
	reach func(situation string)

	mu     sync.Mutex
	events int            // messages, gaps and subscriptions so far
	tries  map[string]int // events so far when an acquire was refused, by what names the attempt
}

// Run implements backend.ScriptRunner.
func (w *watched) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	attempt := ""
	if strings.HasSuffix(script.Name, "_acquire") {
		attempt = strings.Join(args, " ")
		w.tried(attempt)
	}
	reply, err := w.Backend.Run(ctx, script, keys, args)
	var server *backend.ServerError
	switch {
	case errors.As(err, &server):
		w.reach("error " + server.Code)
	case backend.MayHaveRun(err):
		w.reach(script.Name + " without an answer")
	case err == nil && attempt != "":
		w.answered(attempt)
	}
	return reply, err
}

// tried counts an attempt that was refused before, and whether nobody told it to try again.
func (w *watched) tried(attempt string) {
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

// answered notes an attempt that got an answer. If it was granted, it is not heard of again.
func (w *watched) answered(attempt string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries == nil {
		w.tries = map[string]int{}
	}
	w.tries[attempt] = w.events
}

// Subscribe implements backend.Subscriber.
func (w *watched) Subscribe(
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

func (w *watched) event(situation string) {
	w.reach(situation)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
}
