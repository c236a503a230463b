package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The seeds judge the tests of the primitives: each is a bug that is put into their code, and that
// the tests named with it must find. A new primitive brings two or more, in a table of its own.

// seed is a bug: some text of one file that is replaced by another.
type seed struct {
	name  string
	file  string // from the folder primitives
	edits edits
	found finder // what must find it
}

// id is the name of s in programs.
func (s seed) id() string { return subtest(s.name) }

// apply returns the path of the file, and its text with the bug.
func (s seed) apply() (path, bad string, err error) {
	if path, err = filepath.Abs(filepath.Join("../primitives", s.file)); err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(path) //nolint:gosec // Ours.
	if err != nil {
		return "", "", err
	}
	bad = string(text)
	for _, edit := range s.edits {
		if n := strings.Count(bad, edit[0]); n != 1 {
			return "", "", fmt.Errorf("%s no longer fits: %s has %q %d times", s.name, s.file, edit[0], n)
		}
		bad = strings.Replace(bad, edit[0], edit[1], 1)
	}
	return path, bad, nil
}

// edits are pairs of a text, which must be in the file exactly once, and what replaces it.
type edits [][2]string

// virtual is where the suite runs on the embedded server, in virtual time.
const virtual = "conformance/matrix/virtual"

// histories and properties find what there is to find of the lock, in virtual time.
var (
	histories  = historiesOf("Lock")
	properties = propertiesOf("Lock")
)

func historiesOf(primitive string) finder {
	return finder{dir: virtual, test: "TestHistories/" + primitive + "Histories", runs: 5}
}

func propertiesOf(primitive string) finder {
	return finder{dir: virtual, test: "TestProperties/" + primitive + "Properties", runs: 5}
}

// onEmbedded is a case on the embedded server, for what is no matter of time or order.
func onEmbedded(name string) finder {
	return finder{dir: virtual, test: "TestEmbedded/Together/" + name}
}

// seeds returns all bugs: those first that are found in real time, since they take the longest.
func seeds() []seed {
	return slices.Concat(vainSeeds(), waitSeeds(), renewSeeds(), lockSeeds(), spinSeeds(), fairSeeds(), readWriteSeeds(),
		jointSeeds(), numberSeeds(), permitSeeds(), countingSeeds(), idSeeds(), limiterSeeds(), adderSeeds(),
		mutexSeeds(), dispatchSeeds(), replicaSeeds())
}

// TestSeedsFit: the code still has what each bug replaces, and a switch can replace it, so that it is not
// "make prove" that says so.
func TestSeedsFit(t *testing.T) {
	t.Parallel()
	_, err := plantAll(seeds())
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, s := range seeds() {
		require.False(t, ids[s.id()], "two bugs are named %s", s.id())
		ids[s.id()] = true
	}
}

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
	seed, err := drawn()
	require.NoError(t, err)
	all, err := newBuilds(t.TempDir())
	require.NoError(t, err)
	hunt := &hunt{builds: all, seed: seed}
	together(t, "None", finders(), hunt.passes)
	together(t, "Bug", seeds(), hunt.judge)
	fmt.Println(hunt)
}

// sideBySide is how many finders run at once: most of them wait.
const sideBySide = 4

// together calls each for every one of all, so many at once, by a test of that name.
func together[T any](t *testing.T, name string, all []T, each func(t *testing.T, one T)) {
	t.Helper()
	left := make(chan T, len(all))
	for _, one := range all {
		left <- one
	}
	close(left)
	t.Run(name, func(t *testing.T) {
		var workers sync.WaitGroup
		for range sideBySide {
			workers.Go(func() {
				for one := range left {
					each(t, one)
				}
			})
		}
		workers.Wait()
	})
}

// finders returns the tests that find bugs, each once.
func finders() (all []finder) {
	for _, s := range seeds() {
		if !slices.Contains(all, s.found) {
			all = append(all, s.found)
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

// judge fails unless the test that must find s finds it.
func (h *hunt) judge(t *testing.T, s seed) {
	t.Helper()
	t.Run(s.id(), func(t *testing.T) {
		defer h.note(t, s)
		binary, err := h.builds.of(s.found.dir)
		require.NoError(t, err)
		start := time.Now()
		out, runs, err := s.found.search(t.Context(), binary, s.id(), h.seed)
		if err == nil && strings.Contains(out, "--- SKIP: ") {
			t.Skip(out)
		}
		require.Error(t, err, "%s did not find that it %s: %s\n%s", s.found.test, s.name, h.again(t), out)
		require.Contains(t, out, "--- FAIL: ", "not a test's failure: %s", h.again(t))
		require.NotContains(t, out, "panic: runtime error", "not a test's failure: %s", h.again(t))
		t.Logf("found by run %d in %s: %s", runs, time.Since(start).Round(time.Millisecond), verdict(out))
	})
}

// again returns the command that repeats a test of ours.
func (h *hunt) again(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("cd conformance && %s=%d go test -run '^%s$' .", seedVariable, h.seed,
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

// verdict returns the line that reports the failure: the first one of the test's that is not
// about a test that was skipped.
func verdict(out string) string {
	told := regexp.MustCompile(`(?m)^\s*(?:Error:|\w+\.go:\d+:)[ \t]+(\S.*)$`)
	for _, line := range told.FindAllStringSubmatch(out, -1) {
		if !strings.HasPrefix(line[1], "the harness cannot") {
			return line[1]
		}
	}
	return ""
}

// subtest makes a subtest's name of words.
func subtest(words string) string {
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}
