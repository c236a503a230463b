package servers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

func TestReplicatedFailover(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, nil)
		set(t, r.Primary, "seen", "1")
		require.NoError(t, r.Sync())
		r.Lag()
		set(t, r.Primary, "unseen", "1")
		requireCode(t, "READONLY", r.Replica, "SET", "key", "value")

		require.NoError(t, r.Promote())
		set(t, r.Replica, "key", "value")
		require.Equal(t, "1", get(t, r.Replica, "seen"))
		require.Empty(t, get(t, r.Replica, "unseen"))
		set(t, r.Primary, "split", "brain")
	})
}

func TestReplicatedCatchesUp(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		r := servers.StartReplicated(t, kind, nil)
		r.Lag()
		set(t, r.Primary, "key", "value")
		require.Empty(t, get(t, r.Replica, "key"))
		require.NoError(t, r.CatchUp())
		require.Equal(t, "value", get(t, r.Replica, "key"))

		require.NoError(t, r.Promote())
		set(t, r.Replica, "own", "value")
		require.NoError(t, r.Follow())
		require.Empty(t, get(t, r.Replica, "own"))
	})
}
