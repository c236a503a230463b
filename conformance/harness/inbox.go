package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// Inbox collects the events of one subscription. It is safe for concurrent use.
type Inbox struct {
	mu      sync.Mutex
	events  []backend.Event
	changed chan struct{} // closed at the next event
}

// NewInbox returns an empty inbox.
func NewInbox() *Inbox { return &Inbox{changed: make(chan struct{})} }

// Handle is the subscription's handler.
func (b *Inbox) Handle(event backend.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
	close(b.changed)
	b.changed = make(chan struct{})
}

// Events returns the events so far.
func (b *Inbox) Events() []backend.Event {
	events, _ := b.got()
	return events
}

// got returns the events so far, and what is closed at the next one.
func (b *Inbox) got() ([]backend.Event, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events), b.changed
}

// Await waits until ok is true for the events so far, and returns them.
func (b *Inbox) Await(ctx context.Context, what string, ok func([]backend.Event) bool) []backend.Event {
	for {
		events, changed := b.got()
		if ok(events) {
			return events
		}
		select {
		case <-changed:
		case <-ctx.Done():
			must.Fail("waiting for %s: %w; got %.20q", what, ctx.Err(), events)
		}
	}
}

// AwaitMessage waits for a message.
func (b *Inbox) AwaitMessage(ctx context.Context, payload string) {
	b.Await(ctx, fmt.Sprintf("message %.20q", payload), func(got []backend.Event) bool {
		return slices.Contains(got, backend.Event{Payload: payload})
	})
}

// AwaitGap waits for a gap event after the first n events.
func (b *Inbox) AwaitGap(ctx context.Context, n int) {
	b.Await(ctx, "a Resubscribed event", func(got []backend.Event) bool {
		return slices.ContainsFunc(got[min(n, len(got)):], IsGap)
	})
}

// IsGap reports whether an event says that messages may be missing.
func IsGap(event backend.Event) bool { return event.Kind == backend.Resubscribed }

// Listen subscribes a new inbox to channel, and waits until the server knows: that Subscribe does
// so itself is another case.
func (e *Env) Listen(ctx context.Context, b backend.Subscriber, channel string) (*Inbox, backend.Subscription) {
	box := NewInbox()
	sub, err := b.Subscribe(ctx, channel, box.Handle)
	if err != nil {
		must.Fail("subscribing to %q: %w", channel, err)
	}
	Eventually(ctx, "the server to subscribe", func() bool { return e.Subscribers(ctx, channel) > 0 })
	return box, sub
}
