package repro

import (
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
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

// TestConnLifetimeLeavesADemotedPrimary has a failover that gives an address to another server, and leaves the connections
// to the old one open, which refuses writes from then on. With ConnLifetime, rueidis and valkey-go leave it.
func TestConnLifetimeLeavesADemotedPrimary(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, addr string, lifetime time.Duration) backend.Backend{
		"Rueidis": func(t *testing.T, addr string, lifetime time.Duration) backend.Backend {
			t.Helper()
			conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ConnLifetime: lifetime})
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			b, err := rueidisbackend.New(conn, nil)
			require.NoError(t, err)
			return b
		},
		"Valkey": func(t *testing.T, addr string, lifetime time.Duration) backend.Backend {
			t.Helper()
			conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, ConnLifetime: lifetime})
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			b, err := valkeybackend.New(conn, nil)
			require.NoError(t, err)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, next := servers.Start(t, servers.Redis, nil), servers.Start(t, servers.Redis, nil)
			p := proxy.Start(t, old.Addr(), nil)
			client := cells.Over(t, open(t, p.Addr(), 2*time.Second), nil)
			number := client.NewAtomicLong("x")
			require.NoError(t, number.Store(t.Context(), 1))
			host, port, err := net.SplitHostPort(next.Addr())
			require.NoError(t, err)
			_, err = old.Do("REPLICAOF", host, port)
			require.NoError(t, err)
			require.NoError(t, p.Lead(next.Addr()))
			require.Eventually(t, func() bool {
				return number.Store(t.Context(), 2) == nil
			}, conformance.Patience, 10*time.Millisecond)
		})
	}
}
