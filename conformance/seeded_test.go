package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// edits are pairs of a text, which must be in the file exactly once, and what replaces it.
type edits [][2]string

// finder is what finds a bug: a test of a package, with its subtests, such as "TestX/Y". Each of the
// names may be a pattern.
type finder struct {
	dir, test string
	runs      int // how often it is run to find something, at most; 0: once
}

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

// foundWithin bounds the search for one bug.
const foundWithin = 2 * time.Minute

func seeds() []seed {
	return slices.Concat(waitSeeds(), renewSeeds(), lockSeeds(), spinSeeds(), fairSeeds(), readWriteSeeds(),
		jointSeeds(), numberSeeds(), permitSeeds(), countingSeeds(), idSeeds(), limiterSeeds(), adderSeeds(),
		mutexSeeds(), dispatchSeeds(), vainSeeds(), replicaSeeds())
}

// TestSeedsFit: the code still has what each bug replaces, so that it is not "make prove" that says so.
func TestSeedsFit(t *testing.T) {
	t.Parallel()
	for _, s := range seeds() {
		_, _, err := s.apply()
		require.NoError(t, err, s.name)
	}
}

// TestSeededBugs prints how many bugs were found. The code without a bug must pass the very same
// tests; how often they pass at random is the matter of the folders that they are in.
func TestSeededBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	t.Parallel()
	dir := t.TempDir()
	good := &builds{dir: dir}
	t.Run("None", func(t *testing.T) {
		for _, f := range finders() {
			t.Run(subtest(f.test), func(t *testing.T) {
				t.Parallel()
				binary, err := good.of(t.Context(), f)
				require.NoError(t, err)
				out, err := f.search(t.Context(), program{binary: binary}, 1, 30)
				require.NoError(t, err, "there is no bug, but\n%s", out)
			})
		}
	})
	var killed atomic.Int64
	t.Run("Bug", func(t *testing.T) {
		for i, s := range seeds() {
			t.Run(subtest(s.name), func(t *testing.T) {
				t.Parallel()
				s.judge(t, filepath.Join(dir, strconv.Itoa(i)), good)
				killed.Add(1)
			})
		}
	})
	fmt.Printf("killed %d of %d\n", killed.Load(), len(seeds()))
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

// judge fails unless the test finds s. It works in a folder of its own.
func (s seed) judge(t *testing.T, dir string, good *builds) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	p, err := s.plant(t.Context(), dir, good)
	require.NoError(t, err)
	start := time.Now()
	out, err := s.found.search(t.Context(), p, max(1, s.found.runs), 300)
	if err == nil && strings.Contains(out, "--- SKIP: ") {
		t.Skip(out)
	}
	require.Error(t, err, "%s did not find it:\n%s", s.found.test, out)
	require.Contains(t, out, "--- FAIL: ", "not a test's failure")
	require.NotContains(t, out, "panic: runtime error")
	t.Logf("found in %s: %s", time.Since(start).Round(time.Millisecond), verdict(out))
}

// verdict returns the line that reports the failure: the first one of the test's that is not
// about a test that was skipped.
func verdict(out string) string {
	told := regexp.MustCompile(`(?m)^\s*(?:Error:|\w+\.go:\d+:)\s+(\S.*)$`)
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
