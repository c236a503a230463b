package latch

import (
	"context"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// cases are about the setting of a latch: the derived cases wait for its end.
func cases() []harness.Case {
	return []harness.Case{harness.NewCase(
		Promises, "LatchSettingWakesAll", "Latch.Setting", []harness.Need{harness.PubSub}, settingWakesAll,
	)}
}

// settingWakesAll has three callers on each of two clients, which never poll, wait for a latch to be set: under a
// name in braces and under a plain one.
func settingWakesAll(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	for _, name := range []string{e.Key("latch"), e.Tag + "-plain"} {
		var waiting []<-chan error
		for i := range 6 {
			l := clients[i%2].NewCountDownLatch(name)
			waiting = append(waiting, must.Beside(func() { must.Do(l.WaitUntilSet(ctx)) }))
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
