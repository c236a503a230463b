package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
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
	if p.Hold == nil || p.hasLeases() { // Else those who wait are what others wait for.
		cases = append(cases,
			p.newCase("Waiting", "PollFindsIt", nil, p.polls),
			p.newCase("Waiting", "WaitIsCancelled", nil, p.cancels),
			p.newCase("Waiting", "BrokenLinkWakesAWaiter", []harness.Need{harness.PubSub, harness.Faults}, p.breaks),
		)
	}
	if p.hasLeases() || p.Takes != nil { // Else what lets one go on lets all.
		cases = append(cases, p.newCase("Waiting", "CancelledWaitersPassTheWakeOn", pubsub, p.passesOn))
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
		s, _ = p.Step(s, Moment{}, in, *new(O))
	}
	p.set(ctx, e, name, s)
	return func() {
		in, _ := p.Frees(s)
		s, _ = p.Step(s, Moment{}, in, *new(O))
		p.set(ctx, e, name, s)
	}
}

// set makes an object another behind the back of all clients.
func (p *Primitive[S, I, O]) set(ctx context.Context, e *harness.Env, name string, s State[S]) {
	own := p.Stored(name, s)[0]
	e.Command(ctx, "DEL", own.Name)
	if own.Text != "" {
		e.Command(ctx, "SET", own.Name, own.Text)
	}
	for field, text := range own.Fields {
		e.Command(ctx, "HSET", own.Name, field, text)
	}
}

// waiters lets n wait on one client, and returns when the server knows that it listens.
func (p *Primitive[S, I, O]) waiters(
	ctx context.Context, e *harness.Env, c *primitives.Client, name string, n int,
) []<-chan error {
	all := make([]<-chan error, n)
	for i := range all {
		all[i] = must.Beside(func() { p.waitAndLeave(ctx, Named{c, name}) })
	}
	if e.Capabilities.PubSub {
		e.AwaitSubscribers(ctx, p.Channel(e.Capabilities, name), 1)
	}
	return all
}

// wakes hands an object over by messages alone, on a name in braces and on a plain one.
func (p *Primitive[S, I, O]) wakes(ctx context.Context, e *harness.Env) {
	clients := Clients(ctx, e, 2)
	for _, name := range []string{e.Key("object"), e.Tag + "-plain"} {
		for range 5 {
			free := p.occupy(ctx, Named{clients[0], name})
			waits := p.waiters(ctx, e, clients[1], name, 1)
			harness.NotYet("the waiter", waits[0])
			free()
			harness.Finish("the waiter", waits[0])
			e.Command(ctx, "DEL", name)
		}
	}
}

// polls frees an object without a message. One poll finds that out for all.
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

// races frees at a random moment of the waiter's first look and its subscription.
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

// cancels gives up waiting at any moment, the making of the subscription included.
func (p *Primitive[S, I, O]) cancels(ctx context.Context, e *harness.Env) {
	c, _ := NewClient(ctx, e, nil)
	name := e.Key("object")
	p.blocked(ctx, e, name)
	for range 40 {
		short, cancel := randomly(ctx)
		err := must.Catch(func() { p.waitAndLeave(short, Named{c, name}) })
		cancel()
		must.Wrap(err, context.DeadlineExceeded)
	}
	if e.Capabilities.PubSub {
		e.AwaitSubscribers(ctx, p.Channel(e.Capabilities, name), 0)
	}
}

// breaks breaks the waiters' link, and frees while nobody listens. A waiter whose look fails with the
// link gets the error, and waits again.
func (p *Primitive[S, I, O]) breaks(ctx context.Context, e *harness.Env) {
	c, in := NewClient(ctx, e, &primitives.Options{PollInterval: Never})
	name := e.Key("object")
	free := p.blocked(ctx, e, name)
	waits := must.Beside(func() {
		for must.Catch(func() { p.waitAndLeave(ctx, Named{c, name}) }) != nil && ctx.Err() == nil {
		}
	})
	e.AwaitSubscribers(ctx, p.Channel(e.Capabilities, name), 1)
	in.Link.Refuse()
	free()
	in.Link.Restore()
	harness.Finish("the waiter", waits)
}

// passesOn frees while waiters give up who were woken before one that stays: it must not miss the wake.
func (p *Primitive[S, I, O]) passesOn(ctx context.Context, e *harness.Env) {
	waker := Clients(ctx, e, 1)[0]
	var on *leaving
	c, _ := ClientOver(ctx, e, &primitives.Options{PollInterval: Never}, func(b backend.Backend) backend.Backend {
		on = &leaving{Counter: Counter{Backend: b}}
		return on
	})
	// Where one of them acquires, nothing has to be passed on.
	for rounds, looked := 0, 0; rounds < 15 || looked < 3; rounds++ {
		name := e.Key(fmt.Sprint("object", rounds, ".")) // No name is part of another.
		must.In(fmt.Sprint("round ", rounds), func() {
			if p.passesOnce(ctx, e, Named{waker, name}, Named{c, name}, on) {
				looked++
			}
		})
	}
}

// leaving is a backend whose client's callers leave when a message about an object has woken one of them.
type leaving struct {
	Counter
	who atomic.Pointer[leavers]
}

// leavers are those who wait for one object, and what has them leave.
type leavers struct {
	name  string
	leave func()
}

// Subscribe implements [backend.Subscriber].
func (l *leaving) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return l.Counter.Subscribe(ctx, channel, func(event backend.Event) {
		handler(event)
		who := l.who.Load()
		if who != nil && event.Kind == backend.Message && strings.Contains(channel, who.name) {
			who.leave()
		}
	})
}

// passesOnce lets three leave who wait before a fourth, when the first of them is woken. It reports
// whether none of them acquired.
func (p *Primitive[S, I, O]) passesOnce(
	ctx context.Context, e *harness.Env, waker, waiter Named, on *leaving,
) bool {
	free := p.occupy(ctx, waker)
	bounded, leave := context.WithCancel(ctx)
	defer leave()
	on.who.Store(&leavers{waiter.Name, leave})
	before := on.Ended.Load()
	gone := make([]<-chan error, 3)
	for i := range gone {
		gone[i] = must.Beside(func() { p.waitAndGiveBack(bounded, waiter) })
	}
	harness.Eventually(ctx, "the refusals", func() bool { return on.Ended.Load() >= before+3 })
	stays := p.waiters(ctx, e, waiter.Client, waiter.Name, 1)[0]
	free()
	none := true
	for _, left := range gone {
		none = <-left != nil && none
	}
	harness.Finish("the waiter that stays", stays)
	return none
}

// waitAndGiveBack waits for an object, and puts back what it took.
func (p *Primitive[S, I, O]) waitAndGiveBack(ctx context.Context, as Named) {
	op := p.waitingOp()
	if op.Acquire != nil {
		p.waitAndLeave(ctx, as)
		return
	}
	in := op.Draw(Dice[S]{})
	out := must.Get(op.Call(ctx, as.Client, as.Name, in))
	if op.Back != nil {
		if back, ok := op.Back(in, out); ok {
			must.Get(p.opFor(back).Call(context.WithoutCancel(ctx), as.Client, as.Name, back))
		}
	}
}
