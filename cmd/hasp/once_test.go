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
