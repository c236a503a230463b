package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
)

// trial is one object of a running crowd: its actors, and its history.
type trial struct {
	*running
	schedule
	number int
	object string
	ways   []*troubled // of the clients
	log    *history.Log

	// kept is closed when the object is kept, for the crowd's fault to strike, and ended when the fault has ended.
	kept, ended chan struct{}
	keep        sync.Once

	forgetful  atomic.Bool // the server may have forgotten what it granted
	unanswered atomic.Bool // a script that may have run got no answer
}

func newTrial(r *running, s schedule, number int, object string) *trial {
	return &trial{
		running: r, schedule: s, number: number, object: object, log: history.New(),
		kept: make(chan struct{}), ended: make(chan struct{}),
	}
}

// run lets the actors act, and checks what was recorded, also of actors that did not come to their ends.
func (t *trial) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go t.limit(ctx, cancel)
	err := must.Catch(func() {
		must.Together(len(t.Actors), func(i int) { t.actor(ctx, i) })
		t.wake(ctx)
		t.rest(ctx)
	})
	t.work.look(ctx, t.Env, t.object, t.log)
	t.reached.addN("checked operations", t.log.Len())
	picture := fmt.Sprintf("%s-%d.html", t.Picture, t.number)
	found := t.log.Check(t.work.model(t.forgetful.Load()), &history.CheckOptions{Picture: picture})
	must.Do(errors.Join(err, t.judge(found)))
}

// limit ends a trial that lasts for longer than its steps explain. The time of faults does not count.
func (t *trial) limit(ctx context.Context, cancel context.CancelCauseFunc) {
	const tick = 100 * time.Millisecond
	begin := time.Now()
	for left := t.bound(t.Poll); left > 0; {
		select {
		case <-time.After(tick):
		case <-ctx.Done():
			return
		}
		if !t.lasting.Load() {
			left -= tick
		}
	}
	cancel(fmt.Errorf("after %v somebody still waits", time.Since(begin).Round(time.Second)))
}

// actor lets an actor take its steps, and fails with what it found wrong.
func (t *trial) actor(ctx context.Context, i int) {
	now, granted := Step{}, false
	take := t.work.actor(&actor{
		client: t.clients[i%t.Clients], object: t.object,
		log: t.log, process: t.log.Process(),
		reach: func(situation string) {
			t.reached.add(situation)
			granted = granted || situation == "grant"
			if granted && now.Strikes {
				t.keep.Do(func() { close(t.kept) })
			}
		},
	})
	for _, s := range t.Actors[i] {
		if s.UntilEnded { // If they began earlier, they could starve the keeper: it waits in no order.
			harness.Await(ctx, "the object to be kept", t.kept)
		}
		for again := true; again; again = s.UntilEnded && !isClosed(t.ended) || s.Insists && !granted {
			now, granted = t.drawn(s), false
			time.Sleep(now.Pause)
			must.In(fmt.Sprintf("actor %d: %v", i, now), func() { take(ctx, now) })
			must.Not(ctx.Err() != nil, "actor %d: %v: %w", i, now, context.Cause(ctx))
		}
	}
}

// drawn returns a step, or draws it, if it may be any. That does not keep the object for long.
func (t *trial) drawn(s Step) Step {
	if s.Op == "" {
		s = drawStep(t.work.ops).Example(t.log.Len())
		s.Hold %= workLease
	}
	return s
}

// wake has one client wait for what another one makes ready, over sound links.
func (t *trial) wake(ctx context.Context) {
	if !t.work.waits || !t.Capabilities.PubSub {
		return
	}
	for _, way := range t.ways {
		way.calm(t.object)
	}
	name := t.object + "-wake"
	if t.work.wake(ctx, Named{t.clients[0], name}, Named{t.clients[t.Clients-1], name}) == nil {
		t.reached.add("woken")
	}
	must.Not(ctx.Err() != nil, "waking a waiter: %w", context.Cause(ctx))
}

// rest waits until all is back that was taken, if nothing that was taken can be lost: in real time a slow
// server may be given up.
func (t *trial) rest(ctx context.Context) {
	loses := slices.ContainsFunc(t.Links, func(plan troubles) bool {
		return slices.ContainsFunc(plan.Scripts, func(t trouble) bool { return t.Loss != nothing })
	})
	if t.Fault == nil && !t.soaks && !loses && (t.Bubble != nil || !t.unanswered.Load()) {
		must.In("what was taken is not back", func() { t.work.rest(ctx, t.Env, t.object) })
	}
}
