package joint

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestMultiLockOfSeveralServers has processes with one driver each take locks of different kinds on two
// servers and a cluster, in any order, some as one and some alone.
func TestMultiLockOfSeveralServers(t *testing.T) {
	t.Parallel()
	redis, valkey := servers.Start(t, servers.Redis, nil), servers.Start(t, servers.Valkey, nil)
	cluster := cells.Cluster(t, servers.Redis)
	const names = 4
	var inside [names]atomic.Int32
	var grants, twice atomic.Int32
	var callers sync.WaitGroup
	for i, a := range cells.Adapters() {
		first := a.Primitives(t, cells.At(redis.Addr()), nil)
		second := a.Primitives(t, cells.At(valkey.Addr()), nil)
		third := a.Primitives(t, cluster.Client(), nil)
		locks := [names]primitives.Locker{
			first.NewLock("a", nil), second.NewFairLock("b", nil),
			third.NewReadWriteLock("c", nil).WriteLock(), third.NewFencedLock("d", nil),
		}
		draw := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // A schedule.
		callers.Go(func() {
			for range 20 {
				var some []primitives.Locker
				mine := draw.Perm(names)[:1+draw.IntN(names)]
				for _, i := range mine {
					some = append(some, locks[i])
				}
				lease, err := primitives.NewMultiLock(some...).Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				grants.Add(1)
				for _, i := range mine {
					twice.Add(inside[i].Add(1) - 1)
				}
				time.Sleep(time.Millisecond)
				for _, i := range mine {
					inside[i].Add(-1)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	require.Zero(t, twice.Load())
	require.EqualValues(t, 60, grants.Load())
}
