//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
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
	h := start(t, []string{"HASP_URL=" + url}, args...)
	require.Zero(t, h.code(t), "%s", h.errors)
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
	h := start(t, []string{"HASP_URL=redis://alice:" + secret + "@" + s.Addr()}, "-v", "lock", "x", "--", "true")
	require.Equal(t, 77, h.code(t))
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
		h := start(t, []string{"HASP_URL=" + c.url}, append(c.flags, "lock", "x", "--", "true")...)
		require.Equal(t, c.code, h.code(t), "%s: %s", name, h.errors)
		require.Regexp(t, `^hasp: [^\n]+\n$`, h.errors.String(), name)
		require.Contains(t, h.errors.String(), c.error, name)
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
		h := start(t, []string{"HASP_URL=" + url + end}, "-v", "lock", "x", "--", "true")
		require.Equal(t, code, h.code(t), "%s", h.errors)
		require.Regexp(t, `^hasp: [^\n]+\n$`, h.errors.String())
		require.NotContains(t, h.errors.String(), secret)
	}
}
