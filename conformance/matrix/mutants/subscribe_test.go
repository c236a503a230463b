package mutants

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

func subscribeMutants() []mutant {
	return []mutant{
		{"fails otherwise where it has no pub/sub", noPubSub, "SubscribeWithoutPubSubIsRefused",
			onSubscribeError(backend.ErrNotSupported, "no")},
		{"does not wait for the server's acknowledgement", embedded, "SubscribeWaitsForTheServer",
			onSubscribe(subscribeLater)},
		{"delivers in another order", embedded, "MessagesArriveInOrder", onEvents(swapSome)},
		{"ends messages at a zero byte", embedded, "MessageBytesSurvive",
			onEvents(func(h backend.Handler) backend.Handler {
				return func(event backend.Event) {
					event.Payload, _, _ = strings.Cut(event.Payload, "\x00")
					h(event)
				}
			})},
		{"subscribes under an ended context", embedded, "SubscribeHeedsEndedContext",
			subscribeDeaf(func(ctx context.Context) bool { return ctx.Err() != nil })},
		{"ignores the end of the context while it subscribes", oneServer, "SubscribeHeedsContext",
			subscribeDeaf(func(ctx context.Context) bool { return ctx.Err() == nil })},
		{"ends the subscription with Subscribe's context", embedded, "ContextDoesNotBoundSubscription",
			onSubscription(func(ctx context.Context, _ string, sub backend.Subscription) backend.Subscription {
				context.AfterFunc(ctx, sub.Cancel)
				return sub
			})},
		{"names the wrong command to publish", embedded, "PublishCommandReachesSubscribers",
			func(b *broken) {
				b.can = func(c backend.Capabilities) backend.Capabilities { c.Sharded = !c.Sharded; return c }
			}},
		{"leaves cancelled subscriptions with the server", embedded, "CancelAndCloseRelease",
			onCancel(func(func()) {})},
		{"leaves a cancelled subscription with the server while it has another", embedded, "CancelAndCloseRelease",
			cancelsTheLastOnly},
		{"leaves subscriptions with the server after Close", embedded, "CancelAndCloseRelease", keepSubscriptions},
		{"calls handlers after Cancel", embedded, "NoCallAfterCancel",
			onCancel(func(cancel func()) { time.AfterFunc(10*time.Second, cancel) })},
		{"waits for the handler in Cancel", embedded, "CancelFromTheHandler", onSubscribe(cancelWaits)},
		{"says something else than that it is closed", embedded, "SubscribeAfterCloseIsRefused",
			onSubscribeError(backend.ErrClosed, "use of closed connection")},
	}
}

// onCancel replaces what Cancel does.
func onCancel(change func(cancel func())) func(*broken) {
	return onSubscription(func(_ context.Context, _ string, sub backend.Subscription) backend.Subscription {
		return canceler(func() { change(sub.Cancel) })
	})
}

// cancelsTheLastOnly cancels only what is subscribed alone.
func cancelsTheLastOnly(b *broken) {
	var alive atomic.Int64
	onSubscription(func(_ context.Context, _ string, sub backend.Subscription) backend.Subscription {
		alive.Add(1)
		return canceler(sync.OnceFunc(func() {
			if alive.Add(-1) == 0 {
				sub.Cancel()
			}
		}))
	})(b)
}

// onSubscribeError replaces an error of Subscribe by another text.
func onSubscribeError(target error, text string) func(*broken) {
	return onSubscribe(func(good subscribeFunc) subscribeFunc {
		return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
			sub, err := good(ctx, channel, h)
			return sub, instead(target, errors.New(text))(err)
		}
	})
}

func subscribeDeaf(when func(ctx context.Context) bool) func(*broken) {
	return onSubscribe(func(good subscribeFunc) subscribeFunc {
		return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
			if when(ctx) {
				ctx = context.WithoutCancel(ctx)
			}
			return good(ctx, channel, h)
		}
	})
}

// subscribeLater returns from Subscribe before anything is sent.
func subscribeLater(good subscribeFunc) subscribeFunc {
	return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
		// A closed backend, or an ended context, is seen without the server.
		if sub, err := good(ctx, channel+"'", func(backend.Event) {}); err != nil {
			return sub, err
		}
		made := make(chan backend.Subscription, 1)
		go func() {
			time.Sleep(5 * time.Millisecond)
			sub, err := good(context.WithoutCancel(ctx), channel, h)
			if err != nil {
				sub = canceler(func() {})
			}
			made <- sub
		}()
		return canceler(func() { sub := <-made; sub.Cancel(); made <- sub }), nil
	}
}

// swapSome delivers every tenth message after the next, if that comes soon.
func swapSome(h backend.Handler) backend.Handler {
	var mu sync.Mutex
	var held []backend.Event
	flush := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, event := range held {
			h(event)
		}
		held = nil
	}
	n := 0
	return func(event backend.Event) {
		mu.Lock()
		n++
		if n%10 == 5 {
			held = append(held, event)
			mu.Unlock()
			time.AfterFunc(50*time.Millisecond, flush)
			return
		}
		h(event)
		mu.Unlock()
		flush()
	}
}

// keepSubscriptions subscribes on a backend that nobody closes before the client.
func keepSubscriptions(b *broken) {
	hidden, err := b.harness.New(context.Background())
	if err != nil {
		return
	}
	b.subscribe = hidden.Backend.Subscribe
	time.AfterFunc(2*time.Minute, func() { _ = hidden.Backend.Close() })
}

// cancelWaits makes Cancel wait until no handler runs.
func cancelWaits(good subscribeFunc) subscribeFunc {
	return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
		var running sync.Mutex
		sub, err := good(ctx, channel, func(event backend.Event) {
			running.Lock()
			defer running.Unlock()
			h(event)
		})
		if err != nil {
			return nil, err
		}
		return canceler(func() {
			running.Lock()
			defer running.Unlock()
			sub.Cancel()
		}), nil
	}
}
