package mutex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestMutexTakesEachDriftThatALockTakes: a waiter that gets the mutex by a release trusts it, whatever the clock drift.
func TestMutexTakesEachDriftThatALockTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ watchdog, lease, drift time.Duration }{
		{0, 0, 4 * time.Second}, {0, 0, 6 * time.Second}, {0, 0, 14900 * time.Millisecond},
		{0, 12 * time.Second, 5900 * time.Millisecond}, {10 * time.Minute, 0, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := embedded.NewServer()
			mutex := func() *primitives.Mutex {
				b, err := embedded.New(server, nil)
				require.NoError(t, err)
				client := cells.Over(t, b, &primitives.Options{WatchdogLease: c.watchdog, ClockDrift: c.drift, PollInterval: time.Hour})
				return client.NewMutex(name, &primitives.LockOptions{Lease: c.lease})
			}
			held, err := mutex().Lock(t.Context())
			require.NoError(t, err)
			got := make(chan *primitives.Lease, 1)
			next := mutex()
			go func() {
				lease, err := next.Lock(t.Context())
				require.NoError(t, err)
				got <- lease
			}()
			time.Sleep(min(held.Remaining()-100*time.Millisecond, 75*time.Second))
			require.Equal(t, 1, cells.Number(t, server, "EXISTS", queue))
			require.NoError(t, held.Release(t.Context()))
			lease := <-got
			require.Greater(t, lease.Remaining(), c.drift/3)
			time.Sleep(time.Second)
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}
