package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/must"
)

// SoakCell is one thing that a soak runs on, such as an adapter on a server.
type SoakCell struct {
	// Name is the name of the subtest.
	Name string

	// Harness starts the cell, again for each turn. What it starts ends with t.
	Harness func(t *testing.T) *harness.Harness
}

// SoakOptions configure [RunSoak]. Nil means the defaults.
type SoakOptions struct {
	// Duration is how long the soak runs. Zero means 5s.
	Duration time.Duration

	// Seed is what everything is drawn from. Zero means another one each time.
	Seed uint64

	// Only are the names of the primitives that are used. Nil means all.
	Only []string

	// Crowds is how many crowds run side by side in real time. Zero means 8.
	Crowds int

	_ struct{}
}

// soak is the state of one soak.
type soak struct {
	SoakOptions
	works   []*workload // of the primitives that are used
	random  *rand.Rand  // for the goroutine of RunSoak
	crowds  atomic.Int64
	reached Coverage
}

// shortestTurn is what is worth a cell's start.
const shortestTurn = 5 * time.Second

// RunSoak runs crowds of clients at random for a long time: on a cell drawn from cells for a turn, then on another. It
// draws which objects a crowd uses, how, and what goes wrong meanwhile, and checks each object's history. A failure
// prints the seed, the cell, the schedule and the end of the history. In the end it prints how often it got into
// which situation, and fails if it has checked no history. It returns those counts.
func RunSoak(t *testing.T, subjects []Subject, cells []SoakCell, o *SoakOptions) map[string]int {
	t.Helper()
	s := newSoak(t, subjects, o)
	t.Logf("soak: SEED=%d", s.Seed)
	began, turns, cells := time.Now(), 0, slices.Clone(cells)
	s.random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	for ; len(cells) > 0 && time.Since(began) < s.Duration && !t.Failed(); turns++ {
		turn := max(shortestTurn, s.Duration/time.Duration(len(cells)))
		if i := turns % len(cells); !s.turn(t, cells[i], min(turn, s.Duration-time.Since(began))) {
			cells = slices.Delete(cells, i, i+1)
		}
	}
	s.report(t, fmt.Sprintf("%v, %d turns, %d crowds", time.Since(began).Round(time.Second), turns, s.crowds.Load()))
	return s.reached.copy()
}

func newSoak(t *testing.T, subjects []Subject, o *SoakOptions) *soak {
	t.Helper()
	s := &soak{}
	if o != nil {
		s.SoakOptions = *o
	}
	s.Duration, s.Crowds = cmp.Or(s.Duration, 5*time.Second), cmp.Or(s.Crowds, 8)
	s.Seed = cmp.Or(s.Seed, rand.Uint64())
	s.random = rand.New(rand.NewPCG(s.Seed, 0)) //nolint:gosec // It is repeatable on purpose.
	for _, p := range subjects {
		if len(s.Only) == 0 || slices.Contains(s.Only, p.String()) {
			s.works = append(s.works, p.workload())
		}
	}
	if len(s.Only) > 0 && len(s.works) != len(s.Only) {
		t.Fatalf("Only has what is no primitive's name: %q", s.Only)
	}
	return s
}

// turn gives a cell its turn, and reports whether it took it: it skips itself if a server is missing, and -run
// may leave it out.
func (s *soak) turn(t *testing.T, cell SoakCell, d time.Duration) (took bool) {
	t.Helper()
	t.Run(cell.Name, func(t *testing.T) {
		h := cell.Harness(t)
		took = true
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		s.run(t, h, time.Now().Add(d))
	})
	return took
}

// report prints what was reached, and fails if that proves too little.
func (s *soak) report(t *testing.T, what string) {
	t.Helper()
	t.Logf("soak: SEED=%d, %s\n%s", s.Seed, what, strings.ReplaceAll(s.reached.String(), ", ", "\n"))
	if err := tooFewDecided(s.reached.copy()); err != nil && !t.Failed() {
		t.Errorf("soak: SEED=%d: %v", s.Seed, err)
	}
}

var errNothingChecked = errors.New("no history was checked")

// undecidedShare is for how many checked histories a soak may have one that is undecided. A crowd may
// lose so many answers that no search ends: such a history is no violation, but proves nothing either.
const undecidedShare = 50

// tooFewDecided returns an error if a soak with these counts has proven too little.
func tooFewDecided(counts map[string]int) error {
	undecided, checked := counts[undecidedHistories], counts[checkedHistories]
	switch {
	case undecided*undecidedShare > checked:
		return fmt.Errorf("%w: %d, beside %d that were checked", history.ErrUndecided, undecided, checked)
	case checked == 0:
		return errNothingChecked
	}
	return nil
}

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
			must.Together(s.Crowds, func(int) {
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
// short, and faults in which a server forgets, or its clock is stepped, only if all primitives have leases: the model of
// one without leases cannot say what the server forgot.
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
