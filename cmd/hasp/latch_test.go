//go:build unix

package main

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestLatchOpens: those who wait for a latch end when as many have counted down as it was set to.
func TestLatchOpens(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	latch, printed := latches(t, server)
	unset := latch("wait l --until-set")
	awaitListeners(t, server, 1)
	printed("", "init l 3")
	require.Zero(t, unset.code(t), "%s", unset.errors)
	waiters := []*hasp{latch("wait l"), latch("wait l --wait 1h")}
	awaitListeners(t, server, 2)
	printed("2\n", "down l")
	printed("2\n", "get l")
	for _, w := range waiters {
		require.NoError(t, w.Process.Signal(syscall.Signal(0)), "it waits")
	}
	printed("0\n", "down l 5")
	for _, w := range waiters {
		require.Zero(t, w.code(t), "%s", w.errors)
	}
	printed("0\n", "get l")
}

// TestBarrier: those who come before the latch is set wait, and those who come after it has opened do not. A part that
// is counted again counts once.
func TestBarrier(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	latch, printed := latches(t, server)
	early := []*hasp{latch("wait b --parts"), latch("wait b --parts --wait 1h")}
	awaitListeners(t, server, 2)
	printed("", "init b 2 --parts")
	printed("1\n", "down b --part x")
	printed("1\n", "down b --part x")
	for _, w := range early {
		require.NoError(t, w.Process.Signal(syscall.Signal(0)), "it waits")
	}
	listed := start(t, []string{onServer(server.Addr())}, "list")
	require.Zero(t, listed.code(t), "%s", listed.errors)
	require.Equal(t, "b: latch\n  value     1\n", listed.output.String())
	printed("0\n", "down b --part y")
	for _, w := range append(early, latch("wait b --parts"), latch("wait b --parts -n")) {
		require.Zero(t, w.code(t), "%s", w.errors)
	}
}

// latches returns what starts a command about a latch, and what requires that one succeeds and prints a text.
func latches(t *testing.T, server *servers.Server) (begin func(line string) *hasp, printed func(text, line string)) {
	t.Helper()
	begin = func(line string) *hasp {
		return start(t, []string{onServer(server.Addr())}, append([]string{"latch"}, words(line)...)...)
	}
	return begin, func(text, line string) {
		t.Helper()
		h := begin(line)
		require.Zero(t, h.code(t), "%s", h.errors)
		require.Equal(t, text, h.output.String(), line)
	}
}

// TestBarrierUnderAPlainLatch: a waiter for parts asks once a second while a latch without parts has the name.
func TestBarrierUnderAPlainLatch(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	begin, printed := latches(t, server)
	printed("", "init b 3")
	do(t, server, "CONFIG", "RESETSTAT")
	require.Equal(t, 75, begin("wait b --parts --wait 1s").code(t))
	stats := must(server.Info("stats"))(t)
	commands := must(strconv.Atoi(stats["total_commands_processed"]))(t)
	require.Less(t, commands, 100)
}

// TestRateWaits: a waiter takes the permit when it is free, and not before.
func TestRateWaits(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	rate := func(args ...string) *hasp {
		args = append([]string{"rate", "r", "--permits", "1", "--burst", "2"}, args...)
		return start(t, []string{onServer(server.Addr())}, args...)
	}
	require.Zero(t, rate("--per", "1h", "-n", "2").code(t))
	do(t, server, "CONFIG", "RESETSTAT")
	waiter := rate("--per", "1h", "--wait")
	awaitScripts(t, server, 1)
	require.NoError(t, waiter.Process.Signal(syscall.Signal(0)), "it waits")
	waiter.signal(t, syscall.SIGTERM)
	require.Equal(t, -1, waiter.code(t))
	do(t, server, "DEL", "r")
	require.Zero(t, rate("--per", "20ms", "-n", "2").code(t))
	require.Zero(t, rate("--per", "20ms", "--wait").code(t))
}

// awaitListeners waits until so many connections listen to channels.
func awaitListeners(t *testing.T, s *servers.Server, n int) {
	t.Helper()
	eventually(t, func() bool {
		reply := must(s.Do("CLIENT", "LIST", "TYPE", "PUBSUB"))(t)
		text := must(reply.Text())(t)
		return strings.Count(text, "\n") >= n
	})
}

// awaitScripts waits until a server has run so many scripts.
func awaitScripts(t *testing.T, s *servers.Server, n int) {
	t.Helper()
	eventually(t, func() bool {
		stats := must(s.Info("commandstats"))(t)
		var calls int
		_, _ = fmt.Sscanf(stats["cmdstat_evalsha"], "calls=%d", &calls)
		return calls >= n
	})
}
