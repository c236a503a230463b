package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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
	bound  time.Duration
	log    *history.Log

	// act lets an actor take steps. Take fails when the trial's time is over, and reports whether the
	// step was granted what it asked for.
	act func(ctx context.Context, actor int, take func(Step) (granted bool))

	survived   atomic.Pointer[string] // the last fault that it went through, until the next grant
	unanswered atomic.Bool            // a script that may have run got no answer

	noting  sync.Mutex
	watcher *history.Process // records what happens to the object by itself; nil: the history is over
}

// act takes the actor's steps.
func (s schedule) act(_ context.Context, actor int, take func(Step) bool) {
	for _, step := range s.Actors[actor] {
		take(step)
	}
}

// run lets the actors act, and checks what was recorded, also of those who did not come to their ends.
func (t *trial) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go t.limit(ctx, cancel)
	err := must.Catch(func() {
		must.Together(len(t.Actors), func(i int) { t.actor(ctx, i) })
		t.wake(ctx)
		t.rest(ctx)
	})
	t.over()
	if t.work.look != nil {
		t.reached.add("last look")
		t.work.look(ctx, t.Env, t.object, t.log)
	}
	t.reached.addN("checked operations", t.log.Len())
	picture := fmt.Sprintf("%s-%d.html", t.Picture, t.number)
	found := t.log.Check(t.work.model(), &history.CheckOptions{Picture: picture})
	must.Do(errors.Join(err, t.judge(found)))
}

// limit ends a trial that lasts for longer than its steps and the faults explain.
func (t *trial) limit(ctx context.Context, cancel context.CancelCauseFunc) {
	begin := time.Now()
	for {
		left := t.bound + t.delay() - time.Since(begin)
		if left <= 0 {
			cancel(fmt.Errorf("after %v somebody still waits", time.Since(begin).Round(time.Second)))
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// actor lets an actor act, and fails with what it found wrong.
func (t *trial) actor(ctx context.Context, i int) {
	granted := false
	step := t.work.actor(&actor{
		client: t.clients[i%t.Clients], lease: t.Lease, object: t.object,
		log: t.log, process: t.log.Process(), remove: t.remove, later: t.later,
		reach: func(situation string) {
			granted = granted || situation == "grant"
			t.reach(situation)
		},
	})
	t.act(ctx, i, func(s Step) bool {
		time.Sleep(s.Pause)
		granted = false
		must.In(fmt.Sprintf("actor %d: %v", i, s), func() { step(ctx, s) })
		must.If(ctx.Err() != nil, "actor %d: %v: %w", i, s, context.Cause(ctx))
		return granted
	})
}

// reach counts a situation that an actor got into.
func (t *trial) reach(situation string) {
	t.reached.add(situation)
	if situation != "grant" {
		return
	}
	if fault := t.survived.Swap(nil); fault != nil {
		t.reached.add("grant after " + *fault)
	}
}

// remove removes the object's own key.
func (t *trial) remove(ctx context.Context) error {
	_, err := t.Do(ctx, t.object, "DEL", t.work.key(t.object))
	return err
}

// note records what happens to the object, in the history's own terms.
func (t *trial) note(input any) {
	t.noting.Lock()
	defer t.noting.Unlock()
	if t.watcher != nil {
		t.watcher.Call(input).Return(nil)
	}
}

// later records what is sure when a time has passed.
func (t *trial) later(after time.Duration, input any) {
	time.AfterFunc(after, func() { t.note(input) })
}

// over ends what note records.
func (t *trial) over() {
	t.noting.Lock()
	defer t.noting.Unlock()
	t.watcher = nil
}

// wake has one client wait for what another one makes ready, over sound links.
func (t *trial) wake(ctx context.Context) {
	if t.work.wake == nil || !t.Capabilities.PubSub {
		return
	}
	for _, way := range t.ways {
		way.calm(t.object)
	}
	name := t.object + "-wake"
	if t.work.wake(ctx, Named{t.clients[0], name}, Named{t.clients[t.Clients-1], name}) == nil {
		t.reached.add("woken")
	}
	must.If(ctx.Err() != nil, "waking one who waits: %w", context.Cause(ctx))
}

// rest waits until all is back that was taken, if nothing that was taken can be lost: in real time a slow
// server may be given up.
func (t *trial) rest(ctx context.Context) {
	if t.work.rest == nil || !t.Sound || !t.lossless() || t.Bubble == nil && t.unanswered.Load() {
		return
	}
	t.reached.add("rest")
	must.In("what was taken is not back", func() { t.work.rest(ctx, t.Env, t.object) })
}
