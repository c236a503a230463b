package servers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestSentinelIsolate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		old := sentinelPrimary(t, s)
		listener := listen(t, old, "SUBSCRIBE", "news")
		rejoin, err := s.Isolate()
		require.NoError(t, err)
		next := sentinelPrimary(t, s)
		require.NotSame(t, old, next)
		set(t, next, "key", "next")
		set(t, old, "key", "old")
		_, err = listener.Do("PING")
		require.NoError(t, err, "its clients' connections live on")

		require.NoError(t, rejoin())
		require.Same(t, next, sentinelPrimary(t, s))
		require.Equal(t, "next", get(t, old, "key"))
		requireCode(t, "READONLY", old, "SET", "key", "value")
		require.NoError(t, s.FailOver(nil))
	})
}

func TestClusterIsolate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Replicas: 1})
		slot := backend.Slot("{key}")
		for range 2 {
			old := owner(t, c, slot)
			listener := listen(t, old, "SSUBSCRIBE", "{key}")
			rejoin, err := c.Isolate(slot)
			require.NoError(t, err)
			next := owner(t, c, slot)
			require.NotSame(t, old, next)
			require.NotContains(t, c.Primaries(), old)
			set(t, next, "{key}", "next")
			role, err := old.Info("replication")
			require.NoError(t, err)
			require.Equal(t, "master", role["role"])
			_, err = listener.Do("PING")
			require.NoError(t, err, "its clients' connections live on")

			require.NoError(t, rejoin())
			require.Same(t, next, owner(t, c, slot))
			requireCode(t, "MOVED", old, "GET", "{key}")
		}
	})
}

// listen returns a connection with a subscription.
func listen(t *testing.T, s *servers.Server, words ...string) *servers.Conn {
	t.Helper()
	conn, err := servers.Dial(s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Do(words...)
	require.NoError(t, err)
	return conn
}
