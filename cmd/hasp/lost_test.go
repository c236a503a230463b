//go:build unix

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// The leases of the tests: a short one, of a holder that loses it, and one that a busy machine renews in time, of a
// holder that must not lose it by itself.
const (
	lease = "3s"
	kept  = "9s"
)

// TestCommandEndsBeforeTheNextBegins: whatever becomes of a holder, its command has ended before that of the waiter begins.
func TestCommandEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, kind, script string
		fault               func(t *testing.T, s *situation)
		code                int // of the holder; -1: it was killed
	}{
		"IgnoresSIGTERM": {"1h", "stubborn", "exec $0", terminated, 128 + int(syscall.SIGKILL)},
		"EndsBySIGTERM":  {"1h", "plain", "exec $0", terminated, 128 + int(syscall.SIGTERM)},
		"ParentLeaves":   {"1h", "stubborn", "$0 & while [ ! -s $WORK_FILE ]; do :; done", func(*testing.T, *situation) {}, 0},
		"HaspKilled":     {lease, "stubborn", "$0 & wait", killed, -1},
		"HaspStopped":    {lease, "stubborn", "$0 & wait", stopped, 79},
		"SilentLink":     {lease, "stubborn", "$0 & wait", func(_ *testing.T, s *situation) { s.link.Blackhole() }, 79},
		"ForcedAway":     {lease, "stubborn", "$0 & wait", forcedAway, 79},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSituation(t)
			args := []string{"lock", "x", "--lease", c.lease, "--grace", "100ms", "--"}
			holder := start(t, append(s.work.env(c.kind), onServer(s.link.Addr())), append(args, "sh", "-c", c.script, os.Args[0])...)
			s.holder = holder
			s.work.await(t, 1)
			c.fault(t, s) // At once: a busy machine could not renew the lease for long.
			waiter := start(t, append(s.work.env("plain"), onServer(s.server.Addr())), "lock", "x", "--lease", kept, "--", os.Args[0])
			s.work.await(t, 2)
			holder.resume(t)
			require.Equal(t, c.code, holder.code(t), holder.errors)
			waiter.signal(t, syscall.SIGTERM)
			require.Equal(t, 128+int(syscall.SIGTERM), waiter.code(t), waiter.errors)
			require.Len(t, s.work.owners(t), 2)
		})
	}
}

// situation is a holder, its server, and the link between them.
type situation struct {
	server *servers.Server
	link   *proxy.Proxy
	holder *hasp
	work   shared
}

func newSituation(t *testing.T) *situation {
	t.Helper()
	server := startServer(t)
	return &situation{server: server, link: proxy.Start(t, server.Addr(), nil), work: newShared(t)}
}

func terminated(t *testing.T, s *situation) { t.Helper(); s.holder.signal(t, syscall.SIGTERM) }
func killed(t *testing.T, s *situation)     { t.Helper(); s.holder.signal(t, syscall.SIGKILL) }
func stopped(t *testing.T, s *situation)    { t.Helper(); s.holder.signal(t, syscall.SIGSTOP) }

// forcedAway takes the lock from its holder.
func forcedAway(t *testing.T, s *situation)    { t.Helper(); forceUnlock(t, s) }
func forcedAwayNow(t *testing.T, s *situation) { t.Helper(); forceUnlock(t, s, "--now") }

func forceUnlock(t *testing.T, s *situation, flags ...string) {
	t.Helper()
	h := start(t, []string{onServer(s.server.Addr())}, append([]string{"force-unlock", "x", "--yes"}, flags...)...)
	require.Zero(t, h.code(t), "%s", h.errors)
}

// resume continues a holder that was stopped.
func (h *hasp) resume(t *testing.T) {
	t.Helper()
	_ = h.Process.Signal(syscall.SIGCONT)
}

// TestLostLockEndsTheCommand: the server no longer has the lock.
func TestLostLockEndsTheCommand(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, s *servers.Server){
		"Deleted": func(t *testing.T, s *servers.Server) { t.Helper(); do(t, s, "DEL", "x") },
		"Killed":  func(_ *testing.T, s *servers.Server) { s.Kill() },
		"Restarted": func(t *testing.T, s *servers.Server) {
			t.Helper()
			require.NoError(t, s.Restart(servers.DropData))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, work := startServer(t), newShared(t)
			holder := start(t, append(work.env("stubborn"), onServer(server.Addr())),
				"lock", "x", "--lease", lease, "--", os.Args[0])
			work.await(t, 1)
			fault(t, server)
			require.Equal(t, 79, holder.code(t))
			require.Contains(t, holder.errors.String(), `hasp: "x" was lost while the command ran`)
			requireDead(t, work.owners(t)[0])
		})
	}
}

// do sends a command to a server.
func do(t *testing.T, s *servers.Server, words ...string) {
	t.Helper()
	_, err := s.Do(words...)
	require.NoError(t, err)
}

// requireDead fails if the process of a worker exists.
func requireDead(t *testing.T, owner string) {
	t.Helper()
	_, text, _ := strings.Cut(owner, " ")
	pid, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

// TestDescriptorIsClosedAtTheLoss: a process sees the loss by a descriptor, and has its grace after that.
func TestDescriptorIsClosedAtTheLoss(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	outside := "trap '' TERM; setsid sh -c 'echo begun; cat <&$HASP_LEASE_FD; echo closed' & sleep 1000"
	holder := start(t, []string{onServer(server.Addr())}, "lock", "x", "--lease", kept, "--grace", "3s", "-c", outside)
	eventually(t, func() bool { return holder.output.String() == "begun\n" })
	do(t, server, "DEL", "x")
	require.Equal(t, 79, holder.code(t))
	require.Equal(t, "begun\nclosed\n", holder.output.String())
	require.Contains(t, holder.errors.String(), "was ended: the key is gone\n")
}

// TestNestedCommandHasTheInnerLock: the command has the name, the owner and the fencing token of the lock that is next to
// it, whatever the environment had; without a fence it has no token.
func TestNestedCommandHasTheInnerLock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	show := "env | grep -E '^HASP_(NAME|OWNER|TOKEN|LEASE_FD)=' | sort"
	env := []string{onServer(server.Addr()), "HASP_NAME=evil", "HASP_TOKEN=1", "HASP_LEASE_FD=99", "BIN=" + binary}
	inner := func(args string) []string {
		h := start(t, env, "lock", "outer", "-c", show+"; exec $BIN "+args+" -c \""+show+"\"")
		require.Zero(t, h.code(t), h.errors)
		require.NotContains(t, h.output.String(), "=99\n")
		return strings.Fields(h.output.String())
	}
	all := inner("lock inner")
	require.Len(t, all, 8, "each variable once: %s", all)
	require.Equal(t, []string{"HASP_NAME=outer", "HASP_NAME=inner"}, []string{all[1], all[5]})
	require.NotEqual(t, all[2], all[6], "the owner")
	require.Less(t, all[3], all[7], "the token")
	for _, args := range []string{"slot s -n 2", "read r"} {
		all = inner(args)
		require.Len(t, all, 7, "%s has no token: %s", args, all)
		require.NotContains(t, strings.Join(all[4:], " "), "TOKEN")
	}
}

// TestGraceWhereThereIsTime: a command that is to end gets SIGTERM first, whatever the reason, and hasp says the reason.
func TestGraceWhereThereIsTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(t *testing.T, s *situation)
		code  int
		says  string
	}{
		"HaspKilled": {killed, -1, ""},
		"Revoked":    {forcedAway, 79, "hasp: \"x\" was lost while the command ran, and the command was ended: revoked\n"},
		"Taken": {func(t *testing.T, s *situation) {
			t.Helper()
			hold(t, s.server, "x")
		}, 79, "ended: taken by 00000000-0000-4000-8000-000000000001:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSituation(t)
			s.holder = start(t, []string{onServer(s.link.Addr()), "FILE=" + s.work.file}, "lock", "x", "--lease", "30s", "--grace", "5s",
				"--", "bash", "-c", "trap 'sleep 0.5; echo cleaned >$FILE; exit' TERM; echo begun >$FILE; while :; do sleep 0.05; done")
			reads := func(text string) func() bool {
				return func() bool { now, err := os.ReadFile(s.work.file); return err == nil && string(now) == text+"\n" }
			}
			eventually(t, reads("begun"))
			c.fault(t, s)
			eventually(t, reads("cleaned"))
			require.Equal(t, c.code, s.holder.code(t))
			require.Contains(t, s.holder.errors.String(), c.says)
			require.NotContains(t, s.holder.errors.String(), "-0000-0000-")
		})
	}
}

// hold has an owner that is no process hold a lock.
func hold(t *testing.T, s *servers.Server, name string) {
	t.Helper()
	do(t, s, "EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], '00000000-0000-4000-8000-000000000001:1', 1) "+
		"redis.call('PEXPIRE', KEYS[1], 3600000)", "1", name)
}

// TestDaemonStays: a process with a session of its own outlives a command that ends by itself, and no other does.
func TestDaemonStays(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("plain"), onServer(server.Addr()))
	leaves := "setsid sh -c '$0 & :' $0; while [ ! -s $WORK_FILE ]; do :; done"
	require.Zero(t, start(t, env, "lock", "x", "--", "sh", "-c", leaves, os.Args[0]).code(t))
	text, err := os.ReadFile(work.file)
	require.NoError(t, err)
	eventually(t, func() bool {
		now, err := os.ReadFile(work.file)
		return err == nil && len(now) > len(text)+1000
	})
	require.NoError(t, os.Remove(work.file)) // It ends.
}
