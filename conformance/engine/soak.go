package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
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
	if s.Only != nil && len(s.works) != len(s.Only) {
		t.Fatalf("Only has what is no primitive's name: %q", s.Only)
	}
	t.Logf("soak: SEED=%d", s.Seed)
	for !t.Failed() {
		cell, d := s.next()
		if d <= 0 {
			break
		}
		s.turn(t, cell, d)
	}
	s.report(t)
	return s.reached.copy()
}

// soak is the state of one soak. What is not safe for concurrent use belongs to the goroutine of
// RunSoak.
type soak struct {
	SoakOptions
	works   []*workload // of the primitives that are used
	began   time.Time
	random  *rand.Rand
	cells   []SoakCell // in the order of their turns
	turns   int
	able    map[string]SoakCell // a cell that had a turn and can reach a situation
	crowds  atomic.Int64
	reached Situations
}

func newSoak(subjects []Subject, cells []SoakCell, o *SoakOptions) *soak {
	s := &soak{
		SoakOptions: o.withDefaults(), began: time.Now(), cells: slices.Clone(cells),
		able: map[string]SoakCell{},
	}
	for _, p := range subjects {
		if s.Only == nil || slices.Contains(s.Only, p.String()) {
			s.works = append(s.works, p.workload())
		}
	}
	s.random = rand.New(rand.NewPCG(s.Seed, 0)) //nolint:gosec // It is repeatable on purpose.
	s.random.Shuffle(len(cells), func(i, j int) { s.cells[i], s.cells[j] = s.cells[j], s.cells[i] })
	return s
}

// next returns the cell whose turn it is, and for how long; 0: the soak is over.
func (s *soak) next() (SoakCell, time.Duration) {
	left := s.Duration - time.Since(s.began)
	if left > 0 && len(s.cells) > 0 {
		turn := max(shortestTurn, s.Duration/time.Duration(len(s.cells)))
		return s.cells[s.turns%len(s.cells)], min(left, turn)
	}
	if missing := s.missing(); len(missing) > 0 && left > -s.Duration-10*time.Minute {
		return s.able[missing[0]], shortestTurn
	}
	return SoakCell{}, 0
}

// missing returns the situations that were not reached though a cell can.
func (s *soak) missing() (names []string) {
	counts := s.reached.copy()
	for _, name := range slices.Sorted(maps.Keys(s.able)) {
		if counts[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// turn gives a cell its turn. One that is skipped, since a server is missing or by -run, gets no other.
func (s *soak) turn(t *testing.T, cell SoakCell, d time.Duration) {
	t.Helper()
	skipped := true
	t.Run(cell.Name, func(t *testing.T) {
		h := cell.Harness(t)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		skipped = false
		for _, name := range reachable(h, s.works) {
			s.able[name] = cell
		}
		s.run(t, h, time.Now().Add(d))
	})
	s.turns++
	if skipped {
		s.cells = slices.DeleteFunc(s.cells, func(c SoakCell) bool { return c.Name == cell.Name })
	}
}

// report prints what was reached, and fails if something was not.
func (s *soak) report(t *testing.T) {
	t.Helper()
	var table strings.Builder
	counts := s.reached.copy()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&table, "%10d %s\n", counts[name], name)
	}
	t.Logf("soak: SEED=%d, %v, %d turns on %d cells, %d crowds\n%v", s.Seed,
		time.Since(s.began).Round(time.Second), s.turns, len(s.cells), s.crowds.Load(), &table)
	if missing := s.missing(); !t.Failed() && len(missing) > 0 {
		t.Errorf("soak: SEED=%d: never reached: %s", s.Seed, strings.Join(missing, ", "))
	}
	if err := tooManyUndecided(counts); err != nil {
		t.Errorf("soak: SEED=%d: %v", s.Seed, err)
	}
}

// undecidedShare is for how many checked histories a soak may have one that is undecided. A crowd may
// lose so many answers that no search ends: such a history is no violation, but proves nothing either.
const undecidedShare = 50

// tooManyUndecided returns an error if a soak with these counts has proven too little.
func tooManyUndecided(counts map[string]int) error {
	undecided, checked := counts[undecidedHistories], counts[checkedHistories]
	if undecided*undecidedShare <= checked {
		return nil
	}
	return fmt.Errorf("%w: %d, beside %d that were checked", history.ErrUndecided, undecided, checked)
}

// reachable returns the names of the situations that a soak of works can get into on h.
func reachable(h *harness.Harness, works []*workload) (names []string) {
	names = []string{
		"broken connection", "call given up", "lost reply", "no connection",
	}
	if slices.ContainsFunc(works, func(w *workload) bool { return w.retries }) {
		names = append(names, "contention", "retry without a message")
	}
	if h.Capabilities.PubSub {
		names = append(names, "gap", "message", "subscription")
	}
	able := leased(works)
	for _, w := range able {
		names = append(names, w.reaches...)
	}
	for _, f := range faults() {
		if harness.Lacks(h, f.needs) == "" && (len(able) > 0 || f.mild()) {
			names = append(names, "fault "+f.name, "grant after "+f.name)
		}
	}
	return names
}

// leased returns those of works that may get all faults.
func leased(works []*workload) []*workload {
	return slices.DeleteFunc(slices.Clone(works), func(w *workload) bool { return w.waiting == "" })
}
