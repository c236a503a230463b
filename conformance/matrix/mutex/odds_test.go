package mutex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestFixedLeaseIsWhole: a lease of a fixed length that a release granted, long after the waiter's last heartbeat, has
// its whole length when Lock returns, and nobody renews it then.
func TestFixedLeaseIsWhole(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, _ *primitives.Mutex) {
		const length, believed = 20 * time.Second, 18 * time.Second // less the clock drift
		next := w.waits(t, w.client(t).NewMutex(name, &primitives.LockOptions{Lease: length}))
		time.Sleep(2200 * time.Millisecond) // Since then it has not beaten.
		require.NoError(t, held.Release(t.Context()))
		lease := next()
		require.GreaterOrEqual(t, lease.Remaining(), believed)
		begin := time.Now()
		<-lease.Done()
		require.InDelta(t, believed.Seconds(), time.Since(begin).Seconds(), 0.1)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	})
}
