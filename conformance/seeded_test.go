package conformance_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // What servers know scripts by.
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
		dispatchSeeds(), vainSeeds(), replicaSeeds())
}

// TestSeededBugs prints how many bugs were found. The code without a bug must pass the very same
// tests.
func TestSeededBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	t.Parallel()
	dir := t.TempDir()
	t.Run("None", func(t *testing.T) {
		binaries := map[string]string{}
		for _, f := range finders() {
			if binaries[f.dir] == "" {
				binaries[f.dir] = filepath.Join(dir, subtest(f.dir)+".test")
				require.NoError(t, f.compile(t.Context(), binaries[f.dir]))
			}
			t.Run(subtest(f.test), func(t *testing.T) {
				t.Parallel()
				out, err := f.search(t.Context(), binaries[f.dir], 1)
				require.NoError(t, err, "there is no bug, but\n%s", out)
			})
		}
	})
	var killed atomic.Int64
	t.Run("Bug", func(t *testing.T) {
		for i, s := range seeds() {
			t.Run(subtest(s.name), func(t *testing.T) {
				t.Parallel()
				s.judge(t, filepath.Join(dir, strconv.Itoa(i)))
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
func (s seed) judge(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	overlay, err := s.plant(dir)
	require.NoError(t, err)
	binary := filepath.Join(dir, "seeded.test")
	require.NoError(t, s.found.compile(t.Context(), binary, "-overlay="+overlay))
	t.Cleanup(func() { _ = os.Remove(binary) })
	start := time.Now()
	out, err := s.found.search(t.Context(), binary, max(1, s.found.runs))
	if err == nil && strings.Contains(out, "--- SKIP: ") {
		t.Skip(out)
	}
	require.Error(t, err, "%s did not find it:\n%s", s.found.test, out)
	require.Contains(t, out, "--- FAIL: ", "not a test's failure")
	require.NotContains(t, out, "panic: runtime error")
	t.Logf("found in %s: %s", time.Since(start).Round(time.Millisecond), verdict(out))
}

// plant writes the file with the bug to dir, and returns the name of an overlay for go build that
// puts it in the place of the good one.
func (s seed) plant(dir string) (overlay string, err error) {
	good, err := filepath.Abs(filepath.Join("../primitives", s.file))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(good)
	if err != nil {
		return "", err
	}
	bad, err := s.edits.apply(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.file, err)
	}
	planted := filepath.Join(dir, "planted.go")
	overlay = filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {good: planted}})
	return overlay, errors.Join(err,
		os.WriteFile(planted, []byte(bad), 0o600), os.WriteFile(overlay, list, 0o600))
}

func (e edits) apply(text string) (string, error) {
	for _, edit := range e {
		if n := strings.Count(text, edit[0]); n != 1 {
			return "", fmt.Errorf("the seed no longer fits: it has %q %d times", edit[0], n)
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	return rehash(text), nil
}

// generated is what luagen writes of a script: its source, and the hash of that.
var generated = regexp.MustCompile("(?s)(Source = `(.*?)`\n\nconst \\w+SHA1 = )\"[0-9a-f]{40}\"")

// rehash gives a generated script that was changed its own hash.
func rehash(text string) string {
	return generated.ReplaceAllStringFunc(text, func(found string) string {
		part := generated.FindStringSubmatch(found)
		return fmt.Sprintf("%s%q", part[1], fmt.Sprintf("%x", sha1.Sum([]byte(part[2])))) //nolint:gosec // As above.
	})
}

// compile makes the test binary of f's package.
func (f finder) compile(ctx context.Context, binary string, args ...string) error {
	args = append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, append(args, ".")...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // Ours.
	cmd.Dir = filepath.Join("..", f.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests: %w\n%s", err, out)
	}
	return nil
}

// search runs the test of a binary so many times, until it fails, and returns what it prints.
func (f finder) search(ctx context.Context, binary string, runs int) (string, error) {
	args := []string{
		"-test.run=^" + strings.ReplaceAll(f.test, "/", "$/^") + "$", "-test.failfast", "-test.v",
		"-test.timeout=" + foundWithin.String(), "-test.count=" + strconv.Itoa(runs),
	}
	if f.dir == virtual { // What failed is not made smaller.
		args = append(args, "-rapid.checks=300", "-rapid.shrinktime=0s", "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // Ours.
	cmd.Dir = filepath.Join("..", f.dir)
	text, err := cmd.CombinedOutput()
	out := string(text)
	if err == nil && !regexp.MustCompile("--- PASS: "+f.test+" ").MatchString(out) &&
		!strings.Contains(out, "--- SKIP: ") {
		err = errors.New("there is no test " + f.test)
	}
	return out, err
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
