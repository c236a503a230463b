//go:build unix

package planted_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mutantsVariable is how many mutants are drawn, by seedVariable; without it none.
const mutantsVariable = "HASP_MUTANTS"

// TestMutants draws mutants, has each package's tests look for those that they reach, the simplest packages first, and
// prints the mutants that no test finds: each is a hole in the tests, or belongs into equivalent.txt.
func TestMutants(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv(mutantsVariable))
	if n == 0 {
		t.Skip("make mutants runs it, with " + mutantsVariable)
	}
	seed, err := drawn()
	require.NoError(t, err)
	fmt.Printf("mutants: %s=%d\n", seedVariable, seed)
	begin := time.Now()
	mutants, files, err := draw(n, seed, t.TempDir())
	require.NoError(t, err)
	builds, err := newBuilds(t.TempDir(), files.texts())
	require.NoError(t, err)
	all, err := suites()
	require.NoError(t, err)
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // Ends the tests, too.
	defer stop()
	trial := &trial{ctx: ctx, builds: builds, drawn: len(mutants), left: mutants, reached: map[string]int{}}
	for _, s := range all {
		trial.judge(s)
		require.NoError(t, ctx.Err())
	}
	fmt.Print(trial)
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used))
	fmt.Printf("mutants: %.1f min, %d s of processors\n", time.Since(begin).Minutes(), used.Utime.Sec+used.Stime.Sec)
}

// suite is a package's tests: those that pass without a mutant, and not slowly, the cheapest first.
type suite struct {
	dir, binary string // from root
	deps        []string
	tests       []quick
}

// quick is a test, what it takes without a mutant, and which mutants it reaches.
type quick struct {
	name      string
	cpu, wall time.Duration
	reached   []string // ids
}

// judging matches the folders whose tests judge mutants.
var judging = regexp.MustCompile(product.String() + `|^conformance/matrix/(virtual|rights|repro|fair|semaphores|mutex)$`)

// suites lists the tests that judge mutants, those first that have the fewest packages in them.
func suites() (all []*suite, err error) {
	top, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list := exec.Command("sh", "-c", `go list -test -f '{{.ImportPath}}	{{.Dir}}	{{join .Deps "	"}}' `+
		`$(go list -m -f '{{.Dir}}/...')`) //nolint:noctx // All waits for it.
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		dir, _ := filepath.Rel(top, parts[1])
		if strings.HasSuffix(parts[0], ".test") && judging.MatchString(dir) && !notProduct.MatchString(dir) {
			all = append(all, &suite{dir: dir, deps: parts[2:]})
		}
	}
	slices.SortStableFunc(all, func(a, b *suite) int { return len(a.deps) - len(b.deps) })
	return all, err
}

// has reports whether a program of the suite has the mutant.
func (s *suite) has(m mutant) bool {
	folder := "github.com/hasp-go/hasp/" + filepath.Dir(m.file)
	return slices.ContainsFunc(s.deps, func(dep string) bool { return dep == folder || strings.HasPrefix(dep, folder+" ") })
}

// trial is what is known of mutants.
type trial struct {
	ctx     context.Context //nolint:containedctx // Of the one test.
	builds  *builds
	drawn   int
	hung    int            // of those found: tests that did not end
	reached map[string]int // suites, by the mutant's id
	out     []string       // suites and tests that are left out
	mutex   sync.Mutex
	left    []mutant // that no test has found
}

// tooSlow and tooLong bound the processor time, and the time, of a test without a mutant; enough that of tests with one.
const tooSlow, tooLong, enough = 20 * time.Second, 2 * time.Minute, 20 * time.Second

// judge has a suite look for the mutants that are left and that it reaches.
func (t *trial) judge(s *suite) {
	if !slices.ContainsFunc(t.left, s.has) {
		return
	}
	if err := t.baseline(s); err != nil {
		t.out = append(t.out, s.dir+": "+err.Error())
		return
	}
	fmt.Printf("%s: %d tests pass\n", s.dir, len(s.tests))
	late := t.hunt(s, slices.Clone(t.left), 2)
	late = t.hunt(s, late, 1) // Each alone.
	for _, m := range late {
		t.found(m, s.dir, "does not end, alone")
		t.hung++
	}
}

// baseline runs each test of the suite without a mutant.
func (t *trial) baseline(s *suite) (err error) {
	if s.binary, err = t.builds.of(s.dir); err != nil {
		return err
	}
	list := exec.CommandContext(t.ctx, s.binary, "-test.list=^(Test|Example|Fuzz)") //nolint:gosec // Ours.
	list.Dir = filepath.Join(root, s.dir)
	names, err := list.Output()
	atOnce(4, strings.Fields(string(names)), func(name string) {
		reached := s.binary + "." + name
		r := t.run(s, "", reached, name, tooSlow, tooLong)
		ids, _ := os.ReadFile(reached) //nolint:gosec // Ours.
		t.mutex.Lock()
		defer t.mutex.Unlock()
		if r.failed != "" || r.late {
			t.out = append(t.out, fmt.Sprintf("%s %s: %s after %.1f s of processors", s.dir, name,
				cmp.Or(r.failed, "too slow"), r.cpu.Seconds()))
			return
		}
		s.tests = append(s.tests, quick{name, r.cpu, r.wall, strings.Fields(string(ids))})
	})
	slices.SortFunc(s.tests, func(a, b quick) int { return cmp.Compare(a.cpu, b.cpu) })
	return err
}

// hunt runs the cheapest tests that reach each mutant, so many mutants at once, and returns those with which the tests
// did not end in time.
func (t *trial) hunt(s *suite, mutants []mutant, n int) (late []mutant) {
	atOnce(n, mutants, func(m mutant) {
		var names []string
		var cpu, wall time.Duration
		for _, test := range s.tests {
			if slices.Contains(test.reached, m.id()) && cpu < enough {
				names, cpu, wall = append(names, test.name), cpu+test.cpu, wall+test.wall
			}
		}
		if len(names) == 0 {
			return
		}
		r := t.run(s, m.id(), "", strings.Join(names, "|"), 3*cpu+10*time.Second, wall+30*time.Second)
		t.mutex.Lock()
		t.reached[m.id()]++
		if r.late {
			late = append(late, m)
		}
		t.mutex.Unlock()
		if r.failed != "" {
			t.found(m, s.dir, r.failed)
		}
	})
	return late
}

func (t *trial) found(m mutant, dir, how string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.ctx.Err() != nil {
		return // That is why the tests failed.
	}
	fmt.Printf("%s: found: %s %s\n", m.key, dir, how)
	t.left = slices.DeleteFunc(t.left, func(other mutant) bool { return other.key == m.key })
}

// result is that of one run.
type result struct {
	failed    string // the line that says so
	late      bool
	cpu, wall time.Duration
}

// failure is a line of a run that failed, before the end.
var failure = regexp.MustCompile(`^\s*(--- FAIL: \S+|panic: .*|fatal error: .*)`)

// run runs tests of the suite with a mutant, or with none, until the first failure. No process of its outlives it.
func (t *trial) run(s *suite, bug, log, tests string, cpu, wall time.Duration) (r result) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.ctx, wall)
	defer cancel()
	args := []string{
		"-c", `ulimit -t "$0" && exec "$@"`, strconv.Itoa(int(cpu.Seconds())), s.binary, "-test.short", "-test.v", "-test.failfast",
		"-test.parallel=8", "-test.timeout=" + (wall + time.Minute).String(), "-test.run=^(" + tests + ")$",
	}
	cmd := exec.CommandContext(ctx, "sh", args...) //nolint:gosec // Ours.
	cmd.Dir = filepath.Join(root, s.dir)
	cmd.Env = append(os.Environ(), plantedVariable+"="+bug, reachedVariable+"="+log, seedVariable+"=20261125") // As in CI.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endMarked := mark(cmd)
	end := func() error {
		defer endMarked()
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.Cancel = end
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return result{failed: err.Error()}
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for r.failed == "" && lines.Scan() {
		if found := failure.FindStringSubmatch(lines.Text()); found != nil {
			r.failed = found[1]
		}
	}
	if r.failed != "" {
		_ = end()
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	_ = end() // What the test left.
	r.late, r.wall = r.failed == "" && ctx.Err() != nil, time.Since(begin)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r.failed == "" && !r.late && err != nil {
		r.failed = fmt.Sprintf("%v after %.1f s of processors", err, r.cpu.Seconds())
	}
	return r
}

// String is the report.
func (t *trial) String() string {
	var b strings.Builder
	for _, why := range t.out {
		fmt.Fprintf(&b, "left out: %s\n", why)
	}
	unreached := 0
	for _, m := range t.left {
		if t.reached[m.id()] == 0 {
			unreached++
		}
		fmt.Fprintf(&b, "survived the tests of %d packages: %s\n", t.reached[m.id()], m)
	}
	fmt.Fprintf(&b, "mutants: %d drawn, %d found, of which %d did not end; %d survived, of which %d nothing reached\n",
		t.drawn, t.drawn-len(t.left), t.hung, len(t.left), unreached)
	return b.String()
}
