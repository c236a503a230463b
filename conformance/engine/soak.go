package engine

import (
	"errors"
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
	reached Situations
}

// shortestTurn is what is worth a cell's start.
const shortestTurn = 5 * time.Second

// RunSoak runs crowds of clients at random for a long time: on a cell drawn from cells for a turn,
// then on another. It draws which objects a crowd uses, how, and what goes wrong meanwhile, and
// checks each object's history. A failure prints the seed, the cell, the schedule and the picture
// of the history. In the end it prints how often it got into which situation, and fails if it has checked
// no history. It returns those counts.
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
	if s.Duration <= 0 {
		s.Duration = 5 * time.Second
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	if s.Crowds <= 0 {
		s.Crowds = 8
	}
	s.random = rand.New(rand.NewPCG(s.Seed, 0)) //nolint:gosec // It is repeatable on purpose.
	for _, p := range subjects {
		if s.Only == nil || slices.Contains(s.Only, p.String()) {
			s.works = append(s.works, p.workload())
		}
	}
	if s.Only != nil && len(s.works) != len(s.Only) {
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
	var table strings.Builder
	counts := s.reached.copy()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&table, "%10d %s\n", counts[name], name)
	}
	t.Logf("soak: SEED=%d, %s\n%v", s.Seed, what, &table)
	if err := tooFewDecided(counts); err != nil && !t.Failed() {
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
