package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// SoakCell is one thing that a soak runs on, such as an adapter on a server.
type SoakCell struct {
	// Name is that of the subtest.
	Name string

	// Harness starts the cell, anew for each turn. What it starts ends with t.
	Harness func(t *testing.T) *harness.Harness
}

// SoakOptions configure [RunSoak]. Nil means the defaults.
type SoakOptions struct {
	// Duration is how long the soak runs. It goes on, for as long again and 10 minutes at most, until
	// it has reached every situation. Zero means 5s.
	Duration time.Duration

	// Seed is what everything is drawn from. Zero means another one each time.
	Seed uint64

	// Only are the names of the primitives that are used. Nil means all.
	Only []string

	// Crowds is how many crowds run side by side in real time. Zero means 8.
	Crowds int

	_ struct{}
}

func (o *SoakOptions) withDefaults() SoakOptions {
	all := SoakOptions{}
	if o != nil {
		all = *o
	}
	if all.Duration <= 0 {
		all.Duration = 5 * time.Second
	}
	if all.Seed == 0 {
		all.Seed = rand.Uint64()
	}
	if all.Crowds <= 0 {
		all.Crowds = 8
	}
	return all
}

// shortestTurn is what is worth a cell's start.
const shortestTurn = 5 * time.Second

// RunSoak runs crowds of clients at random for a long time: on a cell drawn from cells for a turn,
// then on another. It draws which objects a crowd uses, how, and what goes wrong meanwhile, and
// checks each object's history. A failure prints the seed, the cell, the schedule and the picture
// of the history. In the end it prints how often it got into which situation, and fails if one that
// a cell can get into was never reached. It returns those counts.
func RunSoak(t *testing.T, subjects []Subject, cells []SoakCell, o *SoakOptions) map[string]int {
	t.Helper()
	s := newSoak(subjects, cells, o)
	if s.Only != nil && len(s.works()) != len(s.Only) {
		t.Fatalf("Only has what is no primitive's name: %q", s.Only)
	}
	t.Logf("soak: SEED=%d", s.Seed)
	for s.failed == "" {
		cell, d := s.next()
		if d <= 0 {
			break
		}
		s.run(t, cell, d)
	}
	s.report(t)
	return s.reached.copy()
}

// soak is the state of one soak. What is not safe for concurrent use belongs to the goroutine of
// RunSoak.
type soak struct {
	SoakOptions
	all     []*workload // of all primitives
	began   time.Time
	random  *rand.Rand
	cells   []SoakCell
	deck    []SoakCell // those that have not had their turn in this round
	turns   int
	owed    map[string][]SoakCell // which cells had a turn that can reach a situation
	failed  string                // the cell that has
	crowds  atomic.Int64
	reached Situations
}

func newSoak(subjects []Subject, cells []SoakCell, o *SoakOptions) *soak {
	s := &soak{
		SoakOptions: o.withDefaults(), began: time.Now(), cells: slices.Clone(cells),
		owed: map[string][]SoakCell{},
	}
	for _, p := range subjects {
		s.all = append(s.all, p.workload())
	}
	s.random = rand.New(rand.NewPCG(s.Seed, 0)) //nolint:gosec // It is repeatable on purpose.
	return s
}

// next returns the cell whose turn it is, and for how long; 0: the soak is over.
func (s *soak) next() (SoakCell, time.Duration) {
	left := s.Duration - time.Since(s.began)
	if left > 0 && len(s.cells) > 0 {
		turn := max(shortestTurn, s.Duration/time.Duration(len(s.cells)))
		return s.draw(), min(left, turn)
	}
	if missing := s.missing(); len(missing) > 0 && left > -s.Duration-10*time.Minute {
		if able := s.owed[missing[0]]; len(able) > 0 {
			return able[s.random.IntN(len(able))], shortestTurn
		}
	}
	return SoakCell{}, 0
}

// works returns the primitives that are used.
func (s *soak) works() []*workload {
	return slices.DeleteFunc(slices.Clone(s.all), func(w *workload) bool {
		return s.Only != nil && !slices.Contains(s.Only, w.name)
	})
}

// draw returns a cell that has had no turn in this round.
func (s *soak) draw() SoakCell {
	if len(s.deck) == 0 {
		s.deck = slices.Clone(s.cells)
	}
	i := s.random.IntN(len(s.deck))
	cell := s.deck[i]
	s.deck = slices.Delete(s.deck, i, i+1)
	return cell
}

// missing returns the situations that were not reached though a cell can.
func (s *soak) missing() (names []string) {
	counts := s.reached.copy()
	for _, name := range slices.Sorted(maps.Keys(s.owed)) {
		if counts[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// run gives a cell its turn.
func (s *soak) run(t *testing.T, cell SoakCell, d time.Duration) {
	t.Helper()
	skipped := true
	ok := t.Run(cell.Name, func(t *testing.T) {
		h := cell.Harness(t)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		skipped = false
		s.owe(cell, h)
		u := &turn{soak: s, cell: cell.Name, h: h, until: time.Now().Add(d), works: leased(s.works())}
		if len(u.works) == 0 || time.Since(s.began) < s.Duration && s.random.IntN(2) == 0 {
			// Not all models cover a server that forgets.
			u.mild, u.works = true, s.works()
		}
		u.run(t)
	})
	s.turns++
	if !ok {
		s.failed = cell.Name
	} else if skipped { // a server is missing, or by -run
		s.forget(cell)
	}
}

// forget leaves out a cell from now on.
func (s *soak) forget(cell SoakCell) {
	same := func(c SoakCell) bool { return c.Name == cell.Name }
	s.cells = slices.DeleteFunc(s.cells, same)
	for name, able := range s.owed {
		s.owed[name] = slices.DeleteFunc(able, same)
	}
}

// owe notes what a cell can reach.
func (s *soak) owe(cell SoakCell, h *harness.Harness) {
	for _, name := range reachable(h, s.works()) {
		if !slices.ContainsFunc(s.owed[name], func(c SoakCell) bool { return c.Name == cell.Name }) {
			s.owed[name] = append(s.owed[name], cell)
		}
	}
}

// report prints what was reached, and fails if something was not.
func (s *soak) report(t *testing.T) {
	t.Helper()
	t.Logf("soak: SEED=%d, %v, %d turns on %d cells, %d crowds\n%v", s.Seed,
		time.Since(s.began).Round(time.Second), s.turns, len(s.cells), s.crowds.Load(),
		s.reached.table())
	if missing := s.missing(); s.failed == "" && len(missing) > 0 {
		t.Errorf("soak: SEED=%d: never reached: %s", s.Seed, strings.Join(missing, ", "))
	}
}

// turn is the time of one cell.
type turn struct {
	*soak
	cell  string
	h     *harness.Harness
	until time.Time
	mild  bool // nothing is forgotten
	works []*workload
}

func (u *turn) run(t *testing.T) {
	t.Helper()
	if u.h.Bubble != nil {
		for u.goesOn(t) {
			synctest.Test(t, func(t *testing.T) {
				c := u.draw()
				g := u.ground(u.h.Bubble(), c.lease == workLease)
				g.disturbed(t, func() { u.crowd(t, g, c) })
				outlast()
			})
		}
		return
	}
	g := u.ground(u.h, u.h.FailOver != nil)
	g.disturbed(t, func() {
		var all sync.WaitGroup
		for range u.Crowds {
			all.Go(func() {
				for u.goesOn(t) {
					u.crowd(t, g, u.draw())
				}
			})
		}
		all.Wait()
	})
}

// draw draws the next crowd.
func (u *turn) draw() crowd {
	return drawCrowd(u.Seed, uint64(u.crowds.Add(1)), u.works) //nolint:gosec // It is not negative.
}

// crowd runs a crowd on g.
func (u *turn) crowd(t *testing.T, g *ground, c crowd) {
	t.Helper()
	if err := must.Catch(func() { g.run(t.Context(), c) }); err != nil {
		t.Errorf("SEED=%d, crowd %d on %s: %v", u.Seed, c.number, u.cell, err)
	}
}

func (u *turn) goesOn(t *testing.T) bool {
	t.Helper()
	return time.Now().Before(u.until) && !t.Failed()
}

// leased returns those of works that may get all faults.
func leased(works []*workload) []*workload {
	return slices.DeleteFunc(slices.Clone(works), func(w *workload) bool { return w.waiting == "" })
}
