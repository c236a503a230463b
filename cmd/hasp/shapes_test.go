//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// The shapes of a command's processes: the first itself; in a session of its own; one that two forks have left; in a group
// of its own, by a script and by an interactive shell; and another user's, which only the program that started it can end.
var shapes = []string{"plain", "setsid", "double fork", "set -m", "bash -i", "sudo"}

// ticks works like a worker, in a shell, for two minutes at most: a test that is killed leaves the file, and ends nobody.
// stubborn ignores what asks it to end.
const (
	ticks    = `n=0; while [ -e "$WORK_FILE" ] && [ $((n += 1)) -lt 5000 ]; do echo "$HASP_OWNER $$ $WORK_SHAPE" >>"$WORK_FILE"; sleep 0.02; done`
	stubborn = `trap "" TERM INT HUP; ` + ticks
)

// inShapes starts stubborn processes of all shapes, and becomes the first. That of sudo is not stubborn.
const inShapes = `
WORK_SHAPE=setsid setsid sh -c "$W" &
WORK_SHAPE="double fork" setsid sh -c 'sh -c "$W" &'
WORK_SHAPE="set -m" bash -mc 'sh -c "$W"; true' &
WORK_SHAPE="bash -i" ` + workerVariable + `=terminal "$0" &
[ -z "$SUDO" ] || WORK_SHAPE=sudo ` + workerVariable + `=sudo "$SUDO" &
WORK_SHAPE=plain
eval "$W"`

func init() { workers["terminal"], workers["sudo"] = workAtTerminal, workAsRoot }

// workAtTerminal has an interactive shell work at a terminal of its own.
func workAtTerminal() {
	terminal, err := pty.Start(exec.Command("bash", "--norc", "--noprofile", "-ic", `sh -c "$W"; true`))
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, terminal)
	os.Exit(0)
}

// workAsRoot is what sudo does: another user's process works, and gets SIGTERM from the program that has started it.
func workAsRoot() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	c := exec.Command("sh", "-c", os.Getenv("ROOT"))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{}}
	if err := c.Start(); err != nil {
		panic(err)
	}
	go func() {
		for s := range asked {
			_ = c.Process.Signal(s)
		}
	}()
	_ = c.Wait()
	os.Exit(0)
}

// sideBySide is how many situations there are at once: each has many processes.
var sideBySide = make(chan struct{}, 4)

// TestAllProcessesEndBeforeTheNextBegins: whatever becomes of a holder, its command's processes of all shapes have ended
// before the next command begins. The exceptions of docs/command.md are seen, too.
func TestAllProcessesEndBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	program := newProgram(t)
	for name, c := range map[string]struct {
		fault func(t *testing.T, s *situation)
		code  int
		stay  []string // what works beside the next command for as long as it likes
		loose bool     // for a while each may
	}{
		"HaspKilled":    {fault: killed, code: -1},
		"HaspStopped":   {fault: stopped, code: 79},
		"HaspEnds":      {fault: terminated, code: 128 + 9},
		"GuardKilled":   {fault: toGuard(syscall.SIGKILL), code: 128 + 9},
		"GuardStopped":  {fault: toGuard(syscall.SIGSTOP), code: 128 + 9},
		"BothKilled":    {fault: bothKilled, code: -1, stay: program.shapes[1:]},
		"SilentLink":    {fault: func(_ *testing.T, s *situation) { s.link.Blackhole() }, code: 79},
		"ForcedAway":    {fault: forcedAway, code: 79},
		"ForcedAwayNow": {fault: forcedAwayNow, code: 79, loose: true},
		"ServerEmptied": {fault: func(t *testing.T, s *situation) { t.Helper(); do(t, s.server, "FLUSHALL") }, code: 79, loose: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sideBySide <- struct{}{}
			defer func() { <-sideBySide }()
			s := newSituation(t)
			s.holder = program.run(t, s, "12s", "2s", ticks, "sh", "-c", inShapes, program.path)
			s.work.awaitShapes(t, 0, func(w worked) bool { return len(w.first) == len(program.shapes) })
			c.fault(t, s)
			next := start(t, append(s.work.env("plain"), onServer(s.server.Addr())), "lock", "x", "--lease", "1h", "--", os.Args[0])
			s.work.awaitShapes(t, 0, func(w worked) bool { return w.next > 0 })
			s.holder.resume(t)
			require.Equal(t, c.code, s.holder.code(t), "%s", s.holder.errors)
			ended, from := s.work.shapes(t, 0), 0
			if c.loose {
				t.Log("for a while beside the next:", ended.beside)
				from = ended.lines
			}
			last := s.work.awaitShapes(t, from, func(w worked) bool {
				return w.next > ended.next+100 && len(w.beside) >= len(c.stay)
			})
			require.ElementsMatch(t, c.stay, slices.Collect(maps.Keys(last.beside)))
			next.signal(t, syscall.SIGTERM)
			require.Equal(t, 128+int(syscall.SIGTERM), next.code(t))
		})
	}
}

// program is a copy of the program for an unprivileged user, if there can be one.
type program struct {
	path, sudo string // sudo becomes root
	shapes     []string
	user       *syscall.SysProcAttr
}

func newProgram(t *testing.T) *program {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("not root: without another user's process")
		return &program{os.Args[0], "", shapes[:len(shapes)-1], nil}
	}
	dir := public(t)
	p := &program{filepath.Join(dir, "job"), filepath.Join(dir, "sudo"), shapes, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}}
	for path, mode := range map[string]os.FileMode{p.path: 0o755, p.sudo: 0o755 | os.ModeSetuid} {
		require.NoError(t, os.WriteFile(path, must(os.ReadFile(os.Args[0]))(t), 0o700))
		require.NoError(t, os.Chmod(path, mode))
	}
	require.NoError(t, os.Symlink(p.path, filepath.Join(dir, "hasp")))
	return p
}

// public returns a folder that each user can read.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// run starts a holder, with a work file for all users. What root runs is root.
func (p *program) run(t *testing.T, s *situation, lease, grace, root string, command ...string) *hasp {
	t.Helper()
	s.work = shared{filepath.Join(public(t), "work")}
	require.NoError(t, os.WriteFile(s.work.file, nil, 0o600))
	require.NoError(t, os.Chmod(s.work.file, 0o666))
	path := binary
	if p.user != nil {
		path = filepath.Join(filepath.Dir(p.path), "hasp")
	}
	c := exec.Command(path, append([]string{"lock", "x", "--lease", lease, "--grace", grace, "--"}, command...)...)
	c.Env = append(append(os.Environ(), s.work.env("sudo")...), onServer(s.link.Addr()), "SUDO="+p.sudo, "W="+stubborn, "ROOT="+root)
	c.SysProcAttr = p.user
	return begin(t, c)
}

// worked is what the oracle says of two holders.
type worked struct {
	lines  int
	first  map[string]bool // the shapes of the first
	beside map[string]bool // those that worked after the second had begun
	next   int             // how many lines the second has
}

// shapes returns which shapes have worked; beside the second only those behind so many lines.
func (s shared) shapes(t *testing.T, from int) worked {
	t.Helper()
	text := must(os.ReadFile(s.file))(t)
	w := worked{first: map[string]bool{}, beside: map[string]bool{}}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		switch w.lines++; {
		case !strings.HasSuffix(line, "\n"): // It is just being written.
		case len(words) < 3: // It has no shape.
			w.next++
		case w.next == 0:
			w.first[words[2]] = true
		case w.lines > from:
			w.beside[words[2]] = true
		}
	}
	return w
}

// awaitShapes waits for a condition of what the oracle says, and returns that.
func (s shared) awaitShapes(t *testing.T, from int, condition func(w worked) bool) (w worked) {
	t.Helper()
	eventually(t, func() bool {
		time.Sleep(20 * time.Millisecond) // It reads the whole file.
		w = s.shapes(t, from)
		return condition(w)
	})
	return w
}

// toGuard returns the fault of a guard that gets a signal.
func toGuard(signal syscall.Signal) func(*testing.T, *situation) {
	return func(t *testing.T, s *situation) {
		t.Helper()
		require.NoError(t, syscall.Kill(guardOf(t, s.holder), signal))
	}
}

// bothKilled kills the guard of a hasp that cannot see it, and then hasp.
func bothKilled(t *testing.T, s *situation) {
	t.Helper()
	stopped(t, s)
	toGuard(syscall.SIGKILL)(t, s)
	killed(t, s)
}

// TestProcessThatCannotBeEnded: hasp names it, and keeps the lock while it lives; after another signal it leaves the lock to
// the lease's end, and after a loss it says the same.
func TestProcessThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	program := newProgram(t)
	if program.sudo == "" {
		t.Skip("only root has processes of another user")
	}
	for name, c := range map[string]struct {
		then  func(t *testing.T, s *situation, pid int)
		code  int
		keeps bool
		says  string
	}{
		"Ends": {func(t *testing.T, _ *situation, pid int) {
			t.Helper()
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}, 128 + 9, false, ""},
		"Signal":  {func(t *testing.T, s *situation, _ int) { t.Helper(); terminated(t, s) }, 79, true, `hasp: "x" is not released: the processes \[%d\] of the command keep running\n`},
		"Revoked": {func(t *testing.T, s *situation, _ int) { t.Helper(); forcedAway(t, s) }, 79, true, `hasp: "x" is not released: the processes \[%d\] of the command keep running\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSituation(t)
			s.holder = program.run(t, s, "30s", "100ms", stubborn, program.sudo)
			pid := 0
			eventually(t, func() bool {
				text := must(os.ReadFile(s.work.file))(t)
				_, err := fmt.Sscan(string(text), new(string), &pid)
				return err == nil
			})
			terminated(t, s)
			named := fmt.Sprintf("hasp: SIGKILL has not ended the processes [%d]\n", pid)
			eventually(t, func() bool { return s.holder.errors.String() == named })
			c.then(t, s, pid)
			require.Equal(t, c.code, s.holder.code(t))
			require.Regexp(t, "^"+regexp.QuoteMeta(named)+strings.ReplaceAll(c.says, "%d", strconv.Itoa(pid))+"$", s.holder.errors.String())
			require.Equal(t, c.keeps, exist(t, s.server, "x") == 1)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		})
	}
}

// TestScriptSurvivesAStoppedHasp: without a terminal the system sends no SIGHUP to the script in which hasp is stopped.
func TestScriptSurvivesAStoppedHasp(t *testing.T) {
	t.Parallel()
	script := exec.CommandContext(t.Context(), "sh", "-c", "$H lock x --lease 9s -- sleep 1000 & echo $!; wait; echo survives")
	script.Env = append(os.Environ(), onServer(startServer(t).Addr()), "H="+binary)
	script.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h := begin(t, script)
	pid := 0
	eventually(t, func() bool {
		_, _ = fmt.Sscan(h.output.String(), &pid)
		return pid > 0 && len(childrenOf(t, pid)) == 1 && len(childrenOf(t, childrenOf(t, pid)[0])) == 1
	})
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, func() bool {
		return len(childrenOf(t, pid)) == 1 && childrenOf(t, childrenOf(t, pid)[0]) == nil || h.hasEnded()
	})
	_ = syscall.Kill(pid, syscall.SIGCONT)
	require.Zero(t, h.code(t))
	require.Contains(t, h.output.String(), "survives")
}
