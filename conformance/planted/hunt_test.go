package planted_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seedVariable is the number from which the finders draw what they do; without it another one each time.
const seedVariable = "HASP_SEED"

// drawn returns the number of seedVariable, or a new one.
func drawn() (uint64, error) {
	if given := os.Getenv(seedVariable); given != "" {
		return strconv.ParseUint(given, 10, 64)
	}
	return 1 + rand.Uint64N(1e9), nil //nolint:gosec // It is no secret.
}

// TestSeededBugs prints how many bugs were found, and which were not. The code without a bug must pass the very
// same tests, which shows that the switches change nothing.
func TestSeededBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	t.Parallel()
	number, err := drawn()
	require.NoError(t, err)
	files, err := plantAll(seeds())
	require.NoError(t, err)
	all, err := newBuilds(t.TempDir(), files.texts())
	require.NoError(t, err)
	hunt := &hunt{builds: all, seed: number}
	together(t, "None", finders(), finder.waits, hunt.passes)
	together(t, "Bug", seeds(), func(s seed) bool { return slices.ContainsFunc(s.found, finder.waits) }, hunt.judge)
	fmt.Println(hunt)
}

// sideBySide is how many finders run at once, and as many again that wait.
const sideBySide = 4

// together calls each for every one of all, so many at once, by a test of that name.
func together[T any](t *testing.T, name string, all []T, waits func(one T) bool, each func(t *testing.T, one T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		var both sync.WaitGroup
		for _, waiting := range []bool{true, false} {
			some := slices.DeleteFunc(slices.Clone(all), func(one T) bool { return waits(one) != waiting })
			both.Go(func() { atOnce(sideBySide, some, func(one T) { each(t, one) }) })
		}
		both.Wait()
	})
}

// atOnce calls f for each of all, so many at once.
func atOnce[T any](n int, all []T, f func(T)) {
	var workers sync.WaitGroup
	turns := make(chan bool, n)
	for _, one := range all {
		turns <- true
		workers.Go(func() {
			f(one)
			<-turns
		})
	}
	workers.Wait()
}

// finders returns the tests that find bugs, each once.
func finders() (all []finder) {
	for _, s := range seeds() {
		for _, f := range s.found {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// hunt is a search for all bugs.
type hunt struct {
	builds *builds
	seed   uint64
	mutex  sync.Mutex
	tried  int
	missed []string
}

// passes fails unless the finder passes when there is no bug.
func (h *hunt) passes(t *testing.T, f finder) {
	t.Helper()
	t.Run(subtest(f.dir+"/"+f.test), func(t *testing.T) {
		binary, err := h.builds.of(f.dir)
		require.NoError(t, err)
		out, err := f.run(t.Context(), run{binary: binary, seed: h.seed, walks: inertWalks})
		require.NoError(t, err, "there is no bug, but by %s\n%s", h.again(t), out)
	})
}

// judge fails unless the tests that must find s find it.
func (h *hunt) judge(t *testing.T, s seed) {
	t.Helper()
	t.Run(s.id(), func(t *testing.T) {
		defer h.note(t, s)
		for _, f := range s.found {
			h.finds(t, f, s)
		}
	})
}

// finds fails unless f finds s.
func (h *hunt) finds(t *testing.T, f finder, s seed) {
	t.Helper()
	binary, err := h.builds.of(f.dir)
	require.NoError(t, err)
	start := time.Now()
	out, runs, err := f.search(t.Context(), binary, s.id(), h.seed)
	if err == nil && strings.Contains(out, "--- SKIP: ") {
		t.Skip(out)
	}
	require.Error(t, err, "%s did not find that it %s: %s\n%s", f.test, s.name, h.again(t), out)
	require.Contains(t, out, "--- FAIL: ", "not a test's failure: %s", h.again(t))
	require.NotContains(t, out, "panic: runtime error", "not a test's failure: %s", h.again(t))
	t.Logf("%s: run %d in %s", f.test, runs, time.Since(start).Round(time.Millisecond))
}

// again returns the command that repeats a test of ours.
func (h *hunt) again(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("cd conformance/planted && %s=%d go test -run '^%s$' .", seedVariable, h.seed,
		strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// note counts s, and whether it was found.
func (h *hunt) note(t *testing.T, s seed) {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.tried++
	if t.Failed() || t.Skipped() {
		h.missed = append(h.missed, s.id())
	}
}

// String is the report.
func (h *hunt) String() string {
	report := fmt.Sprintf("planted bugs: %d of %d found, by %s=%d", h.tried-len(h.missed), h.tried, seedVariable, h.seed)
	if len(h.missed) > 0 {
		report += "; not found: " + strings.Join(h.missed, ", ")
	}
	return report
}
