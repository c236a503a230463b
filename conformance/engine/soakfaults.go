package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// ground is a server, the crowds on it, and their faults.
type ground struct {
	*soak
	h      *harness.Harness
	works  []*workload // what the crowds do
	short  bool        // all leases are
	faults []fault     // those that can be made here
	random *rand.Rand

	// gate is held by a crowd while it starts, and by a fault while it lasts: a driver's
	// constructor may well fail under a fault.
	gate sync.RWMutex

	mu     sync.Mutex
	crowds []*running
}

// run runs crowds on h until a time, in a bubble one after the other.
func (s *soak) run(t *testing.T, h *harness.Harness, until time.Time) {
	t.Helper()
	// Not all models cover a server that forgets.
	mild := len(leased(s.works)) == 0 || time.Since(s.began) < s.Duration && s.random.IntN(2) == 0
	goesOn := func() bool { return time.Now().Before(until) && !t.Failed() }
	if h.Bubble == nil {
		g := s.ground(h, mild, h.FailOver != nil)
		g.disturbed(t, func() {
			together(s.Crowds, func(int) {
				for goesOn() {
					g.crowd(t)
				}
			})
		})
		return
	}
	for goesOn() {
		synctest.Test(t, func(t *testing.T) {
			g := s.ground(h.Bubble(), mild, s.random.IntN(2) == 0)
			g.disturbed(t, func() { g.crowd(t) })
			outlast()
		})
	}
}

// ground returns a server. It gets faults that only the end of a lease can undo only if leases are
// short, and faults in which a server forgets only if they are not to be mild.
func (s *soak) ground(h *harness.Harness, mild, short bool) *ground {
	g := &ground{soak: s, h: h, works: s.works, short: short}
	if !mild {
		g.works = leased(s.works)
	}
	g.faults = slices.DeleteFunc(faults(), func(f fault) bool {
		return harness.Lacks(h, f.needs) != "" || f.steps && !short || !f.mild() && mild
	})
	// The number is no crowd's.
	g.random = rand.New(rand.NewPCG(s.Seed, ^uint64(s.crowds.Load()))) //nolint:gosec // Repeatable.
	return g
}

// crowd draws a crowd and runs it.
func (g *ground) crowd(t *testing.T) {
	t.Helper()
	number := g.soak.crowds.Add(1)
	c := g.draw(number)
	if err := must.Catch(func() { g.runCrowd(t.Context(), c) }); err != nil {
		t.Errorf("SEED=%d, crowd %d of %s: %v", g.Seed, number, t.Name(), err)
	}
}

// draw draws the crowd of that number.
func (g *ground) draw(number int64) crowd {
	own := rand.New(rand.NewPCG(g.Seed, uint64(number))).Int() //nolint:gosec // It is repeatable on purpose.
	c := rapid.Custom(func(t *rapid.T) crowd {
		return drawCrowd(t, g.works, []int{1, 2, 3, 8}, []int{1, 2, 4, 8, 16, 32})
	}).Example(own)
	c.Picture = filepath.Join(os.TempDir(), fmt.Sprintf("hasp-soak-%d-%d", g.Seed, number))
	if g.short { // What a server forgets ends without a message, too.
		c.Lease, c.Poll = workLease, deletionPoll
	}
	return c
}

func (g *ground) runCrowd(ctx context.Context, c crowd) {
	e := harness.NewEnv(g.h)
	defer e.Close()
	r := g.enter(ctx, c, e)
	defer g.leave(r)
	r.countUndecided = true
	r.run(ctx)
}

func (g *ground) enter(ctx context.Context, c crowd, e *harness.Env) *running {
	g.gate.RLock()
	defer g.gate.RUnlock()
	r := c.start(ctx, e, &g.reached)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowds = append(g.crowds, r)
	return r
}

func (g *ground) leave(r *running) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowds = slices.DeleteFunc(g.crowds, func(other *running) bool { return other == r })
}

// disturbed makes faults while work works.
func (g *ground) disturbed(t *testing.T, work func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var disturbing sync.WaitGroup
	disturbing.Go(func() {
		for g.rest(ctx) {
			if err := must.Catch(func() { g.strike(ctx) }); err != nil {
				t.Errorf("SEED=%d, on %s: %v", g.Seed, t.Name(), err)
				return
			}
		}
	})
	work()
	cancel()
	disturbing.Wait()
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
	f.strike(ctx, g.scene(crowds), crowds...)
	g.reached.add("fault " + f.name)
}

// next returns a fault of those that were made least.
func (g *ground) next() fault {
	counts := g.reached.copy()
	g.random.Shuffle(len(g.faults), func(i, j int) { g.faults[i], g.faults[j] = g.faults[j], g.faults[i] })
	return slices.MinFunc(g.faults, func(a, b fault) int { return counts["fault "+a.name] - counts["fault "+b.name] })
}

// scene is one crowd with some of its links.
func (g *ground) scene(crowds []*running) *scene {
	r := crowds[g.random.IntN(len(crowds))]
	s := &scene{Harness: g.h, reach: g.reached.add, key: r.trials[g.random.IntN(len(r.trials))].object}
	for i, link := range r.links {
		if i == 0 || g.random.IntN(2) == 0 {
			s.links = append(s.links, link)
		}
	}
	return s
}
