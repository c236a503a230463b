package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// latchCases are about count-down latches: who goes on, and when.
func latchCases() []Case {
	pubsub := []need{needsPubSub}
	return []Case{
		{Name: "LatchCounts", Clause: "Latch.Counts", check: checkLatchCounts},
		{Name: "LatchConflict", Clause: "Latch.Counts", check: checkLatchConflict},
		{Name: "LatchBadInput", Clause: "Latch.Counts", check: checkLatchInput},
		{Name: "LatchReleasesAll", Clause: "Latch.Waiting", needs: pubsub, check: checkLatchReleases},
		{Name: "LatchReleasesByPoll", Clause: "Latch.Waiting", check: checkLatchPoll},
		{
			Name: "LatchCountDownRacesTheSubscription", Clause: "Latch.Waiting",
			needs: pubsub, check: checkLatchRace,
		},
		{Name: "LatchIsSetAgain", Clause: "Latch.Waiting", needs: pubsub, check: checkLatchAgain},
		{Name: "LatchWaitIsCancelled", Clause: "Latch.Waiting", check: checkLatchCancelled},
		{
			Name: "LatchBrokenLinkReleasesAll", Clause: "Latch.Waiting",
			needs: []need{needsPubSub, needsLink}, check: checkLatchGap,
		},
		{Name: "LatchMessagesAreRedissons", Clause: "Latch.Wire", needs: pubsub, check: checkLatchMessages},
		{Name: "RedissonOpensALatch", Clause: "Latch.Wire", needs: pubsub, check: checkPeerOpens},
	}
}

// latchChannel is the channel of a latch: Redisson's, but for a name with braces where channels are
// sharded.
func (e *env) latchChannel(name string) string {
	const prefix = "redisson_countdownlatch__channel__"
	if e.Capabilities.Sharded && name == e.key("latch") {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// latchNames are a name with braces and one without.
func (e *env) latchNames() []string { return []string{e.key("latch"), e.tag + "-plain"} }

func checkLatchCounts(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	for _, name := range e.latchNames() {
		l := c.NewCountDownLatch(name)
		if err := errors.Join(
			expect("Count of none", int64(0))(l.Count(ctx)),
			expect("CountDown of none", int64(0))(l.CountDown(ctx)),
			expect("Delete of none", false)(l.Delete(ctx)),
			e.wantText(ctx, name, ""),
			l.Wait(ctx),
			expect("TrySetCount", true)(l.TrySetCount(ctx, 2)),
			expect("TrySetCount of one that is set", false)(l.TrySetCount(ctx, 5)),
			e.wantText(ctx, name, "2"),
			expect("CountDown", int64(1))(l.CountDown(ctx)),
			expect("Count", int64(1))(l.Count(ctx)),
			expect("CountDown", int64(0))(l.CountDown(ctx)),
			expect("Exists", false)(l.Exists(ctx)),
			l.Wait(ctx),
			expect("TrySetCount again", true)(l.TrySetCount(ctx, 1)),
			expect("Delete", true)(l.Delete(ctx)),
			l.Wait(ctx),
		); err != nil {
			return err
		}
	}
	return nil
}

func checkLatchConflict(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	l := c.NewCountDownLatch(e.key("hash"))
	if err := e.do(ctx, "HSET", l.Name(), "a", "b"); err != nil {
		return err
	}
	_, setErr := l.TrySetCount(ctx, 1)
	_, deleteErr := l.Delete(ctx)
	if err := allConflict(map[string]error{"set": setErr, "delete": deleteErr}); err != nil {
		return err
	}
	text := c.NewCountDownLatch(e.key("text"))
	if err := e.do(ctx, "SET", text.Name(), "1.5"); err != nil {
		return err
	}
	for _, l := range []*primitives.CountDownLatch{l, text} {
		_, downErr := l.CountDown(ctx)
		_, countErr := l.Count(ctx)
		if err := allConflict(map[string]error{
			"count down": downErr, "count": countErr, "wait": l.Wait(ctx),
		}); err != nil {
			return err
		}
	}
	return e.wantText(ctx, text.Name(), "1.5")
}

func checkLatchInput(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	_, zero := c.NewCountDownLatch(e.key("latch")).TrySetCount(ctx, 0)
	for what, err := range map[string]error{"0": zero, "name": c.NewCountDownLatch("").Wait(ctx)} {
		var field *primitives.FieldError
		if !errors.As(err, &field) {
			return fmt.Errorf("%s: returned %w, want a FieldError", what, err)
		}
	}
	return e.wantText(ctx, e.key("latch"), "")
}

// parkAtLatch lets three on each client wait, and returns when they are heard.
func (e *env) parkAtLatch(
	ctx context.Context, clients []*primitives.Client, name string,
) (waiting []<-chan error, err error) {
	for i := range 3 * len(clients) {
		l := clients[i%len(clients)].NewCountDownLatch(name)
		waiting = append(waiting, beside(func() error { return l.Wait(ctx) }))
	}
	if !e.Capabilities.PubSub {
		return waiting, nil
	}
	return waiting, e.awaitSubscribers(ctx, e.latchChannel(name), int64(len(clients)))
}

// allFinished waits for all as long as for one.
func allFinished(waiting []<-chan error) error {
	return finished("the last waiter", beside(func() (err error) {
		for _, done := range waiting {
			err = errors.Join(err, <-done)
		}
		return err
	}))
}

// checkLatchReleases opens the latch by the last count and by deletion.
func checkLatchReleases(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 3)
	if err != nil {
		return err
	}
	for _, name := range e.latchNames() {
		l := clients[0].NewCountDownLatch(name)
		open := map[string]func() error{
			"CountDown": func() error { return expect("CountDown", int64(0))(l.CountDown(ctx)) },
			"Delete":    func() error { return expect("Delete", true)(l.Delete(ctx)) },
		}
		for what, last := range open {
			if _, err := l.TrySetCount(ctx, 2); err != nil {
				return err
			}
			waiting, err := e.parkAtLatch(ctx, clients, name)
			if err != nil {
				return err
			}
			if err := errors.Join(
				expect("CountDown", int64(1))(l.CountDown(ctx)), notYet("a waiter", waiting[0]),
				last(), allFinished(waiting),
			); err != nil {
				return fmt.Errorf("after %s: %w", what, err)
			}
		}
	}
	return nil
}

// checkLatchPoll opens latches without a message: by another program, and by the end of their lives.
// One poll finds it out for all: were it one for each, they would not end in time.
func checkLatchPoll(ctx context.Context, e *env) error {
	o := &primitives.Options{PollInterval: Patience / 10}
	c, _, looks, err := e.countedClient(ctx, o)
	if err != nil {
		return err
	}
	l := c.NewCountDownLatch(e.key("latch"))
	for _, open := range []func() error{
		func() error { return e.do(ctx, "DEL", l.Name()) },
		func() error { return expect("Expire", true)(l.Expire(ctx, time.Millisecond)) },
	} {
		if _, err := l.TrySetCount(ctx, 1); err != nil {
			return err
		}
		before := looks.ended.Load()
		waiting, err := e.parkAtLatch(ctx, []*primitives.Client{c}, l.Name())
		if err != nil {
			return err
		}
		if err := eventually(ctx, "all to have looked", func() (bool, error) {
			return looks.ended.Load() >= before+int64(len(waiting)), nil
		}); err != nil {
			return err
		}
		if err := errors.Join(open(), allFinished(waiting)); err != nil {
			return err
		}
	}
	return nil
}

// checkLatchRace counts down at a random moment of the waiter's first look and its subscription.
func checkLatchRace(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 2)
	if err != nil {
		return err
	}
	for round := range 60 {
		l := clients[0].NewCountDownLatch(e.key(fmt.Sprint("race", round)))
		if _, err := l.TrySetCount(ctx, 1); err != nil {
			return err
		}
		waiting := beside(func() error { return clients[1].NewCountDownLatch(l.Name()).Wait(ctx) })
		sleepUpTo(3 * time.Millisecond)
		if err := errors.Join(
			expect("CountDown", int64(0))(l.CountDown(ctx)),
			finished(fmt.Sprintf("the waiter of round %d", round), waiting),
		); err != nil {
			return err
		}
	}
	return nil
}

// checkLatchAgain sets the latch again and again. No waiter goes on while the count is above 0.
func checkLatchAgain(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 2)
	if err != nil {
		return err
	}
	l := clients[0].NewCountDownLatch(e.key("latch"))
	for range 10 {
		if err := expect("TrySetCount", true)(l.TrySetCount(ctx, 2)); err != nil {
			return err
		}
		waiting, err := e.parkAtLatch(ctx, clients, l.Name())
		if err != nil {
			return err
		}
		// What the round before has left behind, and messages that mean nothing, release nobody.
		if err := errors.Join(
			e.publish(ctx, e.latchChannel(l.Name()), "0"),
			e.publish(ctx, e.latchChannel(l.Name()), "1"),
			expect("CountDown", int64(1))(l.CountDown(ctx)),
		); err != nil {
			return err
		}
		for _, done := range waiting {
			if err := notYet("a waiter", done); err != nil {
				return err
			}
		}
		if err := errors.Join(
			expect("CountDown", int64(0))(l.CountDown(ctx)), allFinished(waiting),
		); err != nil {
			return err
		}
	}
	return nil
}

func checkLatchCancelled(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	l := c.NewCountDownLatch(e.key("latch"))
	if _, err := l.TrySetCount(ctx, 1); err != nil {
		return err
	}
	for range 20 {
		short, cancel := randomly(ctx)
		err := l.Wait(short)
		cancel()
		if err := matches(err, context.DeadlineExceeded); err != nil {
			return err
		}
	}
	if !e.Capabilities.PubSub {
		return nil
	}
	return e.awaitSubscribers(ctx, e.latchChannel(l.Name()), 0)
}

// checkLatchGap breaks the waiters' link and opens the latch while nobody listens. A waiter whose look
// fails with the link gets the error, and waits again.
func checkLatchGap(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, &primitives.Options{PollInterval: never})
	if err != nil {
		return err
	}
	l := c.NewCountDownLatch(e.key("latch"))
	if _, err := l.TrySetCount(ctx, 1); err != nil {
		return err
	}
	waiting := make([]<-chan error, 3)
	for i := range waiting {
		waiting[i] = beside(func() error {
			err := l.Wait(ctx)
			for err != nil && ctx.Err() == nil {
				err = l.Wait(ctx)
			}
			return err
		})
	}
	if err := e.awaitSubscribers(ctx, e.latchChannel(l.Name()), 1); err != nil {
		return err
	}
	in.Link.Refuse()
	err = e.do(ctx, "DEL", l.Name())
	in.Link.Restore()
	return errors.Join(err, allFinished(waiting))
}

// checkLatchMessages listens as Redisson does: 1 for a new count, 0 for those that wait.
func checkLatchMessages(ctx context.Context, e *env) error {
	c, in, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	for _, name := range e.latchNames() {
		box, sub, err := e.listen(ctx, in.Backend, e.latchChannel(name))
		if err != nil {
			return err
		}
		l := c.NewCountDownLatch(name)
		if err := errors.Join(
			expect("TrySetCount", true)(l.TrySetCount(ctx, 2)),
			expect("TrySetCount", false)(l.TrySetCount(ctx, 2)),
			expect("CountDown", int64(1))(l.CountDown(ctx)),
			expect("CountDown", int64(0))(l.CountDown(ctx)),
			expect("CountDown", int64(0))(l.CountDown(ctx)),
			expect("TrySetCount", true)(l.TrySetCount(ctx, 1)),
			expect("Delete", true)(l.Delete(ctx)),
			expect("Delete", false)(l.Delete(ctx)),
			e.do(ctx, "SET", name, "0"), // Redisson's trySetCount does that.
			expect("CountDown", int64(0))(l.CountDown(ctx)), e.wantText(ctx, name, ""),
			e.do(ctx, "SET", name, "-3"),
			expect("CountDown", int64(0))(l.CountDown(ctx)), e.wantText(ctx, name, ""),
		); err != nil {
			return err
		}
		if err := box.awaitMessages(ctx, "1", "0", "1", "0", "0", "0"); err != nil {
			return err
		}
		sub.Cancel()
	}
	return nil
}

// checkPeerOpens counts down as Redisson does.
func checkPeerOpens(ctx context.Context, e *env) error {
	clients, err := e.newClients(ctx, 2)
	if err != nil {
		return err
	}
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	down := e.script(`
		local left = redis.call('decr', KEYS[1])
		if left <= 0 then redis.call('del', KEYS[1]) end
		if left == 0 then redis.call(ARGV[1], ARGV[2], '0') end
		return left`, 1, backend.Never)
	l := clients[0].NewCountDownLatch(e.tag + "-plain")
	if err := expect("TrySetCount", true)(l.TrySetCount(ctx, 2)); err != nil {
		return err
	}
	waiting, err := e.parkAtLatch(ctx, clients, l.Name())
	if err != nil {
		return err
	}
	for range 2 {
		args := []string{b.Capabilities().Publish(), e.latchChannel(l.Name())}
		if _, err := b.Run(ctx, down, []string{l.Name()}, args); err != nil {
			return err
		}
	}
	return allFinished(waiting)
}
