package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// unused are names that nobody uses any more, and what docs/operate/sizing.md says that the server keeps of each.
var unused = []struct {
	keeps        string
	bytes, names int
	use          func(ctx context.Context, c *primitives.Client, name string) error
}{
	{"a token: about 150 bytes", 140, 4000, func(ctx context.Context, c *primitives.Client, name string) error {
		return c.NewLock(name, nil).Do(ctx, func(context.Context, *primitives.Lease) error { return nil })
	}},
	{"about 480 bytes", 480, 4000, func(ctx context.Context, c *primitives.Client, name string) error {
		return grants(ctx, c, name, 1)
	}},
	{"about 4 000 bytes", 4000, 100, func(ctx context.Context, c *primitives.Client, name string) error {
		return grants(ctx, c, name, 100)
	}},
	{"about 140 bytes", 140, 4000, func(ctx context.Context, c *primitives.Client, name string) error {
		_, err := c.NewThrottle(name, primitives.Limit{Permits: 100_000, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}).Allow(ctx, 77_777)
		return err
	}},
	{"about 60 bytes", 56, 4000, func(ctx context.Context, c *primitives.Client, name string) error {
		_, err := c.NewSemaphore(name, nil).InitPermits(ctx, 10)
		return err
	}},
	{"120 bytes for each permit in use", 120_000, 10, func(ctx context.Context, c *primitives.Client, name string) error {
		return grants(ctx, c, name, 1000)
	}},
}

// grants uses a rate limiter.
func grants(ctx context.Context, c *primitives.Client, name string, n int) error {
	rate := c.NewRateLimiter(name, primitives.Rate{Permits: 1000, Interval: time.Hour}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	for range n {
		if err := rate.Wait(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// TestMemoryIsDocumented compares the memory of such names with the pages, on the version of Redis that they name.
func TestMemoryIsDocumented(t *testing.T) {
	pages := ""
	for _, name := range []string{"operate/sizing.md", "choosing.md"} {
		page, err := os.ReadFile("../docs/" + name)
		require.NoError(t, err)
		pages += string(page)
	}
	s := servers.Start(t, servers.Redis, &servers.Options{Config: map[string]string{"slowlog-log-slower-than": "-1"}})
	if info, err := s.Info("server"); err != nil || !strings.HasPrefix(info["redis_version"], "7.0.") {
		t.Logf("Redis %s has other sizes: %v", info["redis_version"], err)
		return
	}
	conn := redis.NewClient(&redis.Options{Addr: s.Addr()})
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	for _, kind := range unused {
		require.Contains(t, pages, "| "+kind.keeps+" |")
		require.NoError(t, kind.use(t.Context(), client, "first"), "connects, and loads the scripts")
		before := memory(t, conn)
		for i := range kind.names {
			require.NoError(t, kind.use(t.Context(), client, fmt.Sprint("orders:", i)))
		}
		require.InEpsilon(t, kind.bytes, (memory(t, conn)-before)/kind.names, 0.1, kind.keeps)
		require.NoError(t, conn.FlushAll(t.Context()).Err())
	}
	require.NoError(t, client.Close(context.Background()))
	require.NoError(t, conn.Close())
}

// memory returns how many bytes the server has allocated. It needs no connection of its own, which would count.
func memory(t *testing.T, conn *redis.Client) int {
	t.Helper()
	info, err := conn.Info(t.Context(), "memory").Result()
	require.NoError(t, err)
	var n int
	_, err = fmt.Sscanf(info, "# Memory\r\nused_memory:%d", &n)
	require.NoError(t, err)
	return n
}
