package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// trouble is what a bad link does to one script on its way.
type trouble struct {
	Held          time.Duration // in the client, before it is sent: it can be withdrawn
	Before, After time.Duration // on the way to the server, and back
	Loss          loss
	// Grace is how much longer than its context the caller waits: a reply may come in that instant.
	Grace time.Duration
}

// loss is what a link loses of a script.
type loss int

const (
	nothing loss = iota
	request      // it never arrives, and the caller hears nothing
	reply        // it runs, and the caller hears nothing
	broken       // it runs, and the connection breaks
	dial         // there is no connection
	late         // the connection breaks before it arrives, and it runs all the same
)

var (
	errTrouble   = errors.New("the link has trouble")
	errWithdrawn = errors.New("the call was withdrawn")
)

// deaf is how long a caller waits for a link that says nothing, before its driver gives up.
const deaf = 2 * time.Second

// outage is how long after a loss a waiter looks again at the latest: it pauses before.
const outage = deaf + time.Second

// troubled is a backend behind a link with trouble.
type troubled struct {
	backend.Backend
	reach func(situation string)
	// deafened is called for each gap: 1 when it begins, -1 when it has been noticed; nil: nobody asks.
	deafened func(n int)

	mu    sync.Mutex
	plan  troubles
	plans map[string]*troubles // of objects that have their own, by a part of all their keys and channels
}

// troubles are what becomes of the scripts, subscriptions and messages of one client, one after the other.
type troubles struct {
	Scripts    []trouble
	Rest       trouble         // that of all later scripts
	Subscribes []time.Duration // how long each takes
	Gaps       []time.Duration // 0: the message arrives; else a gap, noticed so much later, has it
}

// planOf returns what becomes of a key or a channel. The caller holds mu.
func (b *troubled) planOf(name string) *troubles {
	for object, plan := range b.plans {
		if strings.Contains(name, object) {
			return plan
		}
	}
	return &b.plan
}

// next returns what becomes of the next script on a key.
func (b *troubled) next(key string) trouble {
	b.mu.Lock()
	defer b.mu.Unlock()
	plan := b.planOf(key)
	if len(plan.Scripts) == 0 {
		return plan.Rest
	}
	return pop(&plan.Scripts)
}

// calm ends what an object has for itself.
func (b *troubled) calm(object string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.plans, object)
}

// replan changes what becomes of the scripts that are sent from now on, but for what has its own plan.
func (b *troubled) replan(change func(plan *troubles)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.plan)
}

// pop takes the first of a list; from an empty one the zero value.
func pop[T any](list *[]T) (first T) {
	if len(*list) > 0 {
		first, *list = (*list)[0], (*list)[1:]
	}
	return first
}

// Run implements backend.ScriptRunner.
func (b *troubled) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	return b.run(ctx, b.next(keys[0]), backend.Call{Script: script, Keys: keys, Args: args})
}

// RunBatch implements backend.Batcher. Calls without trouble stay together; each other goes as if it were alone.
func (b *troubled) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	var easy, hard []int
	plan := make([]trouble, len(calls))
	for i := range calls {
		if plan[i] = b.next(calls[i].Keys[0]); plan[i] == (trouble{}) {
			easy = append(easy, i)
		} else {
			hard = append(hard, i)
		}
	}
	must.Together(1+len(hard), func(i int) {
		if i == len(hard) {
			runSome(ctx, b.Backend, calls, easy, report)
			return
		}
		reply, err := b.run(ctx, plan[hard[i]], calls[hard[i]])
		report(hard[i], backend.Outcome{Reply: reply, Err: err})
	})
}

// run runs a call, which can be withdrawn by its claim while it is held.
func (b *troubled) run(ctx context.Context, t trouble, c backend.Call) (backend.Reply, error) {
	if err := t.hold(ctx, c.Claim); err != nil {
		if errors.Is(err, errWithdrawn) {
			b.reach("withdrawn")
		}
		return backend.Reply{}, err
	}
	t.Held = 0
	switch {
	case t == trouble{}:
		return runOne(ctx, b.Backend, c)
	case t.Loss == dial:
		c.Claim.NotSent(nil)
		b.reach("no connection")
		return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, errTrouble)
	}
	done := make(chan backend.Outcome, 1)
	go func() { // The server goes on with what it was sent, even if the caller has left.
		time.Sleep(t.Before)
		if t.Loss == request {
			return
		}
		reply, err := runOne(context.WithoutCancel(ctx), b.Backend, c)
		time.Sleep(t.After)
		if t.Loss == nothing || t.Loss == broken {
			done <- backend.Outcome{Reply: reply, Err: err}
		}
	}()
	if t.Loss == late {
		b.reach("runs after its connection broke")
		return backend.Reply{}, unanswered(c.Script, errTrouble)
	}
	var tooLong <-chan time.Time
	if t.Loss == request || t.Loss == reply { // Else the reply comes, on a slow machine some time later.
		tooLong = time.After(t.Before + t.After + deaf)
	}
	select {
	case o := <-done:
		if t.Loss == broken {
			b.reach("broken connection")
			return backend.Reply{}, unanswered(c.Script, errTrouble)
		}
		return o.Reply, o.Err
	case <-tooLong:
		b.reach("lost reply")
		return backend.Reply{}, unanswered(c.Script, errTrouble)
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		if t.Loss == nothing {
			b.reach("reply after the end")
			return o.Reply, o.Err
		}
	case <-time.After(t.Grace):
	}
	b.reach("call given up")
	if !c.Script.Retry.Writes() {
		return backend.Reply{}, ctx.Err()
	}
	return backend.Reply{}, backend.Indeterminate(ctx.Err())
}

// hold holds a call before it is sent. It returns an error if it is not to be sent any more.
func (t trouble) hold(ctx context.Context, claim *backend.Claim) error {
	if t.Held == 0 {
		return nil
	}
	claim.NotSent(nil)
	select {
	case <-time.After(t.Held):
	case <-ctx.Done():
	}
	if !claim.Begin() {
		return errWithdrawn
	}
	return ctx.Err()
}

// unanswered is the error of a script that was sent, and whose reply was lost.
func unanswered(script *backend.Script, err error) error {
	if script.Retry.Writes() {
		return backend.Indeterminate(err)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// Subscribe implements backend.Subscriber, late, and with gaps.
func (b *troubled) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	b.mu.Lock()
	late := pop(&b.planOf(channel).Subscribes)
	b.mu.Unlock()
	select {
	case <-time.After(late):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var one sync.Mutex // A handler is called by one goroutine at a time.
	inOrder := func(e backend.Event) {
		one.Lock()
		defer one.Unlock()
		handler(e)
	}
	return b.Backend.Subscribe(ctx, channel, func(e backend.Event) {
		if gap := b.gap(channel); gap > 0 {
			b.deafen(1)
			time.AfterFunc(gap, func() {
				inOrder(backend.Event{Kind: backend.EventResubscribed})
				b.deafen(-1)
			})
			return
		}
		inOrder(e)
	})
}

func (b *troubled) deafen(n int) {
	if b.deafened != nil {
		b.deafened(n)
	}
}

func (b *troubled) gap(channel string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return pop(&b.planOf(channel).Gaps)
}

// single hides that a backend takes batches.
type single struct{ backend.Backend }

// reporter gets the outcomes of a batch, by their place in it.
type reporter func(place int, outcome backend.Outcome)

// runAll runs calls by b: as one batch if b takes batches, else side by side.
func runAll(ctx context.Context, b backend.Backend, calls []backend.Call, report reporter) {
	if batcher, ok := b.(backend.Batcher); ok {
		batcher.RunBatch(ctx, calls, report)
		return
	}
	must.Together(len(calls), func(i int) {
		reply, err := b.Run(ctx, calls[i].Script, calls[i].Keys, calls[i].Args)
		report(i, backend.Outcome{Reply: reply, Err: err})
	})
}

// runSome is runAll for the calls at some places of a batch, whose reporter it uses.
func runSome(ctx context.Context, b backend.Backend, calls []backend.Call, places []int, report reporter) {
	some := make([]backend.Call, len(places))
	for i, place := range places {
		some[i] = calls[place]
	}
	if len(some) > 0 {
		runAll(ctx, b, some, func(i int, outcome backend.Outcome) { report(places[i], outcome) })
	}
}

// runOne runs one call by b, with its claim if b takes batches.
func runOne(ctx context.Context, b backend.Backend, c backend.Call) (backend.Reply, error) {
	var o backend.Outcome
	runAll(ctx, b, []backend.Call{c}, func(_ int, outcome backend.Outcome) { o = outcome })
	return o.Reply, o.Err
}

// seer is a backend that shows each call and its error to see.
type seer struct {
	backend.Backend
	see func(c backend.Call, err error)
}

// Run implements backend.ScriptRunner.
func (s *seer) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	reply, err := s.Backend.Run(ctx, script, keys, args)
	s.see(backend.Call{Script: script, Keys: keys, Args: args}, err)
	return reply, err
}

// RunBatch implements backend.Batcher.
func (s *seer) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	runAll(ctx, s.Backend, calls, func(place int, outcome backend.Outcome) {
		s.see(calls[place], outcome.Err)
		report(place, outcome)
	})
}
