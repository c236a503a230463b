//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnce runs a job on 20 processes at once, kills the first that runs it, and leaves one that has run it.
func TestOnce(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("stubborn"), onServer(server.Addr()))
	job := []string{"once", "job", "--every", "1000h", "--wait"}
	winner := start(t, env, append(job, "--lease", lease, "--", os.Args[0])...)
	work.await(t, 1)
	var others []*hasp
	for range 20 {
		others = append(others, start(t, env, append(job, "--", "sh", "-c", "echo $HASP_OWNER 0 >>$WORK_FILE; echo ran")...))
	}
	winner.signal(t, syscall.SIGKILL)
	ran := ""
	for _, other := range others {
		require.Zero(t, other.code(t), other.errors)
		ran += other.output.String()
	}
	require.Equal(t, "ran\n", ran)
	require.Len(t, work.owners(t), 2)
}

// TestOnceDoesNotWait leaves a period to another process that runs the command.
func TestOnceDoesNotWait(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("plain"), onServer(server.Addr()))
	start(t, env, "once", "job", "--every", "1000h", "--", os.Args[0])
	work.await(t, 1)
	other := start(t, env, "once", "job", "--every", "1000h", "--", "echo", "ran")
	require.Zero(t, other.code(t), other.errors)
	require.Empty(t, other.output.String())
}

// TestElect has the next candidate run its command when the leader is killed, and the leader again after a loss.
func TestElect(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("stubborn"), onServer(server.Addr()))
	elect := []string{"elect", "e", "--lease", lease, "--value", "here", "--", os.Args[0]}
	observer := start(t, env, "elect", "e", "--observe")
	leader := start(t, env, elect...)
	work.await(t, 1)
	start(t, env, elect...)
	leader.signal(t, syscall.SIGKILL)
	work.await(t, 2)
	do(t, server, "DEL", "e")
	work.await(t, 3)
	eventually(t, func() bool { return strings.Count(observer.output.String(), "\there\n") >= 3 })
	observer.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), observer.code(t))
}

// TestSlots has two of three commands run at once, and the third when one ends.
func TestSlots(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	var all []*hasp
	for i := range 2 {
		all = append(all, start(t, []string{onServer(server.Addr())}, "slot", "s", "-n", "2", "--", "sleep", "1000"))
		eventually(t, func() bool {
			reply, err := server.Do("ZCARD", "s")
			n, _ := reply.Int()
			return err == nil && n == int64(i+1)
		})
	}
	full := start(t, []string{onServer(server.Addr())}, "slot", "s", "-n", "2", "--try", "--", "true")
	require.Equal(t, 75, full.code(t))
	third := start(t, []string{onServer(server.Addr())}, "slot", "s", "-n", "2", "--", "true")
	for range 20 {
		third.signal(t, syscall.SIGWINCH) // A window that changes its size ends no wait.
	}
	all[0].signal(t, syscall.SIGTERM)
	require.Zero(t, third.code(t), third.errors)
}

// TestSignalsWithoutACommand: those that do not end hasp are dropped while it waits, for each kind of wait.
func TestSignalsWithoutACommand(t *testing.T) {
	t.Parallel()
	for _, waits := range [][]string{{"lock", "x"}, {"elect", "e"}} {
		server := startServer(t)
		hold(t, server, waits[1]) // So only the waiter listens.
		waiter := start(t, []string{onServer(server.Addr())}, append(waits, "-c", "sleep 0.5; echo ran")...)
		awaitListeners(t, server, 1)
		for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH} {
			waiter.signal(t, s)
		}
		freed := start(t, []string{onServer(server.Addr())}, "force-unlock", waits[1], "--now", "--yes")
		require.Zero(t, freed.code(t), freed.errors)
		require.Zero(t, waiter.code(t), waiter.errors)
		require.Equal(t, "ran\n", waiter.output.String())
	}
}
