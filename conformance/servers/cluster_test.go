package servers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
)

// shard is a primary with replicas, as each kind of servers that belong together has it.
type shard struct {
	primary  func(t *testing.T) *servers.Server
	failOver func(unseen func() error) error
	isolate  func() (rejoin func() error, err error) // nil: nothing does
	restart  func(servers.Data) error
	entry    string // an address that leads to the primary; "": there is none
	refuses  string // what a former primary answers to a write
}

// eachShard runs test for every server program, and every kind of shard.
func eachShard(t *testing.T, test func(t *testing.T, s shard)) {
	t.Helper()
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		for name, start := range map[string]func(t *testing.T) shard{
			"Cluster": func(t *testing.T) shard {
				c, slot := servers.StartCluster(t, kind, 3, &servers.ClusterOptions{Replicas: 1}), backend.Slot("key")
				require.Equal(t, c.Nodes[:3], c.Primaries())
				return shard{
					primary:  func(t *testing.T) *servers.Server { return owner(t, c, slot) },
					failOver: func(unseen func() error) error { return c.FailOver(slot, unseen) },
					isolate:  func() (rejoin func() error, err error) { return c.Isolate(slot) },
					restart:  c.Restart, refuses: "MOVED",
				}
			},
			"Replicated": func(t *testing.T) shard {
				r := servers.StartReplicated(t, kind, 2, nil)
				primary := func(*testing.T) *servers.Server { return r.Primary() }
				return shard{primary: primary, failOver: r.FailOver, restart: r.Restart, entry: r.Addr(), refuses: "READONLY"}
			},
			"Sentinel": func(t *testing.T) shard {
				s := servers.StartSentinel(t, kind, 2, nil)
				primary := func(t *testing.T) *servers.Server { return try.Must(s.Primary())(t) }
				return shard{primary: primary, failOver: s.FailOver, isolate: s.Isolate, restart: s.Restart, refuses: "READONLY"}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, start(t))
			})
		}
	})
}

func owner(t *testing.T, c *servers.Cluster, slot int) *servers.Server {
	t.Helper()
	return c.Nodes[try.Must(c.Owner(slot))(t)]
}

// TestFailOver: a replica has what its primary had, but for what was written meanwhile, and the old primary follows it.
func TestFailOver(t *testing.T) {
	eachShard(t, func(t *testing.T, s shard) {
		for i := range 3 { // also back again
			old := s.primary(t)
			set(t, old, "key", fmt.Sprint(i))
			unseen := func() error { set(t, old, "{key}unseen", "1"); return nil }
			if s.entry == "" {
				require.NoError(t, s.failOver(unseen))
			} else {
				client := dial(t, s.entry, "PING")
				require.NoError(t, s.failOver(unseen))
				require.Error(t, try.Err(client.Do("PING")), "connections to the old primary end")
				dial(t, s.entry, "SET", "new", "1")
			}
			next := s.primary(t)
			require.NotSame(t, old, next)
			require.Equal(t, fmt.Sprint(i), try.Get(t, next, "key"))
			require.Empty(t, try.Get(t, next, "{key}unseen"))
			requireCode(t, s.refuses, old, "SET", "{key}unseen", "1")
		}
		require.NoError(t, s.failOver(nil)) // soon after each other
		require.NoError(t, s.failOver(nil))
	})
}

// TestIsolate: a primary that the others do not hear goes on, and is a replica when it has rejoined.
func TestIsolate(t *testing.T) {
	eachShard(t, func(t *testing.T, s shard) {
		if s.isolate == nil {
			return
		}
		for range 2 {
			old := s.primary(t)
			listener := dial(t, old.Addr(), "SUBSCRIBE", "news")
			rejoin := try.Must(s.isolate())(t)
			next := s.primary(t)
			require.NotSame(t, old, next)
			set(t, next, "key", "next")
			require.Equal(t, "master", try.Must(old.Info("replication"))(t)["role"])
			require.NoError(t, try.Err(listener.Do("PING")), "its clients' connections live on")

			require.NoError(t, rejoin())
			require.Same(t, next, s.primary(t))
			requireCode(t, s.refuses, old, "SET", "key", "old")
		}
	})
}

func TestRestart(t *testing.T) {
	eachShard(t, func(t *testing.T, s shard) {
		set(t, s.primary(t), "key", "value")
		require.NoError(t, s.restart(servers.KeepData))
		require.Equal(t, "value", try.Get(t, s.primary(t), "key"))
		require.NoError(t, s.restart(servers.DropData))
		require.Empty(t, try.Get(t, s.primary(t), "key"))
	})
}

// TestClusterMovesASlot: each slot has an owner, also while one moves, and after a restart without data.
func TestClusterMovesASlot(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		c := servers.StartCluster(t, kind, 3, nil)
		for i := range 300 {
			key := fmt.Sprint("key", i)
			set(t, owner(t, c, backend.Slot(key)), key, "value")
		}
		slot := backend.Slot("key")
		from := try.Must(c.Owner(slot))(t)
		to := (from + 1) % 3
		require.ErrorContains(t, try.Err(c.BeginMigration(slot, 3)), "to: want 0 to 2, got 3")
		require.ErrorContains(t, try.Err(c.BeginMigration(slot, from)), fmt.Sprintf("owns slot %d already", slot))
		set(t, c.Nodes[from], "key", "value")

		m := try.Must(c.BeginMigration(slot, to))(t)
		require.Equal(t, "value", try.Get(t, c.Nodes[from], "key"))
		requireCode(t, "ASK", c.Nodes[from], "GET", "{key}absent")
		requireCode(t, "MOVED", c.Nodes[to], "GET", "{key}absent")
		require.NoError(t, m.MoveKeys())
		requireCode(t, "ASK", c.Nodes[from], "GET", "key")
		require.NoError(t, m.Finish())
		require.Equal(t, "value", try.Get(t, c.Nodes[to], "key"))
		requireCode(t, "MOVED", c.Nodes[from], "GET", "key")

		require.NoError(t, try.Err(c.Nodes[to].Do("SCRIPT", "LOAD", "return 1")))
		require.NoError(t, c.Restart(servers.DropData))
		require.Equal(t, to, try.Must(c.Owner(slot))(t))
		requireCode(t, "NOSCRIPT", c.Nodes[to], "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0")
	})
}
