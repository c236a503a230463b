package mutex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestFixedLeaseIsWhole: a lease of a fixed length that a release granted, long after the waiter's last sign, has
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

// TestClockThatIsSetForward: if the server's clock jumps over what the waiters' signs are worth, a release
// passes them. They come back by their next beats, and all are served.
func TestClockThatIsSetForward(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		tokens := make(chan int64, 6)
		for i := range cap(tokens) {
			next := w.waits(t, []*primitives.Mutex{other, w.client(t).NewMutex(name, nil)}[i%2])
			go func() {
				lease := next()
				tokens <- lease.Token()
				noError(t, lease.Release(t.Context()))
			}()
		}
		w.Advance(8 * time.Second)
		require.NoError(t, held.Release(t.Context()))
		require.Zero(t, numberOf(t, w.Server, "EXISTS", key, queue), "nobody is taken for alive")
		start, last := time.Now(), held.Token()
		for range cap(tokens) {
			token := <-tokens
			require.Greater(t, token, last)
			last = token
		}
		require.Less(t, time.Since(start), 10*time.Second)
	})
}

// TestClockThatIsSetBack: a waiter that died, and whose last sign seems to come from the future, since the clock
// was set back after it, counts as alive until the clock has caught up. Then it is passed.
func TestClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world, held *primitives.Lease, other *primitives.Mutex) {
		const dead, back = "gone.10000:1", 5 * time.Second
		w.ghost(t, dead)
		_, err := w.Do("HSET", signs, dead, numeral(time.Now().Add(back).UnixMilli())+" 1")
		require.NoError(t, err)
		next := w.waits(t, other)
		time.Sleep(back + 7*time.Second)
		require.NoError(t, held.Release(t.Context()))
		start := time.Now()
		lease := next()
		require.Less(t, time.Since(start), 100*time.Millisecond)
		require.NoError(t, lease.Release(t.Context()))
	})
}
