package servers_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// TestServerKilled: a killed server has only what it had saved.
func TestServerKilled(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		addr := s.Addr()
		set(t, s, "saved", "value")
		require.NoError(t, s.Restart(servers.KeepData))
		require.Equal(t, addr, s.Addr())
		set(t, s, "key", "value")
		s.Kill()
		s.Kill()
		require.Error(t, try.Err(s.Do("PING")))
		require.Error(t, s.Pause())
		require.NoError(t, s.Restart(servers.KeepData))
		require.Equal(t, []string{"value", ""}, []string{try.Get(t, s, "saved"), try.Get(t, s, "key")})
	})
}

// TestServerEndsWithTest: a stopped process, too.
func TestServerEndsWithTest(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		var s *servers.Server
		t.Run("Test", func(t *testing.T) {
			s = servers.Start(t, kind, nil)
			_ = s.Pause()
		})
		require.Error(t, try.Err(net.Dial("tcp", s.Addr())))
		require.ErrorIs(t, s.Restart(servers.DropData), servers.ErrNotRunning)
	})
}

// TestServerMeetsTakenPort: another process that has taken the port, or that of the cluster bus, is
// not taken for the server that was started.
func TestServerMeetsTakenPort(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		other := servers.Start(t, kind, nil)
		addr := try.Must(net.ResolveTCPAddr("tcp", other.Addr()))(t)
		require.ErrorIs(t, servers.MoveTo(kind, addr.Port, nil), servers.ErrPortTaken)

		listener := try.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer func() { require.NoError(t, listener.Close()) }()
		bus := listener.Addr().(*net.TCPAddr).Port
		config := map[string]string{"cluster-enabled": "yes"}
		require.ErrorIs(t, servers.MoveTo(kind, bus-10000, config), servers.ErrPortTaken)
	})
}

// TestServerDiesWithProcess kills a process that has started a server.
func TestServerDiesWithProcess(t *testing.T) {
	if servers.IsChild() {
		folder, _ := servers.AsChild(t)
		require.NoError(t, os.Setenv("TMPDIR", folder[0])) // Nobody else removes what it leaves.
		servers.Say(servers.Start(t, servers.Redis, nil).Addr())
		select {}
	}
	t.Parallel()
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux ties a server's life to its parent's")
	}
	servers.Need(t, servers.Redis)
	child := servers.StartChild(t, os.Args[0], t.Name(), t.TempDir())
	addr := child.Next(t)
	dial(t, addr, "PING")
	child.Kill(t)
	require.Eventually(t, func() bool {
		_, err := net.Dial("tcp", addr)
		return err != nil
	}, 30*time.Second, 5*time.Millisecond, "the server ends with the process that started it")
}

// TestRestartKeepsWhatWasAnswered writes while the server saves and ends.
func TestRestartKeepsWhatWasAnswered(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		for range 5 {
			answered := make(chan int64)
			go func() {
				last := int64(0)
				for {
					reply, err := s.Do("INCR", "n")
					if err != nil {
						answered <- last
						return
					}
					last, _ = reply.Int()
				}
			}()
			require.Eventually(t, func() bool { return try.Get(t, s, "n") != "" }, 30*time.Second, time.Millisecond)
			require.NoError(t, s.Restart(servers.KeepData))
			require.Equal(t, strconv.FormatInt(<-answered, 10), try.Get(t, s, "n"))
			require.NoError(t, try.Err(s.Do("DEL", "n")))
		}
	})
}

func TestFailedSaveLetsWritesGoOn(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{Config: map[string]string{"rename-command": `SAVE ""`}})
		require.ErrorContains(t, s.Restart(servers.KeepData), "saving")
		set(t, s, "key", "value")
	})
}

func TestServerTLS(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{TLS: true})
		p := proxy.Start(t, s.TLSAddr(), s.TLSConfig())
		stop := p.Record()
		for _, addr := range []string{s.TLSAddr(), p.Addr()} {
			require.Equal(t, "+PONG\r\n", pingTLS(t, addr, s.TLSConfig()))
			anonymous := s.TLSConfig()
			anonymous.Certificates = nil
			require.Empty(t, pingTLS(t, addr, anonymous), "a client's certificate is asked for")
		}
		require.Equal(t, [][]string{{"PING"}}, stop(), "the proxy reads what it carries")
		require.NoError(t, s.Restart(servers.KeepData))
		require.Equal(t, "+PONG\r\n", pingTLS(t, s.TLSAddr(), s.TLSConfig()))
	})
}

// pingTLS returns what the server says to PING; "" if it refuses the connection.
func pingTLS(t *testing.T, addr string, config *tls.Config) string {
	t.Helper()
	c := try.Must(tls.Dial("tcp", addr, config))(t)
	defer func() { _ = c.Close() }()
	_, _ = c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	answer := make([]byte, len("+PONG\r\n"))
	n, _ := io.ReadFull(c, answer)
	return string(answer[:n])
}

// TestNeedWithoutServer runs itself as a child process that finds no server.
func TestNeedWithoutServer(t *testing.T) {
	if os.Getenv("HASP_TEST_CHILD") == "1" {
		servers.Need(t, servers.Valkey)
		t.Fatal("found one")
	}
	t.Parallel()
	for _, c := range []struct{ require, want string }{
		{"", "--- SKIP: TestNeedWithoutServer"},
		{"1", "--- FAIL: TestNeedWithoutServer"},
	} {
		child := exec.Command(os.Args[0], "-test.run=^TestNeedWithoutServer$", "-test.v")
		child.Env = append(os.Environ(), "HASP_TEST_CHILD=1", "HASP_VALKEY_SERVER=/nowhere",
			"HASP_REQUIRE_SERVERS="+c.require)
		out, err := child.CombinedOutput()
		require.Equal(t, c.require == "1", err != nil)
		require.Contains(t, string(out), c.want)
		require.Contains(t, string(out), "no valkey-server on PATH, nor in HASP_VALKEY_SERVER")
	}
}
