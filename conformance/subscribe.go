package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// subscribeCases are about the beginning and the end of a subscription: S1, S4, S5.
func subscribeCases() []Case {
	pubsub := []need{needsPubSub}
	link := []need{needsPubSub, needsLink}
	return []Case{
		{
			Name: "SubscribeWithoutPubSubIsRefused", Clause: "S1",
			needs: []need{needsNoPubSub}, check: checkNoPubSub,
		},
		{Name: "SubscribeWaitsForTheServer", Clause: "S1", needs: pubsub, check: checkAck},
		{Name: "MessagesArriveInOrder", Clause: "S1", needs: pubsub, check: checkOrder},
		{Name: "MessageBytesSurvive", Clause: "S1", needs: pubsub, check: checkPayloads},
		{Name: "SubscribeHeedsEndedContext", Clause: "S1", needs: pubsub, check: checkEndedSubscribe},
		{Name: "SubscribeHeedsContext", Clause: "S1", needs: link, check: checkSilentSubscribe},
		{Name: "ContextDoesNotBoundSubscription", Clause: "S1", needs: pubsub, check: checkOutlives},
		{Name: "PublishCommandReachesSubscribers", Clause: "S4", needs: pubsub, check: checkPublish},
		{Name: "CancelReleases", Clause: "S5", needs: pubsub, check: checkCancelReleases},
		{Name: "CloseReleases", Clause: "S5", needs: pubsub, check: checkCloseReleases},
		{Name: "NoCallAfterCancel", Clause: "S5", needs: pubsub, check: checkNoCallAfterCancel},
		{Name: "CancelFromTheHandler", Clause: "S5", needs: pubsub, check: checkCancelInside},
		{Name: "SubscribeAfterCloseIsRefused", Clause: "R9", needs: pubsub, check: checkSubscribeClosed},
	}
}

func checkNoPubSub(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	_, err = b.Subscribe(ctx, e.key("c"), func(backend.Event) {})
	if !errors.Is(err, backend.ErrNotSupported) {
		return fmt.Errorf("got error %w, want ErrNotSupported", err)
	}
	return nil
}

func checkAck(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	for i := range 20 {
		channel := e.key(fmt.Sprint("c", i))
		if _, err := b.Subscribe(ctx, channel, func(backend.Event) {}); err != nil {
			return err
		}
		n, err := e.subscribers(ctx, channel)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("after Subscribe returned the server has %d subscribers, want 1", n)
		}
	}
	return nil
}

func checkOrder(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box, _, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	const messages = 300
	for i := range messages {
		if err := e.publish(ctx, channel, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	if err := box.awaitMessage(ctx, fmt.Sprint(messages-1)); err != nil {
		return err
	}
	return wantNumbered(box, messages)
}

// wantNumbered checks that all messages came in order, or that a gap says where some are missing.
func wantNumbered(box *inbox, messages int) error {
	events, _ := box.got()
	next, gap := 0, false
	for _, event := range events {
		switch {
		case isGap(event):
			gap = true
		case event.Payload == fmt.Sprint(next):
			next++
		case gap:
			_, _ = fmt.Sscan(event.Payload, &next)
			next, gap = next+1, false
		default:
			return fmt.Errorf("message %q came where %d was due", event.Payload, next)
		}
	}
	if next != messages && !gap {
		return fmt.Errorf("%d of %d messages came, and no gap was reported", next, messages)
	}
	return nil
}

func checkPayloads(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key(allBytes)
	box, _, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	for _, payload := range []string{"", allBytes, "0"} {
		if err := e.publish(ctx, channel, payload); err != nil {
			return err
		}
		if err := box.awaitMessage(ctx, payload); err != nil {
			return err
		}
	}
	return nil
}

func checkEndedSubscribe(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Subscribe(ended, e.key("c"), func(backend.Event) {})
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("got error %w, want one that wraps context.Canceled", err)
	}
	return e.awaitSubscribers(ctx, e.key("c"), 0)
}

func checkSilentSubscribe(ctx context.Context, e *env) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	in.Link.Blackhole()
	subErr, err := promptly(prompt, "Subscribe", func() error {
		callCtx, cancel := cancelled(ctx)
		defer cancel()
		_, err := in.Backend.Subscribe(callCtx, channel, func(backend.Event) {})
		return err
	})
	in.Link.Restore()
	switch {
	case err != nil:
		return err
	case !errors.Is(subErr, context.Canceled):
		return fmt.Errorf("got error %w, want one that wraps context.Canceled", subErr)
	}
	// It works again.
	box, _, err := e.listen(ctx, in.Backend, channel)
	if err != nil {
		return err
	}
	if err := e.publish(ctx, channel, "x"); err != nil {
		return err
	}
	return box.awaitMessage(ctx, "x")
}

func checkOutlives(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box := newInbox()
	callCtx, cancel := context.WithCancel(ctx)
	_, err = b.Subscribe(callCtx, channel, box.handle)
	cancel()
	if err != nil {
		return err
	}
	// Time for a backend that gives the subscription up to do so.
	for i := range 20 {
		time.Sleep(5 * time.Millisecond)
		if n, err := e.subscribers(ctx, channel); err != nil || n != 1 {
			return fmt.Errorf("%d subscribers are left after Subscribe's context ended, %w", n, err)
		}
		if err := e.publish(ctx, channel, fmt.Sprint(i)); err != nil {
			return err
		}
		if err := box.awaitMessage(ctx, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	return nil
}

// checkPublish publishes from a script, by the command that the backend names.
func checkPublish(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box, _, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	script := e.script("return redis.call(ARGV[1], ARGV[2], 'x')", 1, backend.Never)
	args := []string{b.Capabilities().Publish(), channel}
	if _, err := b.Run(ctx, script, []string{e.key("k")}, args); err != nil {
		return err
	}
	return box.awaitMessage(ctx, "x")
}

func checkCancelReleases(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	_, sub, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	sub.Cancel()
	sub.Cancel()
	return e.awaitSubscribers(ctx, channel, 0)
}

func checkCloseReleases(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	_, sub, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	err = e.awaitSubscribers(ctx, channel, 0)
	sub.Cancel()
	return err
}

// checkNoCallAfterCancel cancels in the middle of a stream that another backend hears on. What is
// not delivered there must be so here as well, after as many round trips.
func checkNoCallAfterCancel(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box, sub, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	witness, err := e.backend(ctx)
	if err != nil {
		return err
	}
	other, _, err := e.listen(ctx, witness, channel)
	if err != nil {
		return err
	}
	if err := e.awaitSubscribers(ctx, channel, 2); err != nil {
		return err
	}
	if err := e.publish(ctx, channel, "before"); err != nil {
		return err
	}
	if err := box.awaitMessage(ctx, "before"); err != nil {
		return err
	}
	sub.Cancel()
	for i := range 50 {
		payload := fmt.Sprint("after ", i)
		if err := e.publish(ctx, channel, payload); err != nil {
			return err
		}
		if err := other.awaitMessage(ctx, payload); err != nil {
			return err
		}
	}
	if n := box.count(); n != 1 {
		return fmt.Errorf("the handler was called %d times after Cancel", n-1)
	}
	return nil
}

func checkCancelInside(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	subs, done := make(chan backend.Subscription, 1), make(chan struct{})
	sub, err := b.Subscribe(ctx, channel, func(backend.Event) {
		(<-subs).Cancel()
		close(done)
	})
	if err != nil {
		return err
	}
	subs <- sub
	if err := e.awaitSubscribers(ctx, channel, 1); err != nil {
		return err
	}
	if err := e.publish(ctx, channel, "x"); err != nil {
		return err
	}
	select {
	case <-done:
	case <-time.After(Patience / 4):
		return errors.New("Cancel did not return within the handler")
	}
	return e.awaitSubscribers(ctx, channel, 0)
}

func checkSubscribeClosed(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	_, err = b.Subscribe(ctx, e.key("c"), func(backend.Event) {})
	if !errors.Is(err, backend.ErrClosed) {
		return fmt.Errorf("got error %w, want ErrClosed", err)
	}
	return nil
}
