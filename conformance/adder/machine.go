package adder

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// machine knows what each adder has counted, and between which bounds each sum is that is under way.
type machine struct {
	e       *harness.Env
	clients []*primitives.Client
	tallies []*tally // of the adders that are open

	mu    sync.Mutex // guards the bounds of what is under way
	asked []*bounds
}

// tally is an adder, and what it has counted.
type tally struct {
	adder *primitives.LongAdder
	name  int
	count int64
}

// slow returns b with scripts that take a while on the way there, and back.
func slow(b backend.Backend, latency time.Duration) backend.Backend {
	r := &harness.Runner{Backend: b}
	r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		time.Sleep(latency)
		defer time.Sleep(latency)
		return r.Good(ctx, c)
	}
	return r
}

func newMachine(ctx context.Context, e *harness.Env, latency time.Duration) *machine {
	m := &machine{e: e}
	shared, other := slow(e.Backend(ctx), latency), slow(e.Backend(ctx), latency)
	for _, b := range []backend.Backend{shared, shared, other} {
		c := must.Get(primitives.New(b, nil))
		e.AtEnd(func(ctx context.Context) { _ = c.Close(ctx) })
		m.clients = append(m.clients, c)
	}
	return m
}

func (m *machine) open(ctx context.Context, client, name int) {
	a := must.Get(m.clients[client].OpenLongAdder(ctx, m.e.Key(fmt.Sprint("adder", name))))
	m.tallies = append(m.tallies, &tally{adder: a, name: name})
}

// note changes the bounds of the sums of a name that are under way.
func (m *machine) note(name int, change func(*bounds)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.asked {
		if b.name == name {
			change(b)
		}
	}
}

func (m *machine) add(t *tally, n int64) {
	t.count += n
	m.note(t.name, func(b *bounds) { b.high[t] = max(b.high[t], t.count) })
	t.adder.Add(n)
}

func (m *machine) close(t *tally) {
	m.note(t.name, func(b *bounds) { b.disturb(t) })
	must.Do(t.adder.Close())
	m.tallies = slices.DeleteFunc(m.tallies, func(other *tally) bool { return other == t })
}

// reset resets all adders of a name.
func (m *machine) reset(ctx context.Context, t *tally) {
	m.note(t.name, func(b *bounds) { clear(b.low) })
	must.Do(t.adder.Reset(ctx))
	for _, other := range m.named(t.name) {
		other.count = 0
	}
}

// ask begins a sum. The channel has what is wrong with it.
func (m *machine) ask(ctx context.Context, t *tally) <-chan error {
	bounded, cancel := context.WithTimeout(ctx, harness.Patience/4)
	b := &bounds{
		name: t.name, low: map[*tally]int64{}, high: map[*tally]int64{},
		giveUp: cancel, done: make(chan error, 2),
	}
	for _, other := range m.named(t.name) {
		b.low[other], b.high[other] = other.count, other.count
	}
	m.mu.Lock()
	m.asked = append(m.asked, b)
	m.mu.Unlock()
	go func() {
		defer cancel()
		sum, err := t.adder.Sum(bounded)
		m.mu.Lock()
		defer m.mu.Unlock()
		err = b.verdict(sum, err)
		b.done <- err
		b.done <- err // For the end.
	}()
	return b.done
}
