package main

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serverNames are the programs that tests ask. One that is not installed is skipped, or fails the
// test if HASP_REQUIRE_SERVERS is 1.
var serverNames = []string{"redis-server", "valkey-server"}

// onServers runs test against each server that is installed.
func onServers(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	for _, name := range serverNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, startServer(t, name))
		})
	}
}

// startServer starts a server of its own on a free port, with further flags, and connects to it.
func startServer(t *testing.T, name string, flags ...string) *client {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("HASP_REQUIRE_SERVERS") != "1" {
		t.Skipf("%s is not installed", name)
	}
	require.NoError(t, err)
	port := freePort(t)
	cmd := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "",
		"--dir", t.TempDir(), "--daemonize", "no"}, flags...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	c := &client{addr: "127.0.0.1:" + port}
	require.Eventually(t, func() bool {
		c.serverConn, err = dial(&url.URL{Host: c.addr})
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, c.SetDeadline(time.Time{}))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return port
}

// client is luagen's own, of a server at an address.
type client struct {
	*serverConn
	addr string
}
