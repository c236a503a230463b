package servers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

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
