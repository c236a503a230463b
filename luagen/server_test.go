package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	var conn net.Conn
	require.Eventually(t, func() bool {
		conn, err = net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return &client{t: t, addr: conn.RemoteAddr().String(), w: bufio.NewWriter(conn),
		r: bufio.NewReader(conn)}
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

// client speaks RESP2.
type client struct {
	t    *testing.T
	addr string
	w    *bufio.Writer
	r    *bufio.Reader
}

// do sends one command and returns its reply: nil, int64, string or []any; an error reply is err.
func (c *client) do(words ...string) (any, error) {
	c.t.Helper()
	c.send(words...)
	require.NoError(c.t, c.w.Flush())
	return c.receive()
}

// send puts one command into the buffer.
func (c *client) send(words ...string) {
	fmt.Fprintf(c.w, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(c.w, "$%d\r\n%s\r\n", len(word), word)
	}
}

func (c *client) receive() (any, error) {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	require.NoError(c.t, err)
	text := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '-':
		return nil, errors.New(text)
	case '+':
		return text, nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	}
	n, err := strconv.Atoi(text)
	require.NoError(c.t, err)
	switch {
	case n < 0:
		return nil, nil
	case line[0] == '$':
		data := make([]byte, n+2)
		_, err := io.ReadFull(c.r, data)
		require.NoError(c.t, err)
		return string(data[:n]), nil
	}
	items := make([]any, n)
	for i := range items {
		items[i], err = c.receive()
		require.NoError(c.t, err)
	}
	return items, nil
}
