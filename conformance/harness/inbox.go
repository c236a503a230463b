package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// Inbox collects the events of one subscription. It is safe for concurrent use; the zero value is empty.
type Inbox struct {
	mu     sync.Mutex
	events []backend.Event
}

// Handle is the subscription's handler.
func (b *Inbox) Handle(event backend.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
}

// Events returns the events so far.
func (b *Inbox) Events() []backend.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// Await waits until ok is true for the events so far, and returns them.
func (b *Inbox) Await(ctx context.Context, what string, ok func([]backend.Event) bool) (got []backend.Event) {
	Eventually(ctx, what, func() bool {
		got = b.Events()
		must.Not(!ok(got), "got %.20q", got)
		return true
	})
	return got
}

// AwaitMessage waits for a message.
func (b *Inbox) AwaitMessage(ctx context.Context, payload string) {
	b.Await(ctx, fmt.Sprintf("message %.20q", payload), func(got []backend.Event) bool {
		return slices.Contains(got, backend.Event{Payload: payload})
	})
}

// IsGap reports whether an event says that messages may be missing.
func IsGap(event backend.Event) bool { return event.Kind == backend.EventResubscribed }

// Listen subscribes a new inbox to channel, and waits until the server knows: that Subscribe does
// so itself is another case.
func (e *Env) Listen(ctx context.Context, b backend.Subscriber, channel string) (*Inbox, backend.Subscription) {
	box := &Inbox{}
	sub, err := b.Subscribe(ctx, channel, box.Handle)
	if err != nil {
		must.Fail("subscribing to %q: %w", channel, err)
	}
	Eventually(ctx, "the server to subscribe", func() bool { return e.Subscribers(ctx, channel) > 0 })
	return box, sub
}
