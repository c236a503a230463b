package repro

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// ofThree starts a cluster of three, and returns what its clients must know.
func ofThree(t *testing.T, o *servers.ClusterOptions) (*servers.Cluster, cells.Client) {
	t.Helper()
	cluster, at := servers.StartCluster(t, servers.Redis, 3, o), cells.Client{Cluster: true}
	for _, node := range cluster.Nodes {
		at.Addrs = append(at.Addrs, node.Addr())
	}
	return cluster, at
}

// TestBackendBesideADeadPrimary makes backends on a cluster that has lost a primary and goes on without it: whichever
// node is asked first, New finds out that sharded pub/sub is known.
func TestBackendBesideADeadPrimary(t *testing.T) {
	t.Parallel()
	cluster, at := ofThree(t, &servers.ClusterOptions{Config: map[string]string{"cluster-require-full-coverage": "no"}})
	cluster.Nodes[0].Kill()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				in := cells.Got(a.Open(t.Context(), at))(t)
				require.True(t, in.Backend.Capabilities().Sharded)
				require.NoError(t, in.Backend.Close())
				in.Close()
			}
		})
	}
}

// TestScanOfAKilledPrimary kills a primary of a cluster while each adapter lists its keys: the list ends with one error.
func TestScanOfAKilledPrimary(t *testing.T) {
	t.Parallel()
	cluster, at := ofThree(t, nil)
	for i := range 300 {
		for _, node := range cluster.Nodes {
			_, _ = node.Do("SET", fmt.Sprint(i), "v") // One of them has it, and the others refuse.
		}
	}
	nexts := map[string]func() ([]string, error, bool){}
	for _, a := range cells.Adapters() {
		next, stop := iter.Pull2(a.Backend(t, at).(backend.Scanner).Scan(t.Context(), "*", 1))
		t.Cleanup(stop)
		_, err, more := next()
		require.True(t, more)
		require.NoError(t, err)
		nexts[a.Name] = next
	}
	cluster.Nodes[0].Kill()
	for name, next := range nexts {
		failed, more := error(nil), true
		for failed == nil && more {
			_, failed, more = next()
		}
		require.ErrorIs(t, failed, backend.ErrUnavailable, name)
		_, _, more = next()
		require.False(t, more, name)
	}
}
