package primitives_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// shards is a cluster of three primaries with a replica each, on one server.
type shards struct {
	*server
	mu      sync.Mutex
	stopped string         // the shard whose replica does not acknowledge
	waits   map[string]int // of renewals, by shard
}

// Capabilities implements backend.Backend.
func (*shards) Capabilities() backend.Capabilities {
	return backend.Capabilities{Cluster: true, PubSub: true}
}

// NodeOf implements backend.Locator.
func (*shards) NodeOf(key string) string { return fmt.Sprint(backend.Slot(key) * 3 / backend.Slots) }

// RunThenWait implements backend.ReplicaWaiter, for calls of one shard.
func (s *shards) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	shard := s.NodeOf(calls[0].Keys[0])
	s.mu.Lock()
	if calls[0].Script.Name == "lock_renew" {
		s.waits[shard]++
	}
	stopped := s.stopped == shard
	s.mu.Unlock()
	outcomes := make([]backend.Outcome, len(calls))
	for i, c := range calls {
		if outcomes[i].Acked = replicas; stopped || s.NodeOf(c.Keys[0]) != shard {
			outcomes[i].Acked = 0
		}
		outcomes[i].Reply, outcomes[i].Err = s.Run(ctx, c.Script, c.Keys, c.Args)
	}
	if time.Sleep(time.Millisecond); stopped {
		time.Sleep(timeout)
	}
	for i, o := range outcomes {
		report(i, o)
	}
}

// stop stops the replica of a shard, and returns how many WAITs of renewals the shards have had since the last call.
func (s *shards) stop(shard string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = shard
	waits := s.waits
	s.waits = map[string]int{}
	return waits
}

// TestStoppedReplicaCostsOtherShardsNothing has many leases in a cluster, and callers that try all the time, most of them
// on a shard whose replica stops for a third of the lease: no lease is lost, and 100 renewals share a WAIT.
func TestStoppedReplicaCostsOtherShardsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shards{server: newServer(t), waits: map[string]int{}}
		c := s.over(t, s, &primitives.Options{Replicas: 1})
		var leases []*primitives.Lease
		count := map[string]int{}
		for i := range 600 {
			leases = append(leases, must(c.NewLock(fmt.Sprint(i), nil).Lock(t.Context()))(t))
			count[s.NodeOf(fmt.Sprint(i))]++
		}
		time.Sleep(9 * time.Second) // The next renewals are due in a second.
		s.stop("0")
		ctx, stop := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i := range 64 {
			l := c.NewLock(fmt.Sprint("caller", i), nil)
			callers.Go(func() {
				for ctx.Err() == nil {
					if lease, err := l.Lock(ctx); err == nil {
						_ = lease.Release(t.Context())
					}
					time.Sleep(time.Second)
				}
			})
		}
		time.Sleep(10 * time.Second)
		stop()
		callers.Wait()
		waits := s.stop("")
		for _, shard := range []string{"1", "2"} {
			require.GreaterOrEqual(t, waits[shard], count[shard]/100)
			require.LessOrEqual(t, waits[shard], count[shard]/100+10, "of %d", count[shard])
		}
		time.Sleep(time.Minute)
		for _, lease := range leases {
			require.NoError(t, lease.Err())
		}
	})
}
