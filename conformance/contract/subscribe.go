package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// subscribeCases are about the beginning and the end of subscriptions, and about several at a time: S1 to S6, R9.
func subscribeCases() []harness.Case {
	return []harness.Case{
		of("S1", "SubscribeWithoutPubSubIsRefused", withoutPubSubIsRefused, harness.NoPubSub),
		of("S1", "SubscribeWaitsForTheServer", subscribeWaitsForTheServer, harness.PubSub),
		of("S1", "MessagesArriveInOrder", messagesArriveInOrder, harness.PubSub),
		of("S1", "MessageBytesSurvive", messageBytesSurvive, harness.PubSub),
		of("S1", "SubscribeHeedsEndedContext", subscribeHeedsEndedContext, harness.PubSub),
		of("S1", "SubscribeHeedsContext", subscribeHeedsContext, harness.PubSub, harness.Faults),
		of("S1", "ContextDoesNotBoundSubscription", contextDoesNotBound, harness.PubSub),
		of("S4", "PublishCommandReachesSubscribers", publishCommandReaches, harness.PubSub),
		of("S5", "CancelAndCloseRelease", cancelAndCloseRelease, harness.PubSub),
		of("S5", "NoCallAfterCancel", noCallAfterCancel, harness.PubSub),
		of("S5", "CancelFromTheHandler", cancelFromTheHandler, harness.PubSub),
		of("R9", "SubscribeAfterCloseIsRefused", subscribeAfterCloseIsRefused, harness.PubSub),
		alone(of("S3", "SubscriptionsShareAConnection", shareAConnection, harness.PubSub, harness.ClientList)),
		of("S3", "SlowHandlerDelaysNobody", slowHandlerDelaysNobody, harness.PubSub),
		of("S2", "SlowHandlerHearsOfDrops", slowHandlerHearsOfDrops, harness.PubSub),
		of("S6", "CancelLeavesOthersAlone", cancelLeavesOthersAlone, harness.PubSub),
		of("S6", "CancelLeavesNewOnesAlone", cancelLeavesNewOnesAlone, harness.PubSub),
	}
}

// subscribe subscribes to channel, whatever comes.
func subscribe(ctx context.Context, b backend.Subscriber, channel string) error {
	_, err := b.Subscribe(ctx, channel, func(backend.Event) {})
	return err
}

// hear publishes on channel, and waits until the message is in box.
func hear(ctx context.Context, e *harness.Env, box *harness.Inbox, channel, payload string) {
	e.Publish(ctx, channel, payload)
	box.AwaitMessage(ctx, payload)
}

func withoutPubSubIsRefused(ctx context.Context, e *harness.Env) {
	must.Wrap(subscribe(ctx, e.Backend(ctx), e.Key("c")), backend.ErrNotSupported)
}

func subscribeWaitsForTheServer(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	for i := range 20 {
		channel := e.Key(fmt.Sprint("c", i))
		must.Do(subscribe(ctx, b, channel))
		n := e.Subscribers(ctx, channel)
		must.Not(n != 1, "after Subscribe returned the server has %d subscribers, want 1", n)
	}
}

func messagesArriveInOrder(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	box, _ := e.Listen(ctx, b, channel)
	const messages = 300
	for i := range messages {
		e.Publish(ctx, channel, fmt.Sprint(i))
	}
	box.AwaitMessage(ctx, fmt.Sprint(messages-1))
	wantNumbered(box.Events(), messages)
}

// wantNumbered fails unless all messages came in order, or a gap says where some are missing.
func wantNumbered(events []backend.Event, messages int) {
	next, gap := 0, false
	for _, event := range events {
		switch {
		case harness.IsGap(event):
			gap = true
		case event.Payload == fmt.Sprint(next):
			next++
		case gap:
			_, _ = fmt.Sscan(event.Payload, &next)
			next, gap = next+1, false
		default:
			must.Fail("message %q came where %d was due", event.Payload, next)
		}
	}
	must.Not(next != messages && !gap, "%d of %d messages came, and no gap was reported", next, messages)
}

func messageBytesSurvive(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key(allBytes)
	box, _ := e.Listen(ctx, b, channel)
	for _, payload := range []string{"", allBytes, "0"} {
		hear(ctx, e, box, channel, payload)
	}
}

func subscribeHeedsEndedContext(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	must.Wrap(subscribe(ended(ctx), b, channel), context.Canceled)
	e.AwaitSubscribers(ctx, channel, 0)
}

func subscribeHeedsContext(ctx context.Context, e *harness.Env) {
	in, channel := e.Open(ctx), e.Key("c")
	wantCancelled(ctx, in, prompt, "Subscribe", func(ctx context.Context) error {
		return subscribe(ctx, in.Backend, channel)
	})
	// It works again.
	box, _ := e.Listen(ctx, in.Backend, channel)
	hear(ctx, e, box, channel, "x")
}

func contextDoesNotBound(ctx context.Context, e *harness.Env) {
	b, channel, box := e.Backend(ctx), e.Key("c"), new(harness.Inbox)
	callCtx, cancel := context.WithCancel(ctx)
	_, err := b.Subscribe(callCtx, channel, box.Handle)
	cancel()
	must.Do(err)
	for i := range 20 { // Time for a backend that gives the subscription up to do so.
		time.Sleep(5 * time.Millisecond)
		n := e.Subscribers(ctx, channel)
		must.Not(n != 1, "%d subscribers are left after Subscribe's context ended", n)
		hear(ctx, e, box, channel, fmt.Sprint(i))
	}
}

// publishCommandReaches publishes from a script, by the command that the backend names.
func publishCommandReaches(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	box, _ := e.Listen(ctx, b, channel)
	script := e.Script("return redis.call(ARGV[1], ARGV[2], 'x')", 1, backend.RetryNever)
	must.Do(run(ctx, b, script, e.Key("k"), b.Capabilities().Publish(), channel))
	box.AwaitMessage(ctx, "x")
}

func cancelAndCloseRelease(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	box, _ := e.Listen(ctx, b, e.Key("kept"))
	_, cancelled := e.Listen(ctx, b, e.Key("c"))
	cancelled.Cancel()
	cancelled.Cancel()
	e.AwaitSubscribers(ctx, e.Key("c"), 0)
	hear(ctx, e, box, e.Key("kept"), "x")
	_, closed := e.Listen(ctx, b, e.Key("c"))
	defer closed.Cancel()
	must.Do(b.Close())
	e.AwaitSubscribers(ctx, e.Key("c"), 0)
}

// noCallAfterCancel cancels in the middle of a stream that another backend hears on. What is not
// delivered there must be so here as well, after as many round trips.
func noCallAfterCancel(ctx context.Context, e *harness.Env) {
	channel := e.Key("c")
	box, sub := e.Listen(ctx, e.Backend(ctx), channel)
	other, _ := e.Listen(ctx, e.Backend(ctx), channel)
	e.AwaitSubscribers(ctx, channel, 2)
	hear(ctx, e, box, channel, "before")
	sub.Cancel()
	for i := range 50 {
		hear(ctx, e, other, channel, fmt.Sprint("after ", i))
	}
	n := len(box.Events())
	must.Not(n != 1, "the handler was called %d times after Cancel", n-1)
}

func cancelFromTheHandler(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	subs, done := make(chan backend.Subscription, 1), make(chan error)
	subs <- must.Get(b.Subscribe(ctx, channel, func(backend.Event) {
		(<-subs).Cancel()
		close(done)
	}))
	e.AwaitSubscribers(ctx, channel, 1)
	e.Publish(ctx, channel, "x")
	harness.Finish("Cancel within the handler", done)
}

func subscribeAfterCloseIsRefused(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	must.Do(b.Close())
	must.Wrap(subscribe(ctx, b, e.Key("c")), backend.ErrClosed)
}

func shareAConnection(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	for i := range 50 {
		e.Listen(ctx, b, fmt.Sprintf("%s:%d", e.Tag, i)) // Without a tag: over all slots.
	}
	for i, clients := range must.Get(e.Primaries(ctx, "CLIENT", "LIST", "TYPE", "pubsub")) {
		text := must.Get(clients.Text())
		n := countClients(text)
		must.Not(n > 1, "node %d has %d connections for 50 subscriptions:\n%s", i, n, text)
	}
}

// countClients counts the lines of CLIENT LIST, without those of sentinels that watch the server.
func countClients(list string) (n int) {
	for line := range strings.Lines(list) {
		if !strings.Contains(line, " name=sentinel-") {
			n++
		}
	}
	return n
}

// slowHandlerDelaysNobody waits for the first handler to stand still before the second is due.
func slowHandlerDelaysNobody(ctx context.Context, e *harness.Env) {
	b, slow, quick := e.Backend(ctx), e.Key("slow"), e.Key("quick")
	release, blocked := make(chan struct{}), make(chan struct{}, 1)
	defer close(release)
	must.Get(b.Subscribe(ctx, slow, func(backend.Event) {
		select {
		case blocked <- struct{}{}:
		default:
		}
		<-release
	}))
	e.AwaitSubscribers(ctx, slow, 1)
	box, _ := e.Listen(ctx, b, quick)
	for range 3 {
		e.Publish(ctx, slow, "x")
	}
	harness.Await(ctx, "the slow handler to be called", blocked)
	quickCtx, cancel := context.WithTimeout(ctx, harness.Patience/4)
	defer cancel()
	hear(quickCtx, e, box, quick, "y")
}

// slowHandlerHearsOfDrops publishes far more than a backend queues for a handler that stands still.
func slowHandlerHearsOfDrops(ctx context.Context, e *harness.Env) {
	b, channel, box := e.Backend(ctx), e.Key("c"), new(harness.Inbox)
	release := make(chan struct{})
	must.Get(b.Subscribe(ctx, channel, func(event backend.Event) {
		<-release
		box.Handle(event)
	}))
	script := e.Script("for i = 1, 1000 do redis.call(ARGV[1], ARGV[2], i) end", 1, backend.RetryNever)
	err := must.Catch(func() {
		e.AwaitSubscribers(ctx, channel, 1)
		for range 12 { // A server should not run one script for long.
			must.Do(run(ctx, b, script, e.Key("k"), e.Capabilities.Publish(), channel))
		}
	})
	close(release)
	must.Do(err)
	box.Await(ctx, "all messages, or a gap", func(got []backend.Event) bool {
		return len(got) == 12_000 || slices.ContainsFunc(got, harness.IsGap)
	})
}

func cancelLeavesOthersAlone(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	box, _ := e.Listen(ctx, b, channel)
	for i := range 30 {
		_, sub := e.Listen(ctx, b, channel)
		sub.Cancel()
		e.Publish(ctx, channel, fmt.Sprint(i))
	}
	box.AwaitMessage(ctx, "29")
	got := box.Events()
	must.Not(len(got) != 30, "got %d events, want 30 messages and no gap: %v", len(got), got)
}

// cancelLeavesNewOnesAlone cancels the only subscription of a channel, by turns after the next one is made, and while it is
// being made: there, a scheduler may have the cancel always come first, or always last.
func cancelLeavesNewOnesAlone(ctx context.Context, e *harness.Env) {
	b, channel := e.Backend(ctx), e.Key("c")
	_, old := e.Listen(ctx, b, channel)
	for i := range 40 {
		if i%2 == 1 {
			go old.Cancel()
		}
		must.In(fmt.Sprint("round ", i), func() {
			box, sub := e.Listen(ctx, b, channel)
			if i%2 == 0 {
				old.Cancel()
			}
			hear(ctx, e, box, channel, fmt.Sprint(i))
			got := box.Events()
			must.Not(len(got) != 1, "got %v, want one message and no gap", got)
			old = sub
		})
	}
}

// noticed bounds how long a backend may take to notice a silent link, with something for a slow machine.
const noticed = 15*time.Second + 5*time.Second

// gapCases are about what a subscriber may have missed: S2.
func gapCases() []harness.Case {
	return []harness.Case{
		gap("BrokenConnectionIsAGap", cut, harness.PubSub, harness.Faults),
		alone(gap("KilledConnectionIsAGap", kill, harness.PubSub, harness.ClientList)),
		gap("SilentLinkIsAGap", silence, harness.PubSub, harness.Faults),
		gap("RepeatedBreaksAreGaps", cutAgain, harness.PubSub, harness.Faults),
		alone(gap("RestartIsAGap", restart, harness.PubSub, harness.Restart)),
		alone(of("S2", "IsolatedPrimaryIsAGap", isolatedPrimaryIsAGap, harness.PubSub, harness.Isolate)),
		alone(gap("MovedSlotIsAGap", move, harness.Sharded, harness.Migrate)),
	}
}

// disturber makes a gap in a subscription to the channel c over in.
type disturber func(ctx context.Context, e *harness.Env, in *harness.Instance)

// gap returns a case of a gap.
func gap(name string, disturb disturber, needs ...harness.Need) harness.Case {
	return of("S2", name, func(ctx context.Context, e *harness.Env) { wantGap(ctx, e, disturb) }, needs...)
}

func cut(_ context.Context, _ *harness.Env, in *harness.Instance) { in.Link.Cut() }

// silence leaves only the silence as a sign of the gap.
func silence(_ context.Context, _ *harness.Env, in *harness.Instance) { in.Link.Silence() }

func kill(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Get(e.Primaries(ctx, "CLIENT", "KILL", "TYPE", "pubsub"))
}

// cutAgain breaks the connection at moments when it is just being made again.
func cutAgain(_ context.Context, _ *harness.Env, in *harness.Instance) {
	for range 20 {
		in.Link.Cut()
		time.Sleep(3 * time.Millisecond)
	}
}

func restart(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Do(e.Restart(ctx, false))
}

func move(ctx context.Context, e *harness.Env, _ *harness.Instance) {
	must.Do(must.Get(e.Migrate(ctx, e.Key("c")))(ctx))
}

// isolatedPrimaryIsAGap leaves the subscription on a primary that answers, but is none any more for others.
func isolatedPrimaryIsAGap(ctx context.Context, e *harness.Env) {
	rejoin := func() error { return nil }
	err := must.Catch(func() {
		wantGap(ctx, e, func(ctx context.Context, e *harness.Env, _ *harness.Instance) {
			rejoin = must.Get(e.Isolate(ctx, e.Key("c")))
		})
	})
	must.Do(errors.Join(err, rejoin()))
}

// wantGap subscribes, makes a gap, and fails if that is not reported in time, or if messages do not
// arrive that are published after the report.
func wantGap(ctx context.Context, e *harness.Env, disturb disturber) {
	in, channel := e.Open(ctx), e.Key("c")
	box, _ := e.Listen(ctx, in.Backend, channel)
	hear(ctx, e, box, channel, "before")
	before := len(box.Events())
	disturb(ctx, e, in)
	gapCtx, cancel := context.WithTimeout(ctx, noticed)
	defer cancel()
	box.Await(gapCtx, "a Resubscribed event", func(got []backend.Event) bool {
		return slices.ContainsFunc(got[before:], harness.IsGap)
	})
	hearAgain(ctx, e, box, channel)
}

// hearAgain publishes after a gap was reported. What is published then must arrive, or another gap must be reported.
func hearAgain(ctx context.Context, e *harness.Env, box *harness.Inbox, channel string) {
	for i := 0; ; i++ {
		sent, before := backend.Event{Payload: fmt.Sprint("after ", i)}, len(box.Events())
		e.Publish(ctx, channel, sent.Payload)
		heard := func(e backend.Event) bool { return e == sent || harness.IsGap(e) } // Earlier messages may be late.
		events := box.Await(ctx, "a message published after the gap was reported",
			func(got []backend.Event) bool { return slices.ContainsFunc(got[before:], heard) })
		if slices.Contains(events[before:], sent) {
			return
		}
	}
}
