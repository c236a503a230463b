package matrix

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestWatchdogBatches holds ten thousand locks on one server and counts the scripts that renew
// them: about a hundred for each time that each lock is renewed.
func TestWatchdogBatches(t *testing.T) {
	proof(t)
	// Not in parallel: ten thousand renewals would take their time from the others.
	const locks = 10000
	on := standalone(t, servers.Redis)
	in, _, err := open(t.Context(), adapters()[0], on, variant{})
	require.NoError(t, err)
	defer in.Close()
	defer in.Backend.Close()
	client, err := primitives.New(in.Backend, &primitives.Options{WatchdogLease: 15 * time.Second})
	require.NoError(t, err)
	leases := holdMany(t, client, locks)

	_, err = on.nodes[0].Do("CONFIG", "RESETSTAT")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return calls(t, on, "pexpire") >= 2*locks },
		time.Minute, 100*time.Millisecond)
	renewals, scripts := calls(t, on, "pexpire"), calls(t, on, "evalsha")
	perRound := float64(scripts) / (float64(renewals) / locks)
	t.Logf("%d renewals by %d scripts: %.0f a round", renewals, scripts, perRound)
	// On a busy machine rounds spread out, and not all batches are full.
	require.Greater(t, perRound, 99.0)
	require.Less(t, perRound, 200.0)
	for _, lease := range leases {
		require.NoError(t, lease.Err())
	}
	require.NoError(t, client.Close(t.Context()))
	reply, err := on.nodes[0].Do("EXISTS", "watched:0", "watched:9999")
	require.NoError(t, err)
	left, err := reply.Int()
	require.NoError(t, err)
	require.Zero(t, left)
}

// holdMany takes n locks.
func holdMany(t *testing.T, client *primitives.Client, n int) []*primitives.Lease {
	t.Helper()
	leases := make([]*primitives.Lease, n)
	errs := make(chan error, n)
	var all sync.WaitGroup
	for part := range 50 {
		all.Go(func() {
			for i := part; i < n; i += 50 {
				var err error
				leases[i], err = client.NewLock(fmt.Sprint("watched:", i), nil).Lock(context.Background())
				if err != nil {
					errs <- err
				}
			}
		})
	}
	all.Wait()
	close(errs)
	require.NoError(t, <-errs)
	return leases
}

// calls returns how often a server has executed a command, within scripts too.
func calls(t *testing.T, on *target, command string) (n int) {
	t.Helper()
	stats, err := on.nodes[0].Info("commandstats")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(stats["cmdstat_"+command], "calls=")
	count, _, _ := strings.Cut(rest, ",")
	if count != "" {
		n, err = strconv.Atoi(count)
		require.NoError(t, err)
	}
	return n
}
