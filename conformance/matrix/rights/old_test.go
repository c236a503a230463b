package rights

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestOldServerRefusesAtOnce: the first call of each kind whose scripts ask for permissions is refused, and has written
// nothing, on Redis 6.2, which "make test-oldest" has, and on a miniredis that lacks a command like it.
func TestOldServerRefusesAtOnce(t *testing.T) {
	t.Parallel()
	old := miniredis.RunT(t)
	old.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
		if command == "PEXPIRETIME" {
			p.WriteError("ERR unknown command")
		}
		return command == "PEXPIRETIME"
	})
	t.Run("Miniredis", func(t *testing.T) { refusesAtOnce(t, old.Addr()) })
	t.Run("Redis6", func(t *testing.T) {
		if _, version, _ := servers.Find(servers.Redis); !strings.HasPrefix(version, "6.") {
			t.Skipf("make test-oldest runs it: HASP_REDIS_SERVER is Redis %s", version)
		}
		s := servers.Start(t, servers.Redis, &servers.Options{Config: map[string]string{"enable-debug-command": ""}})
		refusesAtOnce(t, s.Addr())
	})
}

func refusesAtOnce(t *testing.T, addr string) {
	t.Helper()
	conn, ran := redis.NewClient(&redis.Options{Addr: addr}), []string{}
	defer func() { _ = conn.Close() }()
	c := cells.Named("GoRedis").Primitives(t, cells.At(addr), nil)
	for kind, o := range objects(t.Context(), c, "x") {
		if err := act(t.Context(), kind, o); err == nil {
			ran = append(ran, kind)
			require.NoError(t, conn.FlushAll(t.Context()).Err())
		} else {
			require.ErrorIs(t, err, primitives.ErrNotSupported, kind)
		}
		require.Zero(t, conn.DBSize(t.Context()).Val(), kind)
		require.ErrorIs(t, cells.Err(o.MissingRights(t.Context())), primitives.ErrNotSupported, kind)
	}
	// The adders only open, and the latch is only set.
	require.ElementsMatch(t, []string{"long", "double", "throttle", "latch", "long adder", "double adder"}, ran)
	latch := c.NewCountDownLatch("x")
	cells.Want(t, true)(latch.InitCount(t.Context(), 2))
	require.ErrorIs(t, cells.Err(latch.CountDown(t.Context())), primitives.ErrNotSupported)
	cells.Want(t, int64(2))(latch.Count(t.Context()))
}
