//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// secret is a password. Nobody else may see it.
const secret = "a-password-of-nobody-else"

// processes prints the command lines of all processes, on Linux.
const processes = "cat /proc/[0-9]*/cmdline 2>/dev/null; echo done"

// requireLocks runs a command under a lock, and shows that its server is the one that the arguments name.
func requireLocks(t *testing.T, s *servers.Server, url string, flags ...string) {
	t.Helper()
	do(t, s, "CONFIG", "RESETSTAT")
	args := append(flags, "-v", "lock", "x", "-c", processes)
	h := ended(t, 0, "HASP_URL="+url, args...)
	require.Contains(t, h.output.String(), "done")
	require.NotContains(t, h.output.String(), secret, "all users of the machine see it")
	require.NotContains(t, h.errors.String(), secret)
	require.Contains(t, must(s.Info("commandstats"))(t), "cmdstat_evalsha", "the lock was on another server")
}

// addUser adds a user to a server.
func addUser(t *testing.T, s *servers.Server) {
	t.Helper()
	do(t, s, "ACL", "SETUSER", "alice", "on", ">"+secret, "~*app:*", "&*", "+@all")
}

// passwordFile returns a file with the password.
func passwordFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	return file
}

func TestConnectAsUser(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	addUser(t, s)
	requireLocks(t, s, "redis://"+s.Addr(), "--user", "alice", "--password-file", passwordFile(t), "--prefix", "app:")
	requireLocks(t, s, "redis://alice:"+secret+"@"+s.Addr(), "--prefix", "app:")
	requireLocks(t, s, "redis://alice@"+s.Addr(), "--password-file", passwordFile(t), "--prefix", "app:")
	// The user has no right to a key without the prefix.
	h := ended(t, 77, "HASP_URL=redis://alice:"+secret+"@"+s.Addr(), "-v", "lock", "x", "--", "true")
	require.NotContains(t, h.errors.String(), secret)
}

func TestConnectByTLS(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	s, other := servers.Start(t, servers.Redis, &servers.Options{TLS: true}), servers.Start(t, servers.Redis, &servers.Options{TLS: true})
	cert, key := certificate(t, s)
	stranger, _ := certificate(t, other)
	url := "rediss://" + s.TLSAddr()
	requireLocks(t, s, url, "--cacert", cert, "--cert", cert, "--key", key)
	checked(t, 0, "HASP_URL="+url, "--cacert", cert, "--cert", cert, "--key", key)
	_, port, _ := strings.Cut(s.TLSAddr(), ":")
	for name, c := range map[string]struct {
		url   string
		flags []string
		code  int
		error string
	}{
		"OtherAuthority": {url, []string{"--cacert", stranger, "--cert", cert, "--key", key}, 69, "unknown authority"},
		"NoAuthority":    {url, []string{"--cert", cert, "--key", key}, 69, "unknown authority"},
		"NoCertificate":  {url, []string{"--cacert", cert}, 69, ""},
		"OtherName":      {"rediss://localhost:" + port, []string{"--cacert", cert, "--cert", cert, "--key", key}, 69, "localhost"},
		"NoTLS":          {"redis://" + s.TLSAddr(), nil, 69, ""},
		"KeyOnly":        {url, []string{"--cacert", cert, "--key", key}, 64, "--cert and --key need each other"},
		"NoKey":          {url, []string{"--cacert", key}, 64, "has no certificate"},
	} {
		for _, command := range []string{"lock x -- true", "check"} {
			h := ended(t, c.code, "HASP_URL="+c.url, append(c.flags, words(command)...)...)
			require.Regexp(t, `^hasp: [^\n]+\n$`, h.errors.String(), name)
			require.Contains(t, h.errors.String(), c.error, name)
		}
	}
}

// certificate returns the files of a server's certificate, and of its key. The certificate is its own authority.
func certificate(t *testing.T, s *servers.Server) (cert, key string) {
	t.Helper()
	reply := must(s.Do("CONFIG", "GET", "dir"))(t)
	pair := must(reply.Items())(t)
	dir := must(pair[1].Text())(t)
	return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
}

func TestConnectBySocket(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	socket := filepath.Join(t.TempDir(), "s")
	s := servers.Start(t, servers.Redis, &servers.Options{Config: map[string]string{"unixsocket": socket}})
	addUser(t, s)
	requireLocks(t, s, "unix://"+socket, "--user", "alice", "--password-file", passwordFile(t), "--prefix", "app:")
}

func TestConnectToCluster(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	c := servers.StartCluster(t, servers.Redis, 3, nil)
	for _, s := range c.Nodes {
		addUser(t, s)
	}
	const slot = 16287 // of "x"
	owner := must(c.Owner(slot))(t)
	addr := func(i int) string { return c.Nodes[(owner+i)%3].Addr() }
	requireLocks(t, c.Nodes[owner], "redis://"+addr(1))
	requireLocks(t, c.Nodes[owner], "redis://127.0.0.1:1,"+addr(2)) // One seed is not there.
	as := []string{"--user", "alice", "--password-file", passwordFile(t), "--prefix", "app:{x}"}
	requireLocks(t, c.Nodes[owner], "redis://"+addr(1)+","+addr(2), as...)
}

func TestConnectToSentinel(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	set := servers.StartSentinel(t, servers.Redis, 1, nil)
	for _, s := range set.Nodes {
		addUser(t, s)
	}
	as := []string{"--user", "alice", "--password-file", passwordFile(t), "--prefix", "app:"}
	url := "redis://127.0.0.1:1," + strings.Join(set.Addrs(), ",") + "?sentinel_master=" // One is not there.
	requireLocks(t, set.Nodes[0], url+servers.MasterName, as...)
	for _, s := range set.Sentinels {
		do(t, s, "ACL", "SETUSER", "watcher", "on", ">other", "&*", "+@all")
	}
	requireLocks(t, set.Nodes[0], url+servers.MasterName+"&sentinel_user=watcher&sentinel_password=other", as...)
	for end, code := range map[string]int{
		"another": 69, servers.MasterName + "&sentinel_user=watcher&sentinel_password=" + secret: 77,
	} {
		h := ended(t, code, "HASP_URL="+url+end, "-v", "lock", "x", "--", "true")
		require.Regexp(t, `^hasp: [^\n]+\n$`, h.errors.String())
		require.NotContains(t, h.errors.String(), secret)
	}
}

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
	ended(t, 0, onServer(s.server.Addr()), append([]string{"force-unlock", "x", "--yes"}, flags...)...)
}

// resume continues a holder that was stopped.
func (h *hasp) resume(t *testing.T) {
	t.Helper()
	_ = h.Process.Signal(syscall.SIGCONT)
}

// do sends a command to a server.
func do(t *testing.T, s *servers.Server, words ...string) {
	t.Helper()
	_, err := s.Do(words...)
	require.NoError(t, err)
}

// TestForceUnlock frees a lock of each kind from its holder. A revoked lock is held until its lease ends.
func TestForceUnlock(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for kind, line := range map[string]string{
		"lock": "lock lock", "mutex": "lock mutex --kind mutex", "fair": "lock fair --kind fair", "plain": "lock plain --kind plain", "read": "read read", "write": "write write",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			run := func(args ...string) (code int, output string) {
				h := start(t, []string{onServer(server.Addr())}, args...)
				return h.code(t), h.output.String()
			}
			free := append([]string{"force-unlock", "--yes", kind}, strings.Fields("--kind "+kind)...)
			holder, owner := holding(t, server, words(line))
			for _, flags := range []string{"--now --if-owner " + owner, "--now"} {
				code, _ := run(append(free, strings.Fields(flags)...)...)
				require.Equal(t, []int{0, 79}, []int{code, holder.code(t)}, "%s", holder.errors)
				code, _ = run(append(free, strings.Fields(flags)...)...)
				require.Equal(t, 1, code)
				holder, owner = holding(t, server, words(line))
			}
			began, left := time.Now(), time.Duration(0)
			for _, flags := range []string{"--if-owner " + owner, "--if-owner " + owner, ""} {
				code, output := run(append(free, strings.Fields(flags)...)...)
				rest, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(output, "free in ")))
				require.Equal(t, []any{0, nil}, []any{code, err})
				left = rest
			}
			_, seen := run("inspect", kind)
			code, _ := run(append(words(strings.Replace(line, "read ", "write ", 1)), "-n", "--", "true")...)
			if time.Since(began) < left { // Else the lease may have ended before.
				require.Regexp(t, `\n  holder    revoked, ((read|write), )?lease [0-9.]+m?s\n`, seen)
				require.Equal(t, 75, code)
			}
			require.Equal(t, 79, holder.code(t), "%s", holder.errors)
		})
	}
}

// holding returns a process that holds a lock, and its owner.
func holding(t *testing.T, s *servers.Server, args []string) (holder *hasp, owner string) {
	t.Helper()
	work := newShared(t)
	args = append(args, "--lease", kept, "--", os.Args[0])
	holder = start(t, append(work.env("plain"), onServer(s.Addr())), args...)
	work.await(t, 1)
	return holder, strings.Fields(work.owners(t)[0])[0]
}
