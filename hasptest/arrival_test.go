package hasptest_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// TestWaiterBehindACrashedWaiter has a caller pass a crashed waiter of a full semaphore. The waiter behind, which does
// not poll, hears of it: it enters when the crashed holder's lease ends.
func TestWaiterBehindACrashedWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		start := time.Now()
		byArrival := func() *primitives.CountingSemaphore {
			client := s.Client(&primitives.Options{PollInterval: 100 * time.Hour})
			return client.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{
				Order: primitives.ByArrival, Lease: time.Minute, WaiterTimeout: 1000 * time.Hour,
			})
		}
		at := func(after time.Duration) string { return strconv.FormatInt(start.Add(after).UnixMilli(), 10) }
		for _, command := range [][]string{
			{"ZADD", "x", at(time.Minute), "holder", "-" + at(5*time.Second), "waiter"}, {"ZADD", "{x}:owner", "1", "waiter"},
		} {
			require.NoError(t, errOf(s.Embedded().Do(command...)))
		}
		entered := make(chan error)
		go func() {
			_, err := byArrival().Acquire(t.Context())
			entered <- err
		}()
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, errOf(byArrival().TryAcquire(t.Context())), primitives.ErrNotAcquired)
		require.NoError(t, <-entered)
		require.InDelta(t, time.Minute, time.Since(start), float64(100*time.Millisecond))
	})
}
