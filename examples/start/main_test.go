package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestProgram runs the program to its end.
func TestProgram(t *testing.T) {
	t.Parallel()
	require.NoError(t, run(servers.Start(t, servers.Redis, nil).Addr()))
}

// TestReadmesProgram runs the first program of the README, on a server of another address.
func TestReadmesProgram(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	program := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindSubmatch(readme)
	require.NotNil(t, program)
	const addr = `"127.0.0.1:6379"`
	require.Contains(t, string(program[1]), addr)
	text := strings.Replace(string(program[1]), addr, `"`+servers.Start(t, servers.Redis, nil).Addr()+`"`, 1)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	output, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "fencing token: ")
}

// TestConnect has each driver's client, as it is made for each kind of servers, hold a lock.
func TestConnect(t *testing.T) {
	t.Parallel()
	t.Run("Standalone", func(t *testing.T) {
		t.Parallel()
		addr := servers.Start(t, servers.Redis, nil).Addr()
		holds(t, onGoRedis(oneServer(addr)), withRueidis(rueidisOf(addr)), withValkey(valkeyOf(addr)))
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		sentinels := servers.StartSentinel(t, servers.Redis, 1, nil).Addrs()
		holds(t, onGoRedis(behindSentinel(servers.MasterName, sentinels...)),
			withRueidis(rueidisBehindSentinel(servers.MasterName, sentinels...)),
			withValkey(valkeyBehindSentinel(servers.MasterName, sentinels...)))
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		addr := servers.StartCluster(t, servers.Redis, 3, nil).Primaries()[0].Addr()
		holds(t, onGoRedis(ofCluster(addr)), withRueidis(rueidisOf(addr)), withValkey(valkeyOf(addr)))
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		server := servers.Start(t, servers.Redis, &servers.Options{TLS: true})
		addr, config := server.TLSAddr(), server.TLSConfig()
		holds(t, onGoRedis(overTLS(addr, config)), withRueidis(rueidisOverTLS(config, addr)),
			withValkey(valkeyOverTLS(config, addr)))
	})
}

// connected is a client, and what closes the driver's client below it.
type connected struct {
	client *primitives.Client
	close  func()
	err    error
}

func onGoRedis(conn redis.UniversalClient) connected {
	client, err := goredisbackend.NewClient(conn, nil)
	return connected{client, func() { _ = conn.Close() }, err}
}

func withRueidis(conn rueidis.Client, err error) connected {
	if err != nil {
		return connected{err: err}
	}
	client, err := onRueidis(conn, nil)
	return connected{client, conn.Close, err}
}

func withValkey(conn valkey.Client, err error) connected {
	if err != nil {
		return connected{err: err}
	}
	client, err := onValkey(conn, nil)
	return connected{client, conn.Close, err}
}

// holds lets each client hold one lock, try it while another client holds it, and close.
func holds(t *testing.T, all ...connected) {
	t.Helper()
	for i, c := range all {
		require.NoError(t, c.err)
		other := all[(i+1)%len(all)].client.NewLock("orders:{42}", nil)
		err := shipSoon(t.Context(), c.client.NewLock("orders:{42}", nil), func(ctx context.Context) error {
			return shipIfFree(ctx, other, func(context.Context) error { panic("two inside") })
		})
		require.NoError(t, err)
	}
	for _, c := range all {
		require.NoError(t, closeClient(c.client))
		c.close()
	}
}

// TestShipStops: the work ends with its lease's context, and returns why.
func TestShipStops(t *testing.T) {
	t.Parallel()
	conn := oneServer(servers.Start(t, servers.Redis, nil).Addr())
	c := onGoRedis(conn)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c.err)
	require.ErrorIs(t, c.client.NewLock("orders:42", nil).Do(ctx, ship), context.Canceled)
	require.NoError(t, closeClient(c.client))
	require.NoError(t, conn.Close())
}
