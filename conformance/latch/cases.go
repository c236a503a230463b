package latch

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are a latch's alone.
func cases() []harness.Case {
	pubsub := []harness.Need{harness.PubSub}
	return []harness.Case{
		newCase("SettingWakesAll", pubsub, settingWakesAll),
		newCase("PollFindsItSet", nil, pollFindsItSet),
		newCase("EndsWithItsTTL", nil, endsWithItsTTL),
		newCase("KeepsItsTTL", nil, keepsItsTTL),
	}
}

func newCase(name string, needs []harness.Need, run func(context.Context, *harness.Env)) harness.Case {
	return harness.NewCase(Promises, "Latch"+name, "Latch.Setting", needs, run)
}

// beside begins n waits until the latch is set.
func beside(ctx context.Context, l *primitives.CountDownLatch, n int) []<-chan error {
	all := make([]<-chan error, n)
	for i := range all {
		all[i] = must.Beside(func() { must.Do(l.WaitUntilSet(ctx)) })
	}
	return all
}

// settingWakesAll has several on each of two clients, which never poll, wait for a latch to be set: under a
// name in braces and under a plain one.
func settingWakesAll(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	for _, name := range []string{e.Key("latch"), e.Tag + "-plain"} {
		var waiting []<-chan error
		for _, c := range clients[:2] {
			waiting = append(waiting, beside(ctx, c.NewCountDownLatch(name), 3)...)
		}
		e.AwaitSubscribers(ctx, channel(e.Capabilities, name), 2)
		harness.NotYet("a waiter", waiting[0])
		must.Return("TrySetCountWithTTL", true)(clients[2].NewCountDownLatch(name).TrySetCountWithTTL(ctx, 1, ttl))
		for _, done := range waiting {
			harness.Finish("a waiter", done)
		}
		e.Command(ctx, "DEL", name)
	}
}

// pollFindsItSet: another program sets the latch without a message.
func pollFindsItSet(ctx context.Context, e *harness.Env) {
	c, counted, _ := engine.CountedClient(ctx, e, &primitives.Options{PollInterval: 500 * time.Millisecond})
	l := c.NewCountDownLatch(e.Key("latch"))
	waiting := beside(ctx, l, 3)
	harness.Eventually(ctx, "all to have looked", func() bool { return counted.Ended.Load() >= 3 })
	e.Command(ctx, "SET", l.Name(), "1")
	for _, done := range waiting {
		harness.Finish("a waiter", done)
	}
}

// endsWithItsTTL: those who wait for the count go on when the latch has expired.
func endsWithItsTTL(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, &primitives.Options{PollInterval: 500 * time.Millisecond})
	l := c.NewCountDownLatch(e.Key("latch"))
	must.Return("TrySetCountWithTTL", true)(l.TrySetCountWithTTL(ctx, 1, 500*time.Millisecond))
	harness.Finish("the waiter", must.Beside(func() { must.Do(l.Wait(ctx)) }))
	must.Return("Exists", false)(l.Exists(ctx))
}

// keepsItsTTL sets a latch that is set, and counts it down: its TTL stays as it was.
func keepsItsTTL(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := c.NewCountDownLatch(e.Key("latch"))
	must.Return("TrySetCountWithTTL", true)(l.TrySetCountWithTTL(ctx, 3, ttl))
	must.Return("TrySetCountWithTTL", false)(l.TrySetCountWithTTL(ctx, 5, time.Minute))
	must.Return("TrySetCount", false)(l.TrySetCount(ctx, 5))
	must.Return("CountDown", int64(2))(l.CountDown(ctx))
	left := must.Get(l.RemainingTTL(ctx))
	must.If(left <= ttl-harness.Patience || left > ttl, "it lives for %v, want about %v", left, ttl)
}
