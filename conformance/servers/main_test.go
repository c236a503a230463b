package servers_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/leak"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m)) }

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
