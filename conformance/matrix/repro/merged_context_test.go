package repro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestUnlockUnderAMergedContext releases under a context that ends with the lease's, though nothing
// shows that: Unlock ends the lease first.
func TestUnlockUnderAMergedContext(t *testing.T) {
	t.Parallel()
	for name, client := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := client(t, servers.Start(t, servers.Redis, nil).Addr()).NewLock("x", nil)
			for range 100 {
				lease, err := lock.Lock(t.Context())
				require.NoError(t, err)
				merged, cancel := context.WithCancel(t.Context())
				stop := context.AfterFunc(lease.Context(t.Context()), cancel)
				require.NoError(t, lease.Unlock(merged))
				require.False(t, stop())
				<-merged.Done()
			}
		})
	}
}
