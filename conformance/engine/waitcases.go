package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// waitingCases are about who goes on, and when. What has leases has more of them.
func (p *Primitive[S, I, O]) waitingCases() []harness.Case {
	cases := []harness.Case{
		p.newCase("Wire", "UnderAPrefix", pubsub, p.prefixes),
		p.newCase("Waiting", "WakesAWaiter", pubsub, p.wakes),
		p.newCase("Waiting", "RacesTheSubscription", pubsub, p.races),
	}
	if p.Hold == nil || p.hasLeases() { // Else the calls of these cases, which wait, would free each other.
		cases = append(cases,
			p.newCase("Waiting", "PollFindsIt", nil, p.polls),
			p.newCase("Waiting", "BrokenLinkWakesAWaiter", []harness.Need{harness.PubSub, harness.Faults}, p.breaks),
		)
	}
	return cases
}

// prefixes has a client with a prefix and one without wake each other.
func (p *Primitive[S, I, O]) prefixes(ctx context.Context, e *harness.Env) {
	for i := range 2 {
		whole := e.Key(fmt.Sprint("object", i))
		pair := []Named{Prefixed(ctx, e, whole), {Clients(ctx, e, 1)[0], whole}}
		bounded, cancel := context.WithTimeout(ctx, harness.Patience/4)
		must.In("with a prefix and without", func() { must.Do(p.wake(bounded, pair[i], pair[1-i])) })
		cancel()
	}
}

// blocked makes an object that has to be waited for, and returns what frees it without a message.
func (p *Primitive[S, I, O]) blocked(ctx context.Context, e *harness.Env, name string) (free func()) {
	var s State[S]
	if p.Hold != nil {
		p.set(ctx, e, name, p.Some)
		return func() { p.set(ctx, e, name, s) }
	}
	if in, ok := p.Blocks(s); ok {
		s, _ = p.Step(s, time.Time{}, in, *new(O))
	}
	p.set(ctx, e, name, s)
	return func() {
		in, _ := p.Frees(s)
		next, _ := p.Step(s, time.Time{}, in, *new(O))
		p.turn(ctx, e, name, s, next)
	}
}

// waiters has n calls wait on one client, and returns when the client is subscribed.
func (p *Primitive[S, I, O]) waiters(
	ctx context.Context, e *harness.Env, c *primitives.Client, name string, n int,
) []<-chan error {
	all := make([]<-chan error, n)
	for i := range all {
		all[i] = must.Beside(func() { p.waitAndLeave(ctx, Named{c, name}) })
	}
	p.awaitWaiters(ctx, e, name, n)
	return all
}

// wakes frees an object for which a client waits that hears of it by messages alone, and does not poll:
// under a name in braces and under a plain one.
func (p *Primitive[S, I, O]) wakes(ctx context.Context, e *harness.Env) {
	clients := Clients(ctx, e, 2)
	for _, name := range []string{e.Key("object"), e.Tag + "-plain"} {
		for range 5 {
			free := p.occupy(ctx, Named{clients[0], name})
			waits := p.waiters(ctx, e, clients[1], name, 1)
			harness.NotYet("the waiter", waits[0])
			free()
			harness.Finish("the waiter", waits[0])
			e.Command(ctx, "DEL", p.keyOf(name))
		}
	}
}

// polls frees an object without a message: those who wait find out by polling.
func (p *Primitive[S, I, O]) polls(ctx context.Context, e *harness.Env) {
	c, counted, _ := CountedClient(ctx, e, &primitives.Options{PollInterval: 500 * time.Millisecond})
	name := e.Key("object")
	free := p.blocked(ctx, e, name)
	waits := p.waiters(ctx, e, c, name, 2)
	harness.Eventually(ctx, "both to have looked", func() bool { return counted.Ended.Load() >= 2 })
	free()
	for _, done := range waits {
		harness.Finish("a waiter", done)
	}
}

// races frees an object at a random moment while the waiter looks for the first time and subscribes.
func (p *Primitive[S, I, O]) races(ctx context.Context, e *harness.Env) {
	clients := Clients(ctx, e, 2)
	for round := range 60 {
		name := e.Key(fmt.Sprint("race", round)) // A channel that nobody has subscribed to yet.
		free := p.occupy(ctx, Named{clients[0], name})
		waits := must.Beside(func() { p.waitAndLeave(ctx, Named{clients[1], name}) })
		time.Sleep(rand.N(3 * time.Millisecond)) //nolint:gosec // A schedule.
		free()
		harness.Finish(fmt.Sprint("the waiter of round ", round), waits)
	}
}

// breaks breaks the link of a client that waits, and frees the object meanwhile. If the call fails with
// the link, it is made again.
func (p *Primitive[S, I, O]) breaks(ctx context.Context, e *harness.Env) {
	c, in := NewClient(ctx, e, &primitives.Options{PollInterval: Never})
	name := e.Key("object")
	free := p.blocked(ctx, e, name)
	waits := must.Beside(func() {
		for must.Catch(func() { p.await(ctx, Named{c, name}) }) != nil && ctx.Err() == nil {
		}
	})
	p.awaitWaiters(ctx, e, name, 1)
	in.Link.Refuse()
	free()
	in.Link.Restore()
	harness.Finish("the waiter", waits)
}
