package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/programs/internal/process"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

const processes, commands = 4, 5

func TestMain(m *testing.M) { os.Exit(process.Main(main, m.Run)) }

// TestEmbedded has four clients on the server inside this process.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	server, journal := hasptest.New(t), newJournal(t)
	done := make(chan error, processes)
	for range processes {
		client := server.Client(nil)
		go func() { done <- work(t.Context(), client, strings.NewReader(journal.commands())) }()
	}
	for range processes {
		require.NoError(t, <-done)
	}
	journal.check(t)
}

// TestRedis has four processes on a real server.
func TestRedis(t *testing.T) {
	t.Parallel()
	addr, journal := servers.Start(t, servers.Redis, nil).Addr(), newJournal(t)
	var wait []func() error
	for range processes {
		cmd, err := process.Command(t.Context(), addr)
		require.NoError(t, err)
		cmd.Stdin = strings.NewReader(journal.commands())
		require.NoError(t, cmd.Start())
		wait = append(wait, cmd.Wait)
	}
	for _, ended := range wait {
		require.NoError(t, ended())
	}
	journal.check(t)
}

// journal is a file in which each command writes a line when it begins and when it ends.
type journal string

func newJournal(t *testing.T) journal {
	t.Helper()
	return journal(filepath.Join(t.TempDir(), "log"))
}

// commands returns the input of a process.
func (j journal) commands() string {
	return strings.Repeat(fmt.Sprintf("echo begin >>%[1]s; sleep 0.01; echo end >>%[1]s\n", j), commands)
}

// check finds a command that began while two others were running.
func (j journal) check(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(string(j))
	require.NoError(t, err)
	lines := strings.Fields(string(text))
	require.Len(t, lines, 2*processes*commands)
	running := 0
	for _, line := range lines {
		if line == "end" {
			running--
			continue
		}
		running++
		require.LessOrEqual(t, running, 2)
	}
}

// TestLostSlot takes the slot away from a command that would run for an hour. A command runs in real time, so the
// lease is short.
func TestLostSlot(t *testing.T) {
	t.Parallel()
	server, journal := hasptest.New(t), newJournal(t)
	client := server.Client(&primitives.Options{WatchdogLease: 6 * time.Second})
	result := make(chan error, 1)
	go func() {
		result <- work(t.Context(), client, strings.NewReader(fmt.Sprintf("echo begin >%s; exec sleep 3600", journal)))
	}()
	for !journal.begun() {
		time.Sleep(time.Millisecond)
	}
	server.Lose("workers")
	require.ErrorIs(t, <-result, primitives.ErrLost)
}

// begun reports whether a command has written.
func (j journal) begun() bool {
	text, err := os.ReadFile(string(j))
	return err == nil && len(text) > 0
}

func TestInputFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	require.ErrorIs(t, work(t.Context(), hasptest.New(t).Client(nil), iotest.ErrReader(broken)), broken)
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	err := work(t.Context(), hasptest.New(t).Client(nil), strings.NewReader("exit 3\n"))
	require.ErrorContains(t, err, "exit status 3")
}
