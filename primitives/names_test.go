package primitives_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestNamesThatShareAChannelWakeEachTheirOwn waits for two locks that Redisson gives one channel:
// the release of either must not be used up by the other's waiter, which would stay in front.
func TestNamesThatShareAChannelWakeEachTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		holder := s.client(t, &primitives.Options{WatchdogLease: time.Hour})
		waiter := s.client(t, &primitives.Options{PollInterval: time.Hour})
		leases, got := map[string]*primitives.Lease{}, map[string]chan error{}
		for _, name := range []string{"a", "{a}"} {
			lease, err := holder.NewLock(name, nil).Lock(t.Context())
			require.NoError(t, err)
			leases[name], got[name] = lease, make(chan error, 1)
			go func() {
				_, err := waiter.NewLock(name, nil).Lock(t.Context())
				got[name] <- err
			}()
			time.Sleep(time.Second)
		}
		for _, name := range []string{"{a}", "a"} {
			require.NoError(t, leases[name].Unlock(t.Context()))
			select {
			case err := <-got[name]:
				require.NoError(t, err)
			case <-time.After(time.Second):
				require.Fail(t, "not woken", name)
			}
		}
	})
}
