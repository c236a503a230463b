package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// silence bounds how long a backend may take to notice a silent link, with something for a slow
// machine.
const silence = 15*time.Second + 5*time.Second

// gapCases are about what a subscriber may have missed: S2.
func gapCases() []Case {
	link := []need{needsPubSub, needsLink}
	return []Case{
		{Name: "BrokenConnectionIsAGap", Clause: "S2", needs: link, check: checkBroken},
		{Name: "KilledConnectionIsAGap", Clause: "S2", Alone: true,
			needs: []need{needsPubSub, needsClientList}, check: checkKilled},
		{Name: "SilentLinkIsAGap", Clause: "S2", needs: link, check: checkSilent},
		{Name: "RepeatedBreaksAreGaps", Clause: "S2", needs: link, check: checkRepeatedBreaks},
		{Name: "RestartIsAGap", Clause: "S2", Alone: true,
			needs: []need{needsPubSub, needsRestart}, check: checkRestartGap},
		{Name: "IsolatedPrimaryIsAGap", Clause: "S2", Alone: true,
			needs: []need{needsPubSub, needsIsolate}, check: checkIsolated},
		{Name: "MovedSlotIsAGap", Clause: "S2", Alone: true,
			needs: []need{needsSharded, needsMigrate}, check: checkMovedGap},
	}
}

// checkGap subscribes, makes a gap, and checks that it is reported in time, and that messages
// published after the report arrive.
func (e *env) checkGap(
	ctx context.Context, within time.Duration, disturb func(in *Instance, channel string) error,
) error {
	in, err := e.open(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box, _, err := e.listen(ctx, in.Backend, channel)
	if err != nil {
		return err
	}
	if err := e.publish(ctx, channel, "before"); err != nil {
		return err
	}
	if err := box.awaitMessage(ctx, "before"); err != nil {
		return err
	}
	before := box.count()
	if err := disturb(in, channel); err != nil {
		return err
	}
	gapCtx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := box.awaitGap(gapCtx, before); err != nil {
		return err
	}
	return e.publishAfter(ctx, box, channel)
}

// publishAfter publishes after a gap was reported. What is published then must arrive, or another
// gap must be reported.
func (e *env) publishAfter(ctx context.Context, box *inbox, channel string) error {
	for i := 0; ; i++ {
		payload, before := fmt.Sprint("after ", i), box.count()
		if err := e.publish(ctx, channel, payload); err != nil {
			return err
		}
		events, err := box.await(ctx, "a message published after the gap was reported",
			func(got []backend.Event) bool { return len(got) > before })
		if err != nil {
			return err
		}
		if slices.Contains(events[before:], backend.Event{Payload: payload}) {
			return nil
		}
	}
}

func checkBroken(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(in *Instance, _ string) error {
		in.Link.Cut()
		return nil
	})
}

func checkKilled(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(*Instance, string) error {
		_, err := e.nodes(ctx, "CLIENT", "KILL", "TYPE", "pubsub")
		return err
	})
}

// checkSilent leaves only the silence as a sign of the gap.
func checkSilent(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(in *Instance, _ string) error {
		in.Link.Silence()
		return nil
	})
}

// checkIsolated leaves the subscription on a primary that answers, but is none any more for others.
func checkIsolated(ctx context.Context, e *env) (err error) {
	rejoin := func() error { return nil }
	defer func() { err = errors.Join(err, rejoin()) }()
	return e.checkGap(ctx, silence, func(_ *Instance, channel string) error {
		end, err := e.Isolate(ctx, channel)
		if err == nil {
			rejoin = end
		}
		return err
	})
}

// checkRepeatedBreaks breaks the connection at moments when it is just being made again.
func checkRepeatedBreaks(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(in *Instance, _ string) error {
		for range 20 {
			in.Link.Cut()
			time.Sleep(3 * time.Millisecond)
		}
		return nil
	})
}

func checkRestartGap(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(*Instance, string) error { return e.Restart(ctx, false) })
}

func checkMovedGap(ctx context.Context, e *env) error {
	return e.checkGap(ctx, silence, func(_ *Instance, channel string) error {
		finish, err := e.Migrate(ctx, channel)
		if err != nil {
			return err
		}
		return finish(ctx)
	})
}

// shareCases are about subscriptions beside each other: S3, S6.
func shareCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
		{
			Name: "SubscriptionsShareAConnection", Clause: "S3", Alone: true,
			needs: []need{needsPubSub, needsClientList}, check: checkShared,
		},
		{Name: "SlowHandlerDelaysNobody", Clause: "S3", needs: pubsub, check: checkSlowHandler},
		{Name: "SlowHandlerHearsOfDrops", Clause: "S2", needs: pubsub, check: checkDrops},
		{Name: "CancelLeavesOthersAlone", Clause: "S6", needs: pubsub, check: checkOthers},
		{Name: "CancelLeavesNewOnesAlone", Clause: "S6", needs: pubsub, check: checkNewOnes},
	}
}

func checkShared(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	for i := range 50 {
		// Without a tag: over all slots.
		if _, _, err := e.listen(ctx, b, fmt.Sprintf("%s:%d", e.tag, i)); err != nil {
			return err
		}
	}
	lists, err := e.nodes(ctx, "CLIENT", "LIST", "TYPE", "pubsub")
	if err != nil {
		return err
	}
	for i, list := range lists {
		text, err := list.Text()
		if err != nil {
			return err
		}
		if n := countClients(text); n > 1 {
			return fmt.Errorf("node %d has %d connections for 50 subscriptions:\n%s", i, n, text)
		}
	}
	return nil
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

// checkSlowHandler waits for the first handler to stand still before the second is due.
func checkSlowHandler(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	slow, quick := e.key("slow"), e.key("quick")
	release, blocked := make(chan struct{}), make(chan struct{}, 1)
	defer close(release)
	if _, err := b.Subscribe(ctx, slow, func(backend.Event) {
		select {
		case blocked <- struct{}{}:
		default:
		}
		<-release
	}); err != nil {
		return err
	}
	if err := e.awaitSubscribers(ctx, slow, 1); err != nil {
		return err
	}
	box, _, err := e.listen(ctx, b, quick)
	if err != nil {
		return err
	}
	for range 3 {
		if err := e.publish(ctx, slow, "x"); err != nil {
			return err
		}
	}
	select {
	case <-blocked:
	case <-ctx.Done():
		return errors.New("the slow handler was not called")
	}
	quickCtx, cancel := context.WithTimeout(ctx, Patience/4)
	defer cancel()
	if err := e.publish(ctx, quick, "y"); err != nil {
		return err
	}
	return box.awaitMessage(quickCtx, "y")
}

// checkDrops publishes far more than a backend queues for a handler that stands still.
func checkDrops(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel, box := e.key("c"), newInbox()
	release := make(chan struct{})
	_, err = b.Subscribe(ctx, channel, func(event backend.Event) {
		<-release
		box.handle(event)
	})
	if err == nil {
		err = e.awaitSubscribers(ctx, channel, 1)
	}
	const messages = 12_000
	if err == nil {
		err = e.flood(ctx, b, channel, messages)
	}
	close(release)
	if err != nil {
		return err
	}
	_, err = box.await(ctx, "all messages, or a gap", func(got []backend.Event) bool {
		return len(got) == messages || slices.ContainsFunc(got, isGap)
	})
	return err
}

// flood publishes so many messages in as few scripts as a server should run.
func (e *env) flood(ctx context.Context, b backend.Backend, channel string, messages int) error {
	script := e.script("for i = 1, tonumber(ARGV[3]) do redis.call(ARGV[1], ARGV[2], i) end",
		1, backend.Never)
	const step = 1000
	for range messages / step {
		args := []string{e.Capabilities.Publish(), channel, fmt.Sprint(step)}
		if _, err := b.Run(ctx, script, []string{e.key("k")}, args); err != nil {
			return err
		}
	}
	return nil
}

func checkOthers(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	box, _, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	const others = 30
	for i := range others {
		_, sub, err := e.listen(ctx, b, channel)
		if err != nil {
			return err
		}
		sub.Cancel()
		if err := e.publish(ctx, channel, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	if err := box.awaitMessage(ctx, fmt.Sprint(others-1)); err != nil {
		return err
	}
	if events, _ := box.got(); len(events) != others {
		return fmt.Errorf("got %d events, want %d messages and no gap: %v", len(events), others, events)
	}
	return nil
}

// checkNewOnes ends the only subscription of a channel while the next is being made.
func checkNewOnes(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	channel := e.key("c")
	_, old, err := e.listen(ctx, b, channel)
	if err != nil {
		return err
	}
	for i := range 40 {
		go old.Cancel()
		box, sub, err := e.listen(ctx, b, channel)
		if err != nil {
			return err
		}
		payload := fmt.Sprint(i)
		if err := e.publish(ctx, channel, payload); err != nil {
			return err
		}
		if err := box.awaitMessage(ctx, payload); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		if events, _ := box.got(); len(events) != 1 {
			return fmt.Errorf("round %d: got %v, want one message and no gap", i, events)
		}
		old = sub
	}
	return nil
}
