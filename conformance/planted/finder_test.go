package planted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

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
