package servers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestClusterOwnsAllSlots(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.SharedCluster(t, kind, 3)
		require.Same(t, c, servers.SharedCluster(t, kind, 3))
		for i := range 300 {
			key := fmt.Sprint("key", i)
			owner, err := c.Owner(backend.Slot(key))
			require.NoError(t, err)
			set(t, c.Nodes[owner], key, "value")
		}
	})
}

func TestClusterRedirects(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.SharedCluster(t, kind, 3)
		owner, err := c.Owner(backend.Slot("moved"))
		require.NoError(t, err)
		_, err = c.Nodes[(owner+1)%3].Do("GET", "moved")
		require.Equal(t, &backend.ServerError{
			Code:    "MOVED",
			Message: fmt.Sprint(backend.Slot("moved"), " ", c.Addrs()[owner]),
		}, err)
	})
}

func TestClusterMigrationInSteps(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, nil)
		slot := backend.Slot("key")
		from, err := c.Owner(slot)
		require.NoError(t, err)
		to := (from + 1) % 3
		set(t, c.Nodes[from], "key", "value")

		m, err := c.BeginMigration(slot, to)
		require.NoError(t, err)
		require.Equal(t, "value", get(t, c.Nodes[from], "key"))
		requireCode(t, "ASK", c.Nodes[from], "GET", "{key}absent")
		requireCode(t, "MOVED", c.Nodes[to], "GET", "{key}absent")

		require.NoError(t, m.MoveKeys())
		requireCode(t, "ASK", c.Nodes[from], "GET", "key")
		require.NoError(t, m.Finish())
		require.Equal(t, "value", get(t, c.Nodes[to], "key"))
		requireCode(t, "MOVED", c.Nodes[from], "GET", "key")

		require.NoError(t, c.MigrateSlot(slot, from))
		require.Equal(t, "value", get(t, c.Nodes[from], "key"))
	})
}

func TestClusterMigrationCancelled(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, nil)
		m, err := c.BeginMigration(backend.Slots-1, 0)
		require.NoError(t, err)
		require.NoError(t, m.Cancel())
		owner, err := c.Owner(backend.Slots - 1)
		require.NoError(t, err)
		require.Equal(t, 2, owner)
	})
}

func TestClusterBadMigration(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.SharedCluster(t, kind, 3)
		require.ErrorContains(t, c.MigrateSlot(0, 3), "to: want 0 to 2, got 3")
		require.ErrorContains(t, c.MigrateSlot(0, 0), "owns slot 0 already")
		require.ErrorContains(t, c.MigrateSlot(backend.Slots, 0), "slot: want 0 to 16383")
	})
}

func TestClusterNodeRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, nil)
		require.NoError(t, c.Each("SCRIPT", "LOAD", "return 1"))
		require.NoError(t, c.Nodes[1].Restart(servers.DropData))
		require.NoError(t, c.Await())
		owner, err := c.Owner(backend.Slots / 2)
		require.NoError(t, err)
		require.Equal(t, 1, owner)
	})
}

func TestClusterProxied(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Proxied: true})
		slot := backend.Slot("key")
		owner, err := c.Owner(slot)
		require.NoError(t, err)
		other, err := servers.Dial(c.Addrs()[(owner+1)%3])
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		_, err = other.Do("GET", "key")
		require.ErrorContains(t, err, fmt.Sprint(" ", slot, " ", c.Proxies[owner].Addr()))

		direct, err := servers.Dial(c.Proxies[owner].Addr())
		require.NoError(t, err)
		defer func() { require.NoError(t, direct.Close()) }()
		_, err = direct.Do("SET", "key", "value")
		require.NoError(t, err)
		require.Equal(t, 1, c.Proxies[owner].Count("set"))
		require.NoError(t, c.MigrateSlot(slot, (owner+1)%3), "the nodes talk past the proxies")
	})
}

func requireCode(t *testing.T, code string, s *servers.Server, words ...string) {
	t.Helper()
	_, err := s.Do(words...)
	var server *backend.ServerError
	require.ErrorAs(t, err, &server)
	require.Equal(t, code, server.Code)
}
