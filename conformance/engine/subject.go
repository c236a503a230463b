package engine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hasp-go/hasp/conformance/harness"
)

// Subject is a declared primitive, whatever its types are.
type Subject interface {
	// String returns the name.
	String() string

	// Validate returns an error that names the field if the declaration lacks something, or contradicts
	// itself. The other methods need one that does not.
	Validate() error

	// Properties drives the primitive by one action after the other, next to an exact model.
	Properties(t *testing.T, h *harness.Harness, reached *Coverage)

	// Histories draws schedules, runs them on several clients at once, and checks that the model of the
	// primitive explains what they saw, and that nobody waited for something that was there.
	Histories(t *testing.T, h *harness.Harness, reached *Coverage)

	// Cases are what follows from the declaration for a backend, and the special cases.
	Cases() []harness.Case

	// FaultCases are a case for each fault.
	FaultCases() []harness.Case

	workload() *workload
}

// picture returns where the pictures of failing histories go, without their numbers: they outlive the test.
func picture(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
	return filepath.Join(os.TempDir(), "hasp-"+name)
}

// Coverage counts what tests got into. It is safe for concurrent use.
type Coverage struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *Coverage) add(situation string) { s.addN(situation, 1) }

// either returns the situation yes if is, and no if not.
func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// require fails a test that has not failed yet if it did not get into one of some situations: what was
// never granted, say, shows nothing.
func (s *Coverage) require(t *testing.T, names []string) {
	t.Helper()
	counts := s.copy()
	for _, name := range names {
		if counts[name] == 0 && !t.Failed() {
			t.Errorf("no %s in all that", name)
		}
	}
}

func (s *Coverage) addN(situation string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[situation] += n
}

// String lists the counts by name.
func (s *Coverage) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func (s *Coverage) copy() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}
