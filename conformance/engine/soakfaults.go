package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/must"

	"github.com/hasp-go/hasp/conformance/harness"
)

// ground is a server, the crowds on it, and their faults.
type ground struct {
	*turn
	h      *harness.Harness
	short  bool    // all leases are
	faults []fault // those that can be made here
	random *rand.Rand
	errors tally

	// gate is held by a crowd while it connects, and by a fault while it lasts: a driver's
	// constructor may well fail under a fault.
	gate sync.RWMutex

	mu     sync.Mutex
	crowds []*runningCrowd
}

// ground returns a server. It gets faults that only the end of a lease can undo only if leases are
// short.
func (u *turn) ground(h *harness.Harness, short bool) *ground {
	g := &ground{turn: u, h: h, short: short, errors: tally{h: h, reached: &u.reached}}
	for _, f := range faults() {
		if harness.Lacks(h, f.needs) == "" && (short || !f.steps) &&
			(!u.mild || f.mild()) {
			g.faults = append(g.faults, f)
		}
	}
	// The number is no crowd's.
	g.random = rand.New(rand.NewPCG(u.Seed, ^uint64(u.crowds.Load()))) //nolint:gosec // Repeatable.
	return g
}

// run runs a crowd.
func (g *ground) run(ctx context.Context, c crowd) {
	if g.short {
		c = c.withLease(workLease)
	}
	e := harness.NewEnv(g.h)
	defer e.Close()
	r := g.enter(ctx, c, e)
	defer g.leave(r)
	r.run(ctx)
}

func (g *ground) enter(ctx context.Context, c crowd, e *harness.Env) *runningCrowd {
	g.gate.RLock()
	defer g.gate.RUnlock()
	r := c.start(ctx, e, &g.reached)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowds = append(g.crowds, r)
	return r
}

func (g *ground) leave(r *runningCrowd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowds = slices.DeleteFunc(g.crowds, func(other *runningCrowd) bool { return other == r })
}

// disturbed makes faults while work works.
func (g *ground) disturbed(t *testing.T, work func()) {
	t.Helper()
	g.errors.read(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	var disturbing sync.WaitGroup
	disturbing.Go(func() {
		for g.rest(ctx) {
			if err := must.Catch(func() { g.strike(ctx) }); err != nil {
				t.Errorf("SEED=%d, on %s: %v", g.Seed, g.cell, err)
				return
			}
		}
	})
	work()
	cancel()
	disturbing.Wait()
	g.errors.read(t.Context())
}

// rest waits until the next fault, and reports whether there is one.
func (g *ground) rest(ctx context.Context) bool {
	select {
	case <-time.After(time.Duration(g.random.IntN(1000)) * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// afterFaults is what all faults together cost after their ends, beyond what a schedule is allowed
// in any case: pauses before clients connect again. It is no more for more of them, or a waiter
// that is stuck would be given time for ever.
const afterFaults = 15 * time.Second

// strike makes a fault, of those that were made least.
func (g *ground) strike(ctx context.Context) {
	g.gate.Lock()
	defer g.gate.Unlock()
	g.mu.Lock()
	crowds := slices.Clone(g.crowds)
	g.mu.Unlock()
	if len(crowds) == 0 || len(g.faults) == 0 {
		return
	}
	f := g.next()
	g.errors.read(ctx) // The fault may make other servers the primaries.
	defer g.errors.read(ctx)
	began := time.Now()
	if f.forgets || f.steps {
		g.tell(crowds, func(w *workload) any { return w.lapse })
		defer g.tell(crowds, func(w *workload) any { return w.recovery })
	}
	f.strike(context.WithoutCancel(ctx), g.scene(crowds))
	for _, r := range crowds {
		r.suffered(f, time.Since(began))
	}
	g.reached.add("fault " + f.name)
}

// next returns a fault of those that were made least.
func (g *ground) next() fault {
	counts := g.reached.copy()
	start := g.random.IntN(len(g.faults))
	least := g.faults[start]
	for i := range g.faults {
		f := g.faults[(start+i)%len(g.faults)]
		if counts["fault "+f.name] < counts["fault "+least.name] {
			least = f
		}
	}
	return least
}

// scene is one crowd with some of its links.
func (g *ground) scene(crowds []*runningCrowd) *scene {
	r := crowds[g.random.IntN(len(crowds))]
	s := &scene{Harness: g.h, reach: g.reached.add, key: r.parts[g.random.IntN(len(r.parts))].object}
	for i, link := range r.links {
		if i == 0 || g.random.IntN(2) == 0 {
			s.links = append(s.links, link)
		}
	}
	return s
}

// tell records a fault of the server in all histories.
func (g *ground) tell(crowds []*runningCrowd, what func(w *workload) any) {
	for _, r := range crowds {
		for _, p := range r.parts {
			p.note(what(p.work))
		}
	}
}
