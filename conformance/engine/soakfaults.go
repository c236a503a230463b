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

// ground is a server on which a soak runs crowds, and makes faults.
type ground struct {
	*soak
	*runner
	works  []*workload // what the crowds do
	short  bool        // all leases are
	faults []fault     // those that can be made here
	random *rand.Rand  // for the goroutine that makes the faults
}

// run runs crowds on h until a time, in a bubble one after the other.
func (s *soak) run(t *testing.T, h *harness.Harness, until time.Time) {
	t.Helper()
	goesOn := func() bool { return time.Now().Before(until) && !t.Failed() }
	forgets := s.random.IntN(2) == 0
	if h.Bubble == nil {
		g := s.ground(h, forgets, h.FailOver != nil)
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
			g := s.ground(h.Bubble(), forgets, s.random.IntN(2) == 0)
			g.disturbed(t, func() { g.crowd(t) })
			outlast()
		})
	}
}

// ground returns a server. It gets faults that only the end of a lease can undo only if leases are
// short, and faults in which a server forgets, or its clock is stepped, only if all primitives have leases: what has
// none is not told by its model from what the server forgot.
func (s *soak) ground(h *harness.Harness, forgets, short bool) *ground {
	g := &ground{
		soak: s, runner: &runner{h: h, reached: &s.reached, soaks: true}, works: s.works, short: short,
		// The number is no crowd's.
		random: rand.New(rand.NewPCG(s.Seed, ^uint64(s.crowds.Load()))), //nolint:gosec // Repeatable.
	}
	leased := slices.DeleteFunc(slices.Clone(s.works), func(w *workload) bool { return w.waiting == "" })
	if forgets = forgets && len(leased) > 0; forgets {
		g.works = leased
	}
	g.faults = slices.DeleteFunc(faults(), func(f fault) bool {
		return harness.Lacks(h, f.needs) != "" || f.steps && !short || (f.forgets || f.steps) && !forgets
	})
	return g
}

// crowd draws a crowd and runs it.
func (g *ground) crowd(t *testing.T) {
	t.Helper()
	number := g.soak.crowds.Add(1)
	if err := g.runner.run(t.Context(), g.draw(number)); err != nil {
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
		c.Lease, c.Poll = workLease, shortPoll
	}
	return c
}

// disturbed makes one fault after the other while work works.
func (g *ground) disturbed(t *testing.T, work func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var disturbing sync.WaitGroup
	disturbing.Go(func() {
		for len(g.faults) > 0 && !t.Failed() {
			select {
			case <-time.After(time.Duration(g.random.IntN(1000)) * time.Millisecond):
			case <-ctx.Done():
				return
			}
			if err := must.Catch(func() { g.strike(ctx, g.next(), g.choose) }); err != nil {
				t.Errorf("SEED=%d, on %s: %v", g.Seed, t.Name(), err)
			}
		}
	})
	work()
	cancel()
	disturbing.Wait()
}

// next returns a fault of those that were made least.
func (g *ground) next() fault {
	counts := g.soak.reached.copy()
	g.random.Shuffle(len(g.faults), func(i, j int) { g.faults[i], g.faults[j] = g.faults[j], g.faults[i] })
	return slices.MinFunc(g.faults, func(a, b fault) int { return counts["fault "+a.name] - counts["fault "+b.name] })
}

// choose chooses an object of a crowd, and some of its links.
func (g *ground) choose(crowds []*running) *scene {
	r := crowds[g.random.IntN(len(crowds))]
	links := slices.Clone(r.links)
	g.random.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	if len(links) > 0 {
		links = links[:1+g.random.IntN(len(links))]
	}
	return r.scene(r.trials[g.random.IntN(len(r.trials))], links)
}
