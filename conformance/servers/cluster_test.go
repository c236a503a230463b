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
		c := servers.StartCluster(t, kind, 3, nil)
		for i := range 300 {
			key := fmt.Sprint("key", i)
			set(t, owner(t, c, backend.Slot(key)), key, "value")
		}
		slot := backend.Slot("moved")
		from := must(c.Owner(slot))(t)
		_, err := c.Nodes[(from+1)%3].Do("GET", "moved")
		require.Equal(t, &backend.ServerError{
			Code: "MOVED", Message: fmt.Sprint(slot, " ", c.Nodes[from].Addr()),
		}, err)
		require.ErrorContains(t, errOf(c.BeginMigration(slot, 3)), "to: want 0 to 2, got 3")
		require.ErrorContains(t, errOf(c.BeginMigration(slot, from)), fmt.Sprintf("owns slot %d already", slot))

		for _, node := range c.Nodes {
			require.NoError(t, errOf(node.Do("SCRIPT", "LOAD", "return 1")))
		}
		require.NoError(t, c.Restart(servers.DropData))
		require.Equal(t, from, must(c.Owner(slot))(t))
		requireCode(t, "NOSCRIPT", c.Nodes[from], "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0")
	})
}

func TestClusterMigrationInSteps(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, nil)
		slot := backend.Slot("key")
		from := must(c.Owner(slot))(t)
		to := (from + 1) % 3
		set(t, c.Nodes[from], "key", "value")

		m := must(c.BeginMigration(slot, to))(t)
		require.Equal(t, "value", get(t, c.Nodes[from], "key"))
		requireCode(t, "ASK", c.Nodes[from], "GET", "{key}absent")
		requireCode(t, "MOVED", c.Nodes[to], "GET", "{key}absent")

		require.NoError(t, m.MoveKeys())
		requireCode(t, "ASK", c.Nodes[from], "GET", "key")
		require.NoError(t, m.Finish())
		require.Equal(t, "value", get(t, c.Nodes[to], "key"))
		requireCode(t, "MOVED", c.Nodes[from], "GET", "key")
	})
}

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

func TestClusterIsolate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Replicas: 1})
		slot := backend.Slot("{key}")
		for range 2 {
			old := owner(t, c, slot)
			listener := dial(t, old.Addr(), "SSUBSCRIBE", "{key}")
			rejoin := must(c.Isolate(slot))(t)
			next := owner(t, c, slot)
			require.NotSame(t, old, next)
			require.NotContains(t, c.Primaries(), old)
			set(t, next, "{key}", "next")
			require.Equal(t, "master", must(old.Info("replication"))(t)["role"])
			require.NoError(t, errOf(listener.Do("PING")), "its clients' connections live on")

			require.NoError(t, rejoin())
			require.Same(t, next, owner(t, c, slot))
			requireCode(t, "MOVED", old, "GET", "{key}")
		}
	})
}

func owner(t *testing.T, c *servers.Cluster, slot int) *servers.Server {
	t.Helper()
	return c.Nodes[must(c.Owner(slot))(t)]
}

func TestReplicatedPromotion(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 1, nil)
		primary, replica := r.Nodes[0], r.Nodes[1]
		set(t, primary, "seen", "1")
		require.NoError(t, r.Sync())
		require.NoError(t, r.Lag())
		set(t, primary, "unseen", "1")
		requireCode(t, "READONLY", replica, "SET", "key", "value")

		require.Same(t, replica, must(r.Promote())(t))
		set(t, replica, "key", "value")
		require.Equal(t, "1", get(t, replica, "seen"))
		require.Empty(t, get(t, replica, "unseen"))
		set(t, primary, "split", "brain")
	})
}

func TestReplicatedFailOver(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 2, nil)
		for i := range 3 { // also back again
			old, client := r.Primary(), dial(t, r.Addr(), "SET", "seen", fmt.Sprint(i))
			require.NoError(t, r.FailOver(func() error {
				_, err := client.Do("SET", "unseen", "1")
				return err
			}))
			require.Error(t, errOf(client.Do("PING")), "connections to the old primary end")
			require.Equal(t, fmt.Sprint(i), get(t, r.Primary(), "seen"))
			require.Empty(t, get(t, r.Primary(), "unseen"))
			dial(t, r.Addr(), "SET", "key", "new")
			require.NoError(t, r.Sync())
			require.Equal(t, "new", get(t, old, "key"))
			requireCode(t, "READONLY", old, "SET", "key", "value")
		}
		require.NoError(t, r.FailOver(nil))
		require.Equal(t, "new", get(t, r.Primary(), "key"))
	})
}

// Sentinels end the connections of a server that they make a replica, also those of a failover that goes on.
func TestFailOverOutlivesKilledConnections(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 2, nil)
		never := r.Nodes[2] // promoted, since it is the last
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-done:
					return
				default:
					_, _ = never.Do("CLIENT", "KILL", "TYPE", "normal")
				}
			}
		}()
		for range 5 {
			require.NoError(t, r.FailOver(nil))
		}
		close(done)
		<-ended
		require.NotSame(t, never, r.Primary())
	})
}

func TestReplicatedRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 1, nil)
		set(t, r.Primary(), "key", "value")
		require.NoError(t, r.Restart(servers.KeepData))
		require.Equal(t, "value", get(t, r.Primary(), "key"))
		require.NoError(t, r.Restart(servers.DropData))
		require.Empty(t, get(t, r.Primary(), "key"))
		set(t, r.Primary(), "key", "value")
		require.NoError(t, r.Sync())
		require.Equal(t, "value", get(t, r.Nodes[1], "key"))
	})
}

func TestSentinelFailOver(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		require.Len(t, s.Addrs(), 3)
		old := sentinelPrimary(t, s)
		require.Same(t, s.Nodes[0], old)
		set(t, old, "seen", "1")
		require.NoError(t, s.FailOver(func() error {
			set(t, old, "unseen", "1")
			return nil
		}))
		next := sentinelPrimary(t, s)
		require.NotSame(t, old, next)
		require.Equal(t, "1", get(t, next, "seen"))
		require.Empty(t, get(t, next, "unseen"))
		require.Empty(t, get(t, old, "unseen"))
		requireCode(t, "READONLY", old, "SET", "key", "value")

		set(t, next, "key", "value")
		require.NoError(t, s.FailOver(nil))
		require.Equal(t, "value", get(t, sentinelPrimary(t, s), "key"))
	})
}

func TestSentinelIsolate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		old := sentinelPrimary(t, s)
		listener := dial(t, old.Addr(), "SUBSCRIBE", "news")
		rejoin := must(s.Isolate())(t)
		next := sentinelPrimary(t, s)
		require.NotSame(t, old, next)
		set(t, next, "key", "next")
		set(t, old, "key", "old")
		require.NoError(t, errOf(listener.Do("PING")), "its clients' connections live on")

		require.NoError(t, rejoin())
		require.Same(t, next, sentinelPrimary(t, s))
		require.Equal(t, "next", get(t, old, "key"))
		requireCode(t, "READONLY", old, "SET", "key", "value")
		require.NoError(t, s.FailOver(nil))
	})
}

func sentinelPrimary(t *testing.T, s *servers.Sentinel) *servers.Server {
	t.Helper()
	return must(s.Primary())(t)
}
