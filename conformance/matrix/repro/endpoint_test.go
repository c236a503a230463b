package repro

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestOneEndpointOfACluster holds locks of several slots of a cluster which a plain client of each driver takes for one
// server: all are renewed, and a Close releases all.
func TestOneEndpointOfACluster(t *testing.T) {
	t.Parallel()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			node := servers.StartCluster(t, servers.Redis, 1, nil).Nodes[0]
			client := a.Primitives(t, cells.Client{Addrs: []string{node.Addr()}, OneEndpoint: true},
				&primitives.Options{WatchdogLease: conformance.Patience / 4})
			leases := make([]*primitives.Lease, 8)
			for i := range leases {
				var err error
				leases[i], err = client.NewLock(fmt.Sprint("endpoint-", i), nil).Lock(t.Context())
				require.NoError(t, err)
			}
			must.Together(len(leases), func(i int) { awaitRenewal(leases[i]) })
			require.NoError(t, client.Close(t.Context()))
			for i := range leases {
				cells.Want(t, backend.IntegerReply(0))(node.Do("EXISTS", fmt.Sprint("endpoint-", i)))
			}
		})
	}
}

// awaitRenewal waits until the lease has become longer twice, as its client knows.
func awaitRenewal(lease *primitives.Lease) {
	last := lease.Remaining()
	for renewals := 0; renewals < 2; time.Sleep(5 * time.Millisecond) {
		must.Do(lease.Err()) // It ends by itself if nothing renews it.
		before := last
		if last = lease.Remaining(); last > before {
			renewals++
		}
	}
}
