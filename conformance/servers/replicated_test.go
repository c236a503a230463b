package servers_test

import (
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

		promoted, err := r.Promote()
		require.NoError(t, err)
		require.Same(t, replica, promoted)
		set(t, replica, "key", "value")
		require.Equal(t, "1", get(t, replica, "seen"))
		require.Empty(t, get(t, replica, "unseen"))
		set(t, primary, "split", "brain")
	})
}

func TestReplicatedCatchesUp(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 2, nil)
		require.NoError(t, r.Lag())
		set(t, r.Primary(), "key", "value")
		for _, replica := range r.Replicas() {
			require.Empty(t, get(t, replica, "key"))
		}
		require.NoError(t, r.CatchUp())
		for _, replica := range r.Replicas() {
			require.Equal(t, "value", get(t, replica, "key"))
		}

		promoted, err := r.Promote()
		require.NoError(t, err)
		set(t, promoted, "own", "value")
		require.NoError(t, r.Follow())
		require.Empty(t, get(t, promoted, "own"))
	})
}

func TestReplicatedFailOver(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, 2, nil)
		client := dial(t, r.Addr())
		_, err := client.Do("SET", "seen", "1")
		require.NoError(t, err)
		for range 2 { // also back again
			old := r.Primary()
			require.NoError(t, r.FailOver(func() error {
				_, err := client.Do("SET", "unseen", "1")
				return err
			}))
			_, err = client.Do("PING")
			require.Error(t, err, "connections to the old primary end")
			client = dial(t, r.Addr())
			for key, want := range map[string]string{"seen": "1", "unseen": ""} {
				requireKey(t, client, key, want)
			}
			_, err = client.Do("SET", "key", "new")
			require.NoError(t, err)
			require.NoError(t, r.Sync())
			require.Equal(t, "new", get(t, old, "key"))
			requireCode(t, "READONLY", old, "SET", "key", "value")
		}
		require.NoError(t, r.FailOver(nil))
		requireKey(t, dial(t, r.Addr()), "key", "new")
	})
}

func requireKey(t *testing.T, c *servers.Conn, key, want string) {
	t.Helper()
	reply, err := c.Do("GET", key)
	require.NoError(t, err)
	got := ""
	if !reply.IsNil() {
		got, err = reply.Text()
		require.NoError(t, err)
	}
	require.Equal(t, want, got, key)
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
