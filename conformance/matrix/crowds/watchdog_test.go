package crowds

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestWatchdogBatches holds ten thousand locks on one server and counts the scripts that renew
// them: about a hundred for each time that each lock is renewed.
func TestWatchdogBatches(t *testing.T) {
	cells.Proof(t)
	// Not in parallel: ten thousand renewals would take their time from the others.
	const locks = 10000
	s := servers.Start(t, servers.Redis, nil)
	client := cells.Named("Rueidis").Primitives(t, cells.At(s.Addr()),
		&primitives.Options{WatchdogLease: 15 * time.Second})
	leases := holdMany(t, client, locks)

	_, err := s.Do("CONFIG", "RESETSTAT")
	require.NoError(t, err)
	calls := func(command string) int { return cells.Server{Server: s}.Calls(t, command) }
	require.Eventually(t, func() bool { return calls("pexpire") >= 2*locks },
		time.Minute, 100*time.Millisecond)
	renewals, scripts := calls("pexpire"), calls("evalsha")
	perRound := float64(scripts) / (float64(renewals) / locks)
	t.Logf("%d renewals by %d scripts: %.0f a round", renewals, scripts, perRound)
	// On a busy machine rounds spread out, and not all batches are full.
	require.Greater(t, perRound, 99.0)
	require.Less(t, perRound, 200.0)
	for _, lease := range leases {
		require.NoError(t, lease.Err())
	}
	require.NoError(t, client.Close(t.Context()))
	cells.Want(t, backend.IntegerReply(0))(s.Do("EXISTS", "watched:0", "watched:9999"))
}

// holdMany takes n locks.
func holdMany(t *testing.T, client *primitives.Client, n int) []*primitives.Lease {
	t.Helper()
	leases, errs := make([]*primitives.Lease, n), make([]error, n)
	var all sync.WaitGroup
	for part := range 50 {
		all.Go(func() {
			for i := part; i < n; i += 50 {
				leases[i], errs[i] = client.NewLock(fmt.Sprint("watched:", i), nil).Lock(t.Context())
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return leases
}
