package hasptest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

// Backend is one client of a [Server], which the server's faults concern. It implements
// [backend.Backend], [backend.Batcher], [backend.ReplicaWaiter] and [backend.Scanner].
type Backend struct {
	inner  *embedded.Backend
	server *Server

	closing sync.Once
	closed  chan struct{}

	mu            sync.Mutex
	subscriptions map[*subscription]struct{}
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.Batcher       = (*Backend)(nil)
	_ backend.ReplicaWaiter = (*Backend)(nil)
	_ backend.Scanner       = (*Backend)(nil)
)

// Capabilities implements [backend.Backend].
func (b *Backend) Capabilities() backend.Capabilities { return b.inner.Capabilities() }

// Close implements [backend.Backend]. The server and its other backends go on.
func (b *Backend) Close() error {
	b.closing.Do(func() { close(b.closed) })
	b.server.mu.Lock()
	delete(b.server.backends, b)
	b.server.mu.Unlock()
	return b.inner.Close()
}

func (b *Backend) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// fate returns what becomes of a script. One that the inner backend refuses uses up no fault.
func (b *Backend) fate(ctx context.Context, script *backend.Script) fate {
	if b.isClosed() || ctx.Err() != nil {
		return sent
	}
	return b.server.next(script)
}

// Run implements [backend.ScriptRunner].
func (b *Backend) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	call := backend.Call{Script: script, Keys: keys, Args: args}
	if b.server.currentLatency() > 0 && ctx.Err() == nil {
		return b.runSlowly(ctx, call)
	}
	f := b.fate(ctx, script)
	if err := f.refusal(); err != nil {
		return backend.Reply{}, err
	}
	reply, err := b.inner.Run(ctx, script, keys, args)
	o := f.spoil(backend.Outcome{Reply: reply, Err: err})
	return o.Reply, o.Err
}

// runSlowly runs a call over a slow link. If its caller leaves, the call goes on.
func (b *Backend) runSlowly(ctx context.Context, call backend.Call) (backend.Reply, error) {
	call.Keys, call.Args = slices.Clone(call.Keys), slices.Clone(call.Args)
	answered := make(chan backend.Outcome, 1)
	go b.RunBatch(ctx, []backend.Call{call}, func(_ int, o backend.Outcome) { answered <- o })
	select {
	case o := <-answered:
		return o.Reply, o.Err
	case <-ctx.Done():
	}
	if call.Script.Retry.Writes() {
		return backend.Reply{}, backend.Indeterminate(ctx.Err())
	}
	return backend.Reply{}, ctx.Err()
}

// RunBatch implements [backend.Batcher]: each call has a fate of its own.
func (b *Backend) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	var passed []backend.Call
	var places []int // of those in calls
	var fates []fate
	for place, call := range calls {
		f := b.fate(ctx, call.Script)
		if err := f.refusal(); err != nil {
			call.Claim.NotSent(err)
			report(place, backend.Outcome{Err: err})
			continue
		}
		passed, places, fates = append(passed, call), append(places, place), append(fates, f)
	}
	if len(passed) == 0 {
		return
	}
	latency := b.server.currentLatency()
	if latency > 0 && ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx) // They are under way.
		b.travel(latency / 2)
	}
	var answers sync.WaitGroup // on their way
	b.inner.RunBatch(ctx, passed, func(i int, o backend.Outcome) {
		if latency == 0 {
			report(places[i], fates[i].spoil(o))
			return
		}
		answers.Go(func() {
			if !b.travel(latency - latency/2) {
				fates[i] = unanswered
			}
			report(places[i], fates[i].spoil(o))
		})
	})
	answers.Wait()
}

// travel waits for what is on its way. It reports false if the backend is closed before.
func (b *Backend) travel(d time.Duration) bool {
	arrives := time.NewTimer(d)
	defer arrives.Stop()
	select {
	case <-arrives.C:
		return true
	case <-b.closed:
		return false
	}
}

// RunThenWait implements [backend.ReplicaWaiter]. There are no replicas: Acked is 0, at once.
func (b *Backend) RunThenWait(
	ctx context.Context, calls []backend.Call, _ int, _ time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	b.RunBatch(ctx, calls, report)
}

// Subscribe implements [backend.Subscriber]. While the server is away it waits.
func (b *Backend) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	if err := b.waitOutage(ctx); err != nil {
		return nil, fmt.Errorf("subscribe %q: %w", channel, err)
	}
	s := &subscription{backend: b, handler: handler, turn: make(chan bool, 1)}
	b.mu.Lock()
	b.subscriptions[s] = struct{}{} // An outage that begins now is a gap.
	b.mu.Unlock()
	inner, err := b.inner.Subscribe(ctx, channel, s.receive)
	if err != nil {
		s.end()
		return nil, err
	}
	s.inner = inner
	return s, nil
}

func (b *Backend) waitOutage(ctx context.Context) error {
	for outage := b.server.currentOutage(); outage != nil; outage = b.server.currentOutage() {
		select {
		case <-outage:
		case <-ctx.Done():
			return ctx.Err()
		case <-b.closed:
			return backend.ErrClosed
		}
	}
	return nil
}

// resubscribed reports to all subscriptions a gap that has ended. It waits for none of them.
func (b *Backend) resubscribed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subscriptions {
		go s.handle(backend.Event{Kind: backend.EventResubscribed})
	}
}

// subscription is a handler that receives nothing while the server is away.
type subscription struct {
	backend *Backend
	inner   backend.Subscription
	handler backend.Handler

	turn  chan bool // has a value while one event is handled; a mutex that is waited for would stop a bubble's clock
	ended atomic.Bool
}

// receive takes an event of the inner backend.
func (s *subscription) receive(e backend.Event) {
	if s.backend.server.currentOutage() == nil {
		s.handle(e)
	}
}

func (s *subscription) handle(e backend.Event) {
	s.turn <- true
	defer func() { <-s.turn }()
	if !s.ended.Load() && !s.backend.isClosed() {
		s.handler(e)
	}
}

// Cancel implements [backend.Subscription].
func (s *subscription) Cancel() {
	s.end()
	s.inner.Cancel()
}

func (s *subscription) end() {
	s.ended.Store(true)
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	delete(s.backend.subscriptions, s)
}

// Scan implements [backend.Scanner]. No fault concerns it.
func (b *Backend) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return b.inner.Scan(ctx, pattern, step)
}
