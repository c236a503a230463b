//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

// shell is an interactive shell with job control on a terminal of its own.
type shell struct {
	*output
	keys io.Writer
	pid  int
}

func newShell(t *testing.T, env ...string) *shell {
	t.Helper()
	c := exec.Command("bash", "--norc", "--noprofile", "-i")
	c.Env = append(append(os.Environ(), env...), "PS1=$ ", "TERM=dumb")
	terminal := must(pty.Start(c))(t)
	s := &shell{&output{}, terminal, c.Process.Pid}
	go func() { _, _ = io.Copy(s, terminal) }()
	t.Cleanup(func() {
		for _, job := range childrenOf(t, c.Process.Pid) {
			_ = syscall.Kill(-job, syscall.SIGKILL) // Without this a stopped job would stay.
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = terminal.Close()
	})
	return s
}

// keysAndAwait types keys, and waits for a text that was not there before.
func (s *shell) keysAndAwait(t *testing.T, keys, text string) {
	t.Helper()
	before := len(s.String())
	require.NoError(t, errOf(io.WriteString(s.keys, keys)))
	eventually(t, func() bool { return containsAfter(s.String(), before, text) })
}

func containsAfter(all string, begin int, text string) bool {
	for i := begin; i+len(text) <= len(all); i++ {
		if all[i:i+len(text)] == text {
			return true
		}
	}
	return false
}

// TestTerminal: the command reads the terminal; Ctrl-C ends it, and Ctrl-Z stops it and hasp, for the shell to continue.
func TestTerminal(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := newShell(t, onServer(server.Addr()))
	s.keysAndAwait(t, binary+" lock x -- sh -c 'read line; echo got:$line'\n", "got:$line'")
	awaitKey(t, server, "x")
	s.keysAndAwait(t, "words\n", "got:words")
	s.keysAndAwait(t, binary+" lock y -- cat\n", "lock y")
	awaitKey(t, server, "y") // From here on the terminal is the command's.
	s.keysAndAwait(t, "begun\n", "begun\r\nbegun\r\n")
	s.keysAndAwait(t, "\x1a", "Stopped")
	s.keysAndAwait(t, "fg\n", "hasp lock y")
	s.keysAndAwait(t, "echoed\n", "echoed\r\nechoed\r\n")
	s.keysAndAwait(t, "\x03", "$ ")
	s.keysAndAwait(t, "echo last:$?\n", "last:130")
	require.Zero(t, exist(t, server, "x", "y"))
}

// TestTerminalAsWithoutHasp: the keys and the shell's job control do with a command below hasp what they do without.
func TestTerminalAsWithoutHasp(t *testing.T) {
	t.Parallel()
	server, file := startServer(t), filepath.Join(t.TempDir(), "file")
	wait := "while [ ! -e $FILE ]; do sleep 0.05; done; "
	type step struct{ keys, text string }
	for name, steps := range map[string][]step{
		"CtrlZAndBg": {
			{"$H lock 2 -- bash -c 'echo begun; " + wait + "echo woke'\n", "begun\r"}, {"\x1a", "Stopped"},
			{"bg\n", "lock 2"}, {"touch $FILE\n", "woke\r"},
		},
		"PromptInAPipeline": {
			{"$H lock 3 -c 'echo begun; read x </dev/tty; echo got:$x' | cat\n", "begun\r"}, {"words\n", "got:words"},
		},
		"Pager": {
			{"$H lock 4 -- echo out | sh -c 'cat; read x </dev/tty; echo pager:$x'\n", "out\r"}, {"q\n", "pager:q"},
		},
		"BackgroundThenFg": {
			{"set -b; $H lock 5 -c 'read x; echo got:$x' &\n", "Stopped"}, {"fg\n", "lock 5"}, {"words\n", "got:words"},
		},
		"ShellInside": {
			{"PS1='\\s> ' $H lock 6 -- bash --norc --noprofile -i\n", "bash> "}, {"echo be\"\"gun; cat\n", "begun\r"}, {"line\n", "line\r\nline\r"},
			{"\x03", "bash> "}, {"echo code:$?\n", "code:130"}, {"suspend\n", "Stopped"}, {"fg\n", "lock 6"},
			{"exit 5\n", "exit\r"}, {"echo code=$?\n", "code=5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, onServer(server.Addr()), "H="+binary, "FILE="+file+name)
			for _, step := range steps {
				s.keysAndAwait(t, step.keys, step.text)
			}
			require.Equal(t, name == "BackgroundThenFg", strings.Contains(s.String(), "hasp: SIGTTIN has stopped the command: it is in the background"))
		})
	}
}

// TestCtrlCComesOnce: the command gets it from the terminal, and not from hasp again; no SIGKILL follows.
func TestCtrlCComesOnce(t *testing.T) {
	t.Parallel()
	s := newShell(t, onServer(startServer(t).Addr()))
	traps := "trap 'echo got:INT' INT; trap 'echo got:USR1' USR1; trap 'exit 3' USR2; "
	s.keysAndAwait(t, binary+" lock x --grace 0s -- bash -c \""+traps+"echo got:nothing; while :; do sleep 0.05; done\"\n", "got:nothing\r")
	s.keysAndAwait(t, "\x03", "got:INT\r")
	jobs := childrenOf(t, s.pid)
	require.Len(t, jobs, 1)
	require.NoError(t, syscall.Kill(jobs[0], syscall.SIGUSR1)) // It comes after all that hasp has passed on.
	eventually(t, func() bool { return strings.Contains(s.String(), "got:USR1\r") })
	require.NoError(t, syscall.Kill(jobs[0], syscall.SIGUSR2))
	s.keysAndAwait(t, "echo code=$?\n", "code=3")
	require.Equal(t, 1, strings.Count(s.String(), "got:INT\r"))
}

// TestStoppedCommandEnds: a signal that ends a command continues it, too, and hasp has said that it was stopped.
func TestStoppedCommandEnds(t *testing.T) {
	t.Parallel()
	h := start(t, []string{onServer(startServer(t).Addr())}, "lock", "x", "--grace", "1h", "-c", "kill -STOP $$")
	eventually(t, func() bool { return h.errors.String() == "hasp: SIGSTOP has stopped the command\n" })
	h.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), h.code(t))
}

// TestCommandInherits: the command ignores the signals that hasp was started to ignore, and has all descriptors of the
// caller. The one that closes at the loss has one digit, if one is free.
func TestCommandInherits(t *testing.T) {
	t.Parallel()
	env := []string{onServer(startServer(t).Addr()), "H=" + binary}
	for name, c := range map[string]struct{ before, command, says string }{
		"Ignored":   {"trap '' HUP INT; grep SigIgn /proc/self/status; ", "grep SigIgn /proc/self/status", `^(SigIgn:\s\w+3\n){2}$`},
		"Default":   {"", "grep SigIgn /proc/self/status", "^" + ignored(t) + "$"},
		"Open":      {"exec 3>&1 8>&1; ", "sh -c 'echo 3 >&3; echo 8 >&8; echo $HASP_LEASE_FD'", `^3\n8\n9\n$`},
		"NineTaken": {"exec 9>&1; ", "sh -c 'echo 9 >&9; echo $HASP_LEASE_FD'", `^9\n8\n$`},
		"AllTaken":  {"exec 3>&1 4>&1 5>&1 6>&1 7>&1 8>&1 9>&1; ", "bash -c 'echo $HASP_LEASE_FD; : <&$HASP_LEASE_FD && echo open'", `^1\d\d\nopen\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := exec.CommandContext(t.Context(), "sh", "-c", c.before+"exec $H lock "+name+" -- "+c.command)
			caller.Env = append(os.Environ(), env...)
			h := begin(t, caller)
			require.Zero(t, h.code(t), h.errors)
			require.Regexp(t, c.says, h.output.String())
		})
	}
}

// ignored returns which signals this process was started to ignore.
func ignored(t *testing.T) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "grep", "SigIgn", "/proc/self/status").Output()
	require.NoError(t, err)
	return string(text)
}

// TestCtrlZWhileWaiting: it stops a hasp that waits for the lock, and not the command later.
func TestCtrlZWhileWaiting(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	holder := start(t, []string{onServer(server.Addr())}, "lock", "z", "--", "sleep", "1000")
	awaitKey(t, server, "z")
	s := newShell(t, onServer(server.Addr()))
	s.keysAndAwait(t, binary+" lock z -- sh -c 'echo it:$HASP_NAME'\n", "HASP_NAME'")
	eventually(t, func() bool {
		reply := must(server.Do("PUBSUB", "CHANNELS", "redisson_lock__channel:{z}"))(t)
		channels := must(reply.Items())(t)
		return len(channels) == 1 // It waits.
	})
	s.keysAndAwait(t, "\x1a", "Stopped")
	holder.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), holder.code(t))
	s.keysAndAwait(t, "fg\n", "it:z")
	s.keysAndAwait(t, "echo last:$?\n", "last:0")
}

// TestGuardIsKilled: hasp says why it ends the command.
func TestGuardIsKilled(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	holder := start(t, append(work.env("stubborn"), onServer(server.Addr())), "lock", "x", "--", os.Args[0])
	work.await(t, 1)
	require.NoError(t, syscall.Kill(guardOf(t, holder), syscall.SIGKILL))
	require.Equal(t, 128+int(syscall.SIGKILL), holder.code(t))
	require.Equal(t, "hasp: the guard was killed, so the command was ended\n", holder.errors.String())
	require.Zero(t, exist(t, server, "x"))
}

// guardOf returns the process id of the guard of a hasp.
func guardOf(t *testing.T, h *hasp) int {
	t.Helper()
	for _, pid := range childrenOf(t, h.Process.Pid) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasPrefix(string(name), guard.Name+"\x00") {
			return pid
		}
	}
	require.Fail(t, "there is no guard")
	return 0
}

// childrenOf returns the children of a process, on systems that say so.
func childrenOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	files := must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(t)
	for _, file := range files {
		children, _ := os.ReadFile(file) // The thread may have ended.
		for _, text := range strings.Fields(string(children)) {
			child := must(strconv.Atoi(text))(t)
			all = append(all, child)
		}
	}
	return all
}

// TestForceUnlockAsks: without y it frees nothing.
func TestForceUnlockAsks(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := newShell(t, onServer(server.Addr()))
	holder := start(t, []string{onServer(server.Addr())}, "lock", "x", "--lease", kept, "--", "sleep", "1000")
	awaitKey(t, server, "x")
	free := binary + " force-unlock x; echo code=$?\n"
	s.keysAndAwait(t, free, "takes \"x\" from its holder")
	s.keysAndAwait(t, "\n", "code=1")
	s.keysAndAwait(t, free, "Go on? [y/N]")
	require.EqualValues(t, 1, exist(t, server, "x"))
	s.keysAndAwait(t, "y\n", "code=0")
	require.Equal(t, 79, holder.code(t))
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
