//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestServerIsAwayAtTheStart: a command that is asked to wait does so for the server, too, and others end at once.
func TestServerIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	env := []string{onServer(server.Addr())}
	server.Kill()
	for args, code := range map[string]int{
		"lock x -- true": 69, "lock x -n -- true": 69, "lock x --wait 0 -- true": 69, "lock x --wait 0.2 -- true": 69,
		"once j --every 1h -- true": 69, "rate r --permits 1 --per 1h": 69, "rate r --permits 1 --per 1h --wait=0.2": 69,
	} {
		h := start(t, env, words(args)...)
		require.Equal(t, code, h.code(t), args)
		require.Equal(t, strings.Contains(args, "0.2"), strings.Contains(h.errors.String(), ": trying again\n"), "%s: %s", args, h.errors)
	}
	var patient []*hasp
	for _, args := range []string{
		"lock x --wait 1h -c echo␣ran", "read y -w 3600 -c echo␣ran", "slot s --wait forever -c echo␣ran", "elect e -c echo␣ran",
		"once j --every 1000h --wait -c echo␣ran", "once k --every 1000h --wait=1h -c echo␣ran",
		"rate r --permits 1 --per 1h --wait", "rate q --permits 1 --per 1h --wait=1h", "latch wait l --wait 1h",
	} {
		patient = append(patient, start(t, env, words(args)...))
	}
	stopped := start(t, env, words("lock z --wait 1h -c echo␣ran")...)
	for _, h := range append(patient, stopped) {
		eventually(t, func() bool { return strings.Contains(h.errors.String(), ": trying again\n") })
		h.signal(t, syscall.SIGWINCH) // A window that changes its size ends no wait.
	}
	patient[0].signal(t, syscall.SIGUSR1)
	stopped.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), stopped.code(t))
	require.NoError(t, server.Restart(servers.DropData))
	for _, h := range patient {
		require.Zero(t, h.code(t), "%s: %s", h.Args, h.errors)
		require.Equal(t, strings.Contains(strings.Join(h.Args, " "), "echo ran"), h.output.String() == "ran\n", "%s", h.Args)
		require.Equal(t, 1, strings.Count(h.errors.String(), "\n"), "%s: %s", h.Args, h.errors)
	}
}

// TestWaitsAreBounded: the time to wait is the same for all kinds of waits.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("plain"), onServer(server.Addr()))
	job := start(t, env, "once", "job", "--every", "1000h", "--", os.Args[0])
	work.await(t, 1)
	hold(t, server, "x")
	for _, args := range []string{
		"lock x --wait 0.01 -- true", "lock x -w 10ms -- true", "once job --every 1000h --wait=0.01 -- true",
		"rate r --permits 1 --per 1h --wait=0.01",
	} {
		taken := start(t, env, words("rate r --permits 1 --per 1h")...)
		taken.code(t)
		h := start(t, env, words(args)...)
		require.Equal(t, 75, h.code(t), "%s: %s", args, h.errors)
	}
	job.signal(t, syscall.SIGTERM)
	job.code(t)
}

// TestWaiterSaysForWhom: at -v, and again when another owner holds the lock.
func TestWaiterSaysForWhom(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	hold(t, server, "x")
	do(t, server, "SET", "l", "1")
	var waiters []*hasp
	for _, args := range []string{"lock x -- true", "elect x -- true", "once x --every 1000h --wait -- true", "latch wait l"} {
		waiters = append(waiters, start(t, []string{onServer(server.Addr())}, append([]string{"-v"}, words(args)...)...))
	}
	says := func(text string) {
		t.Helper()
		for _, h := range waiters[:3] {
			eventually(t, func() bool {
				return strings.Count(h.errors.String(), `hasp: waiting for "x": lock, holder `+text+"\n") == 1
			})
		}
	}
	says("00000000-0000-4000-8000-000000000001:1")
	eventually(t, func() bool {
		return strings.Contains(waiters[3].errors.String(), `waiting for "l": atomic long, value 1`+"\n")
	})
	do(t, server, "EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) "+
		"redis.call('SET', KEYS[2], '1700000000000000')", "2", "x", "redisson_lock_token:{x}", "host-7-00000000-0000-4000-8000-000000000002:1234567890")
	says("host-7-00000000-0000-4000-8000-000000000002:1234567890, since 2023-11-14T22:13:20Z")
	do(t, server, "DEL", "x", "l")
	do(t, server, "PUBLISH", "redisson_lock__channel:{x}", "1")
	do(t, server, "PUBLISH", "redisson_countdownlatch__channel__{l}", "0")
	for _, h := range waiters {
		require.Zero(t, h.code(t), "%s: %s", h.Args, h.errors)
	}
}
