package servers_test

import (
	"crypto/tls"
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

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

func TestMain(m *testing.M) { os.Exit(try.Main(m)) }

// eachKind runs test as a parallel subtest for every server program. With -short each test has one of those that are
// required, by the length of its name.
func eachKind(t *testing.T, test func(t *testing.T, kind servers.Kind)) {
	t.Helper()
	t.Parallel()
	kinds := servers.Kinds()
	if testing.Short() {
		required := []servers.Kind{servers.Redis, servers.Valkey}
		kinds = required[len(t.Name())%2:][:1]
	}
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			servers.Need(t, kind)
			test(t, kind)
		})
	}
}

func set(t *testing.T, s *servers.Server, key, value string) {
	t.Helper()
	require.NoError(t, try.Err(s.Do("SET", key, value)))
}

func requireCode(t *testing.T, code string, s *servers.Server, words ...string) {
	t.Helper()
	_, err := s.Do(words...)
	var server *backend.ServerError
	require.ErrorAs(t, err, &server)
	require.Equal(t, code, server.Code)
}

// dial returns a connection on which a command has been run.
func dial(t *testing.T, addr string, words ...string) *resp.Conn {
	t.Helper()
	c := try.Dial(t, addr)
	require.NoError(t, try.Err(c.Do(words...)))
	return c
}

// TestLuaResults: servers give scripts what the tests of the embedded server expect.
func TestLuaResults(t *testing.T) {
	file := try.Must(os.ReadFile("../../backend/embedded/testdata/lua.txt"))(t)
	show, lines, _ := strings.Cut(string(file), "\n\n")
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		for line := range strings.Lines(lines) {
			code, results, found := strings.Cut(strings.TrimSpace(line), " --> ")
			if !found {
				continue
			}
			if !strings.Contains(code, "return ") {
				code = "return " + code
			}
			require.NoError(t, try.Err(s.Do("FLUSHALL")))
			reply, err := s.Do("EVAL", show+"\nreturn shown(pcall(function() "+code+" end))",
				"1", "k", "3", "1e3", "abc", "0x10", "010")
			require.NoError(t, err, code)
			got, err := reply.Text()
			require.NoError(t, err, code)
			results, _, _ = strings.Cut(results, " --- here ")
			require.Contains(t, strings.Split(results, " or "), got, code)
		}
	})
}

// The recipes of the package's documentation.

func TestServerRefusesWrites(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		for _, c := range []struct{ code, setting string }{
			{"OOM", "maxmemory"},
			{"NOREPLICAS", "min-replicas-to-write"},
		} {
			_, err := s.Do("CONFIG", "SET", c.setting, "1")
			require.NoError(t, err)
			requireCode(t, c.code, s, "SET", "key", "value")
			_, err = s.Do("CONFIG", "SET", c.setting, "0")
			require.NoError(t, err)
			set(t, s, "key", "value")
		}
	})
}

func TestServerLoading(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{Config: map[string]string{
			"key-load-delay": "2000", "loading-process-events-interval-bytes": "1024",
		}})
		for i := range 200 {
			set(t, s, fmt.Sprint("key", i), strings.Repeat("value", 20))
		}
		restarted := make(chan error, 1)
		go func() { restarted <- s.Restart(servers.KeepData) }()
		require.Eventually(t, func() bool {
			_, err := s.Do("GET", "key0")
			var server *backend.ServerError
			return errors.As(err, &server) && server.Code == "LOADING"
		}, 30*time.Second, 5*time.Millisecond, "it replies LOADING")
		require.NoError(t, <-restarted)
		require.Len(t, try.Get(t, s, "key0"), 100)
	})
}

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
