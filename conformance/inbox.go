package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// inbox collects the events of one subscription.
type inbox struct {
	mu      sync.Mutex
	events  []backend.Event
	changed chan struct{} // closed at the next event
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

// handle is the subscription's handler.
func (b *inbox) handle(event backend.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
	close(b.changed)
	b.changed = make(chan struct{})
}

// got returns the events so far, and what is closed at the next one.
func (b *inbox) got() ([]backend.Event, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events), b.changed
}

// await waits until ok is true for the events so far, and returns them.
func (b *inbox) await(
	ctx context.Context, what string, ok func([]backend.Event) bool,
) ([]backend.Event, error) {
	for {
		events, changed := b.got()
		if ok(events) {
			return events, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w; got %.20q", what, ctx.Err(), events)
		}
	}
}

// awaitMessage waits for a message.
func (b *inbox) awaitMessage(ctx context.Context, payload string) error {
	_, err := b.await(ctx, fmt.Sprintf("message %.20q", payload), func(got []backend.Event) bool {
		return slices.Contains(got, backend.Event{Payload: payload})
	})
	return err
}

// awaitMessages waits for these messages, and returns an error if others come.
func (b *inbox) awaitMessages(ctx context.Context, payloads ...string) error {
	var want []backend.Event
	for _, payload := range payloads {
		want = append(want, backend.Event{Payload: payload})
	}
	got, err := b.await(ctx, fmt.Sprintf("messages %q", payloads), func(got []backend.Event) bool {
		return len(got) >= len(want)
	})
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("got the messages %q, want %q", got, want)
	}
	return err
}

// awaitGap waits for a gap event after the first n events.
func (b *inbox) awaitGap(ctx context.Context, n int) error {
	_, err := b.await(ctx, "a Resubscribed event", func(got []backend.Event) bool {
		return slices.ContainsFunc(got[min(n, len(got)):], isGap)
	})
	return err
}

// count returns the number of events so far.
func (b *inbox) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events)
}

func isGap(event backend.Event) bool { return event.Kind == backend.Resubscribed }

// listen subscribes a new inbox to channel, and waits until the server knows: that Subscribe does
// so itself is another case.
func (e *env) listen(ctx context.Context, b backend.Subscriber, channel string) (
	*inbox, backend.Subscription, error,
) {
	box := newInbox()
	sub, err := b.Subscribe(ctx, channel, box.handle)
	if err != nil {
		return nil, nil, fmt.Errorf("subscribing to %q: %w", channel, err)
	}
	return box, sub, eventually(ctx, "the server to subscribe", func() (bool, error) {
		n, err := e.subscribers(ctx, channel)
		return n > 0, err
	})
}
