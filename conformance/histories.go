package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// RunHistories draws schedules for each primitive, runs them on several clients at once, and checks
// that the model of the primitive explains what they saw, and that nobody waited for something that
// was there. With [Harness.Bubble] a schedule runs in virtual time, as often as -rapid.checks says,
// over links with trouble; a failing one is made smaller. Without it [Harness.Rounds] of them run
// in real time, but none with -short. The picture of a history that failed is named in the error.
func RunHistories(t *testing.T, h *Harness) Report {
	t.Helper()
	return runAreas(t, h, "Histories", Workloads(), func(t *testing.T, w Workload, reached *situations) {
		if h.Bubble == nil {
			realHistories(t, h, w, reached)
		} else {
			virtualHistories(t, h, w, reached)
		}
		if w.Wake != nil && h.Capabilities.PubSub {
			reached.require(t, []string{"woken"})
		}
	})
}

func virtualHistories(t *testing.T, h *Harness, w Workload, reached *situations) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		s := drawSchedule(r, w)
		rapid.SyncTest(r, func(r *rapid.T) {
			e := newEnv(h.Bubble())
			defer outlast()
			defer e.close()
			if err := s.run(r.Context(), e, w, picture(t), reached); err != nil {
				r.Fatalf("%s\n%v", stable(err), s)
			}
		})
	})
}

// realHistories runs each schedule by itself: what happens in real time does not happen again, so
// that there is no use in making it smaller.
func realHistories(t *testing.T, h *Harness, w Workload, reached *situations) {
	t.Helper()
	draw := rapid.Custom(func(r *rapid.T) schedule { return drawSchedule(r, w) })
	h.eachRound(t, func(seed int) error {
		s := draw.Example(seed)
		e := newEnv(h)
		defer e.close()
		if err := s.run(t.Context(), e, w, picture(t), reached); err != nil {
			return fmt.Errorf("schedule %d: %w\n%v", seed, err, s)
		}
		return nil
	})
}

// eachRound runs the rounds of a test in real time, which mostly wait, side by side. Their seeds are
// others each time: a failure prints all that was drawn.
func (h *Harness) eachRound(t *testing.T, round func(seed int) error) {
	t.Helper()
	n := h.Rounds
	if n == 0 {
		n = 5
	}
	first := rand.IntN(1 << 30) //nolint:gosec // A test's schedule.
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := round(first + i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// picture returns where the picture of a failing history goes: it outlives the test.
func picture(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
	return filepath.Join(os.TempDir(), "hasp-"+name+".html")
}

// runAreas runs one kind of test for each of the workloads.
func runAreas(
	t *testing.T, h *Harness, kind string, works []Workload,
	test func(*testing.T, Workload, *situations),
) Report {
	t.Helper()
	if err := h.validate(); err != nil {
		t.Fatal(err)
	}
	report := Report{Skipped: map[string]string{}}
	for _, w := range works {
		name := w.Name + kind
		var reached situations
		ok := t.Run(name, func(t *testing.T) {
			if h.leavesOut() {
				t.Skip(leftOut)
			}
			test(t, w, &reached)
			reached.require(t, w.Always)
		})
		switch {
		case h.leavesOut():
			report.Skipped[name] = leftOut
		case ok:
			report.Passed = append(report.Passed, name)
		default:
			report.Failed = append(report.Failed, name)
		}
		if text := reached.String(); text != "" { // else -run has left it out
			t.Logf("%s: %s", name, text)
		}
	}
	return report
}

// leftOut is why properties and histories are skipped in real time.
const leftOut = "-short leaves out what runs at random in real time"

func (h *Harness) leavesOut() bool { return h.Bubble == nil && testing.Short() }

// situations counts what histories got into.
type situations struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *situations) add(situation string) { s.addN(situation, 1) }

// require fails a test that has not failed yet if it did not get into one of some situations: what was
// never granted, say, shows nothing.
func (s *situations) require(t *testing.T, names []string) {
	t.Helper()
	counts := s.copy()
	for _, name := range names {
		if counts[name] == 0 && !t.Failed() {
			t.Errorf("no %s in all that", name)
		}
	}
}

func (s *situations) operations(n int) { s.addN("checked operations", n) }

func (s *situations) addN(situation string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[situation] += n
}

// String lists the counts by name.
func (s *situations) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.counts[name], name))
	}
	return strings.Join(parts, ", ")
}
