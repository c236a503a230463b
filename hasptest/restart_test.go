package hasptest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// watchable acquires an object of each kind with a channel and leases.
var watchable = map[string]func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error){
	"Lock": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewLock(name, nil).Lock(ctx)
	},
	"FencedLock": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewFencedLock(name, nil).Lock(ctx)
	},
	"FairLock": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewFairLock(name, nil).Lock(ctx)
	},
	"Mutex": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewMutex(name, nil).Lock(ctx)
	},
	"ReadLock": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewReadWriteLock(name, nil).ReadLock().Lock(ctx)
	},
	"WriteLock": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewReadWriteLock(name, nil).WriteLock().Lock(ctx)
	},
	"PermitSemaphore": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: 1}).Acquire(ctx, 1)
	},
	"CountingSemaphore": func(ctx context.Context, c *primitives.Client, name string) (*primitives.Lease, error) {
		return c.NewCountingSemaphore(name, 1, nil).Acquire(ctx)
	},
}

// TestRestartWithoutDataIsNoticed: a client that only holds leases learns that its server has lost them as soon as the
// server is back. A client whose leases the server still has goes on.
func TestRestartWithoutDataIsNoticed(t *testing.T) {
	t.Parallel()
	for kind, acquire := range watchable {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", kind, lost), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := hasptest.New(t)
					client := s.Client(nil)
					var leases []*primitives.Lease
					for i := range 5 {
						leases = append(leases, must(acquire(t.Context(), client, fmt.Sprint("x", i)))(t))
						time.Sleep(1500 * time.Millisecond)
					}
					s.Away(time.Second)
					if lost {
						require.NoError(t, errOf(s.Embedded().Do("FLUSHALL")))
					}
					time.Sleep(time.Second + 100*time.Millisecond)
					for _, lease := range leases {
						if lost {
							require.ErrorIs(t, lease.Err(), primitives.ErrLost)
						} else {
							require.NoError(t, lease.Err())
						}
					}
				})
			})
		}
	}
}

// TestShortOutage: a server that is away for half a second, at any time, loses no lease of a second.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		client := s.Client(&primitives.Options{WatchdogLease: time.Second})
		lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
		for range 100 {
			time.Sleep(1017 * time.Millisecond) // a third of the lease, and a bit: so each outage begins a bit later
			s.Away(500 * time.Millisecond)
			time.Sleep(500 * time.Millisecond)
		}
		require.NoError(t, lease.Err())
	})
}
