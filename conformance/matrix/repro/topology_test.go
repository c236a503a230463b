package repro

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestBackendBesideADeadPrimary makes backends on a cluster that has lost a primary and goes on without it: whichever
// node is asked first, New finds out that sharded pub/sub is known.
func TestBackendBesideADeadPrimary(t *testing.T) {
	t.Parallel()
	cluster := servers.StartCluster(t, servers.Redis, 3, &servers.ClusterOptions{
		Config: map[string]string{"cluster-require-full-coverage": "no"},
	})
	at := cells.Client{Cluster: true}
	for _, node := range cluster.Nodes {
		at.Addrs = append(at.Addrs, node.Addr())
	}
	cluster.Nodes[0].Kill()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				in, err := a.Open(t.Context(), at)
				require.NoError(t, err)
				require.True(t, in.Backend.Capabilities().Sharded)
				require.NoError(t, in.Backend.Close())
				in.Close()
			}
		})
	}
}
