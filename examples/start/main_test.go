package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
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
	printed := regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindSubmatch(readme)
	require.NotNil(t, printed)
	require.Equal(t, string(printed[1]), string(output))
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

// holds lets each client hold one lock, while the next one tries it, and closes all.
func holds(t *testing.T, all ...connected) {
	t.Helper()
	for i, c := range all {
		require.NoError(t, c.err)
		other, held := all[(i+1)%len(all)].client, false
		err := shipIfFree(t.Context(), c.client.NewLock("orders:{42}", nil), func(ctx context.Context) error {
			held = true
			return shipIfFree(ctx, other.NewLock("orders:{42}", nil), func(context.Context) error { panic("two inside") })
		})
		require.NoError(t, err)
		require.True(t, held)
	}
	for _, c := range all {
		require.NoError(t, closeClient(c.client))
		c.close()
	}
}

// TestShipSoon: the wait ends after two seconds, and the work may last longer.
func TestShipSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		lock, other := s.Client(nil).NewLock("orders:42", nil), s.Client(nil).NewLock("orders:42", nil)
		err := shipSoon(t.Context(), lock, func(ctx context.Context) error {
			begun := time.Now()
			err := shipSoon(t.Context(), other, func(context.Context) error { panic("two inside") })
			require.ErrorIs(t, err, primitives.ErrNotAcquired)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 2*time.Second, time.Since(begun))
			time.Sleep(time.Second)
			return ctx.Err()
		})
		require.NoError(t, err)
	})
}

// TestShipAnyway: the work runs without the lock if no server answers, and not if another owner holds the lock.
func TestShipAnyway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, runs := hasptest.New(t), 0
		lock, other := s.Client(nil).NewLock("orders:42", nil), s.Client(nil).NewLock("orders:42", nil)
		work := func(context.Context) error { runs++; return nil }
		lease, err := other.Lock(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, shipAnyway(t.Context(), lock, work), primitives.ErrNotAcquired)
		require.Zero(t, runs)
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, shipAnyway(t.Context(), lock, work))
		s.LoseAnswers(1)
		require.NoError(t, shipAnyway(t.Context(), lock, work))
		s.FailAcquires(1)
		require.NoError(t, shipAnyway(t.Context(), lock, work))
		require.Equal(t, 3, runs)
	})
}

// TestShipStops: the work stops with its context, and Do releases the lock.
func TestShipStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := hasptest.New(t).Client(nil).NewLock("orders:42", nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		require.ErrorIs(t, lock.Do(ctx, ship), context.DeadlineExceeded)
		held, err := lock.IsLocked(t.Context())
		require.NoError(t, err)
		require.False(t, held)
	})
}
