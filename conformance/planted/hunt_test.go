package planted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// finder is what finds a bug: a test of a package, with its subtests, such as "TestX/Y". Each of the
// names may be a pattern.
type finder struct {
	dir, test string
	runs      int // how often it is run to find something, at most; 0: once
}

// virtual is where the suite runs on the embedded server, in virtual time.
const virtual = "conformance/matrix/virtual"

// waits reports whether f is a test of the suite in real time: with a bug it may wait for a minute.
func (f finder) waits() bool {
	return strings.HasPrefix(f.test, "TestEmbedded/") || strings.HasPrefix(f.test, "TestMatrix/")
}

// Random walks: few without a bug, more to find a bug by the first run, and many by those that follow.
const (
	inertWalks   = 10
	firstWalks   = 100
	furtherWalks = 300

	tracesPerWalk = 50 // of TestTraces
)

// foundWithin bounds each run, and after that time the search begins no other one.
const foundWithin = 2 * time.Minute

// run is one run of a finder.
type run struct {
	binary string
	bug    string // "" for none
	seed   uint64 // of what is drawn
	walks  int
}

// search runs the finder until it fails, and returns the output of the last run, and the number of runs.
func (f finder) search(ctx context.Context, binary, bug string, seed uint64) (out string, runs int, err error) {
	start := time.Now()
	r := run{binary: binary, bug: bug, seed: seed, walks: firstWalks}
	for runs < max(1, f.runs) && err == nil && time.Since(start) < foundWithin {
		out, err = f.run(ctx, r)
		runs, r.seed, r.walks = runs+1, r.seed+1, furtherWalks
	}
	return out, runs, err
}

// run runs the finder once, and returns what it prints.
func (f finder) run(ctx context.Context, r run) (string, error) {
	cmd := exec.CommandContext(ctx, r.binary, f.args(r.walks)...) //nolint:gosec // Ours.
	cmd.Env = append(os.Environ(), plantedVariable+"="+r.bug, seedVariable+"="+strconv.FormatUint(r.seed, 10),
		"HASP_TRACES="+strconv.Itoa(tracesPerWalk*r.walks))
	cmd.Dir = filepath.Join(root, f.dir)
	defer mark(cmd)()
	text, err := cmd.CombinedOutput()
	out := string(text)
	if err == nil && !regexp.MustCompile("--- PASS: "+f.test+" ").MatchString(out) &&
		!strings.Contains(out, "--- SKIP: ") {
		err = errors.New("there is no test " + f.test)
	}
	return out, err
}

// marks counts the runs that are marked.
var marks atomic.Int64

// mark names a run in the environment of its processes. What it returns ends those that are left: a guard with a bug has a
// session of its own, and may spin for ever.
func mark(cmd *exec.Cmd) (end func()) {
	is := fmt.Sprintf("HASP_RUN=%d.%d", os.Getpid(), marks.Add(1))
	cmd.Env = append(cmd.Env, is)
	return func() {
		for range 3 { // One may start another meanwhile.
			all, _ := filepath.Glob("/proc/[0-9]*/environ")
			for _, path := range all {
				env, _ := os.ReadFile(path) //nolint:gosec // Of a process.
				if id, _ := strconv.Atoi(strings.Split(path, "/")[2]); bytes.Contains(env, []byte(is+"\x00")) {
					p, _ := os.FindProcess(id)
					_ = p.Kill()
				}
			}
		}
	}
}

func (f finder) args(walks int) []string {
	args := []string{
		"-test.run=^" + strings.ReplaceAll(f.test, "/", "$/^") + "$", "-test.failfast", "-test.v",
		"-test.timeout=" + foundWithin.String(),
	}
	if f.dir == virtual { // What failed is not made smaller.
		args = append(args, "-rapid.checks="+strconv.Itoa(walks), "-rapid.shrinktime=0s", "-rapid.nofailfile")
	}
	return args
}

// builds are the test binaries with all bugs, one for each folder. Each is compiled when somebody first asks for
// it, and one at a time, since they have many packages in common.
type builds struct {
	dir, overlay string
	made         sync.Map // of folders: functions that compile once
	turn         sync.Mutex
}

// newBuilds writes the code with all bugs to dir: the texts of files by their paths.
func newBuilds(dir string, texts map[string]string) (*builds, error) {
	replace := map[string]string{}
	for path, text := range texts {
		file := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		replace[path] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return &builds{dir: dir, overlay: overlay}, os.WriteFile(overlay, list, 0o600)
}

// of returns the test binary of a folder.
func (b *builds) of(folder string) (binary string, err error) {
	binary = filepath.Join(b.dir, strings.ReplaceAll(folder, "/", "-")+".test")
	once, _ := b.made.LoadOrStore(folder, sync.OnceValue(func() error {
		b.turn.Lock()
		defer b.turn.Unlock()
		return b.compile(folder, binary)
	}))
	return binary, once.(func() error)() //nolint:forcetypeassert // Stored above.
}

func (b *builds) compile(folder, binary string) error {
	//nolint:gosec,noctx // Ours; all tests wait for it.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+b.overlay, "-o", binary, ".")
	cmd.Dir = filepath.Join(root, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s with all bugs: %w\n%s", folder, err, out)
	}
	return nil
}
