package crowds

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// slots are those of one semaphore, which a client acquires one at a time, for a lease. None renews it.
type slots func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error)

// semaphores are those whose slots come back by themselves when their leases end.
var semaphores = map[string]slots{
	"PermitSemaphore": func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error) {
		return c.NewPermitSemaphore("s", &primitives.PermitSemaphoreOptions{Permits: n, Lease: lease}).Acquire(ctx, 1)
	},
	"CountingSemaphoreByTime":    counting(primitives.ByTime),
	"CountingSemaphoreByArrival": counting(primitives.ByArrival),
}

// counting returns the slots of a counting semaphore.
func counting(order primitives.CountingOrder) slots {
	return func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error) {
		return c.NewCountingSemaphore("s", n, &primitives.CountingSemaphoreOptions{Order: order, Lease: lease}).Acquire(ctx)
	}
}

// ends are when the leases of a crashed client end that has all slots, and how long the live client's last.
var (
	ends  = []time.Duration{time.Second, 1300 * time.Millisecond, 1600 * time.Millisecond, 4200 * time.Millisecond}
	lives = time.Minute
)

// afterACrash has one client take all slots and crash, but for the last of them: its leases end, and no message tells
// so. Then it has play go on with the client that is left, in virtual time.
func afterACrash(t *testing.T, play func(t *testing.T, acquire slots, last *primitives.Lease, c *primitives.Client)) {
	t.Helper()
	for name, acquire := range semaphores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := embedded.NewServer()
				var clients [2]*primitives.Client
				for i := range clients {
					clients[i] = cells.Over(t, must.Get(embedded.New(server, nil)), nil)
				}
				var last *primitives.Lease
				for i, lease := range ends {
					l := cells.Got(acquire(t.Context(), clients[0], len(ends), lease))(t)
					if last = l; i < len(ends)-1 {
						l.Forget()
					}
				}
				play(t, acquire, last, clients[1])
			})
		})
	}
}

// waiters has n callers of a client wait one after the other, and returns when each was granted. What they are granted
// ends with its lease.
func waiters(ctx context.Context, acquire slots, c *primitives.Client, n int, lease time.Duration) <-chan time.Duration {
	begin, granted := time.Now(), make(chan time.Duration, n)
	for range n {
		go func() {
			if l, err := acquire(ctx, c, len(ends), lease); err == nil {
				l.Forget()
				granted <- time.Since(begin)
			}
		}()
		synctest.Wait()
	}
	return granted
}

// late is how much later than a lease's end a waiter may be granted.
const late = 5 * time.Millisecond

// requireAt requires that the next waiter is granted at a time.
func requireAt(t *testing.T, want time.Duration, granted <-chan time.Duration) {
	t.Helper()
	require.InDelta(t, want+late/2, <-granted, float64(late/2+time.Millisecond))
}

// TestWaitersBehindACrashAreInAtEachEnd: a crashed client's leases end one after the other, and a live client has as
// many waiters: each is in when the next lease ends, not at the next poll.
func TestWaitersBehindACrashAreInAtEachEnd(t *testing.T) {
	t.Parallel()
	afterACrash(t, func(t *testing.T, acquire slots, last *primitives.Lease, c *primitives.Client) {
		last.Forget()
		granted := waiters(t.Context(), acquire, c, len(ends), lives)
		for _, at := range ends {
			requireAt(t, at, granted)
		}
	})
}

// TestWaitersBehindAGrantAreInAtItsEnd crashes the next holder, whose lease is short: the waiters behind it acquire when
// that lease ends, and not at their poll.
func TestWaitersBehindAGrantAreInAtItsEnd(t *testing.T) {
	t.Parallel()
	afterACrash(t, func(t *testing.T, acquire slots, last *primitives.Lease, c *primitives.Client) {
		last.Forget()
		granted := waiters(t.Context(), acquire, c, 6, 200*time.Millisecond)
		for _, at := range []time.Duration{1000, 1200, 1300, 1400, 1500, 1600} {
			requireAt(t, at*time.Millisecond, granted)
		}
	})
}

// TestWaitersBehindARelease: a slot is released before the first lease ends, and the first waiter is in by that. The
// next is in when that lease ends.
func TestWaitersBehindARelease(t *testing.T) {
	t.Parallel()
	afterACrash(t, func(t *testing.T, acquire slots, last *primitives.Lease, c *primitives.Client) {
		granted := waiters(t.Context(), acquire, c, len(ends), lives)
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, last.Release(t.Context()))
		requireAt(t, 500*time.Millisecond, granted)
		for _, at := range ends[:3] {
			requireAt(t, at, granted)
		}
	})
}

// TestWaitersBehindOneThatLeaves: the first waiter gives up before the first lease ends. The next is in then.
func TestWaitersBehindOneThatLeaves(t *testing.T) {
	t.Parallel()
	afterACrash(t, func(t *testing.T, acquire slots, last *primitives.Lease, c *primitives.Client) {
		last.Forget()
		ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		left := waiters(ctx, acquire, c, 2, lives)
		granted := waiters(t.Context(), acquire, c, len(ends), lives)
		for _, at := range ends {
			requireAt(t, at, granted)
		}
		require.Empty(t, left)
	})
}
