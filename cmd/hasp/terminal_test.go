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
}

func newShell(t *testing.T, env ...string) *shell {
	t.Helper()
	c := exec.Command("bash", "--norc", "--noprofile", "-i")
	c.Env = append(append(os.Environ(), env...), "PS1=$ ", "TERM=dumb")
	terminal := must(pty.Start(c))(t)
	s := &shell{&output{}, terminal}
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
		if err == nil && string(name) == guard.Name+"\x00" {
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
	s.keysAndAwait(t, free, "takes \"x\" from whoever holds it")
	s.keysAndAwait(t, "\n", "code=1")
	s.keysAndAwait(t, free, "Go on? [y/N]")
	require.EqualValues(t, 1, exist(t, server, "x"))
	s.keysAndAwait(t, "y\n", "code=0")
	require.Equal(t, 79, holder.code(t))
}
