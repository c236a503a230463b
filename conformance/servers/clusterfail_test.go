package servers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestClusterFailOver(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Replicas: 1})
		require.Len(t, c.Nodes, 6)
		require.Equal(t, c.Nodes[:3], c.Primaries())
		slot := backend.Slot("{key}")
		old := owner(t, c, slot)
		set(t, old, "{key}", "old")
		require.NoError(t, c.FailOver(slot, func() error {
			set(t, old, "{key}unseen", "1")
			return nil
		}))
		next := owner(t, c, slot)
		require.NotSame(t, old, next)
		require.Equal(t, "old", get(t, next, "{key}"))
		require.Empty(t, get(t, next, "{key}unseen"))
		requireCode(t, "MOVED", old, "GET", "{key}unseen")
		require.Len(t, c.Primaries(), 3)

		set(t, next, "{key}", "new")
		require.NoError(t, c.FailOver(slot, nil))
		require.Same(t, old, owner(t, c, slot))
		require.Equal(t, "new", get(t, old, "{key}"))
		for range 4 { // soon after each other
			require.NoError(t, c.FailOver(slot, nil))
		}
	})
}

func TestClusterCrash(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		quick := servers.Options{Config: map[string]string{"cluster-node-timeout": "1000"}}
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Server: quick, Replicas: 1})
		slot := backend.Slot("key")
		old, err := c.Crash(slot)
		require.NoError(t, err)
		next := owner(t, c, slot)
		require.NotSame(t, old, next)
		set(t, next, "key", "value")
		require.NoError(t, old.Restart(servers.DropData))
		require.NoError(t, c.Await())
		requireCode(t, "MOVED", old, "GET", "key")
	})
}

func TestClusterRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Replicas: 1})
		slot := backend.Slot("key")
		set(t, owner(t, c, slot), "key", "value")
		require.NoError(t, c.Restart(servers.KeepData))
		require.Equal(t, "value", get(t, owner(t, c, slot), "key"))
		require.NoError(t, c.Restart(servers.DropData))
		require.Empty(t, get(t, owner(t, c, slot), "key"))
	})
}

func TestClusterBadOptions(t *testing.T) {
	t.Parallel()
	_, err := servers.LaunchCluster(servers.Redis, 0, nil)
	require.ErrorContains(t, err, "masters: want 1 or more, got 0")
	both := &servers.ClusterOptions{Proxied: true, Replicas: 1}
	_, err = servers.LaunchCluster(servers.Redis, 3, both)
	require.ErrorContains(t, err, "ClusterOptions.Replicas: want 0 or more, 0 with Proxied, got 1")
}

func owner(t *testing.T, c *servers.Cluster, slot int) *servers.Server {
	t.Helper()
	i, err := c.Owner(slot)
	require.NoError(t, err)
	return c.Nodes[i]
}
