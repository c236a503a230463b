package repro

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// leased are all kinds of objects whose leases the watchdog renews, called x.
func leased(c *primitives.Client) map[string]func(context.Context) (*primitives.Lease, error) {
	rw := c.NewReadWriteLock("x", nil)
	arrival := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	permits := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 2})
	return map[string]func(context.Context) (*primitives.Lease, error){
		"Lock": c.NewLock("x", nil).Lock, "FencedLock": c.NewFencedLock("x", nil).Lock,
		"SpinLock": c.NewSpinLock("x", nil).Lock, "FairLock": c.NewFairLock("x", nil).Lock,
		"Mutex": c.NewMutex("x", nil).Lock, "ReadLock": rw.ReadLock().Lock, "WriteLock": rw.WriteLock().Lock,
		"ByTime": c.NewCountingSemaphore("x", 1, nil).Acquire, "ByArrival": c.NewCountingSemaphore("x", 1, arrival).Acquire,
		"Permits": func(ctx context.Context) (*primitives.Lease, error) { return permits.Acquire(ctx, 2) },
	}
}

// eachLeased runs a test in virtual time for each of them, held, with a lease of 3 s.
func eachLeased(
	t *testing.T, prepare func(r *cells.Runner),
	test func(t *testing.T, server *embedded.Server, lease *primitives.Lease),
) {
	t.Helper()
	t.Parallel()
	for kind := range leased(cells.Over(t, backendOf(t, embedded.NewServer()), nil)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := embedded.NewServer()
				r := &cells.Runner{Backend: backendOf(t, server)}
				r.Instead = r.Good
				prepare(r)
				c := cells.Over(t, r, &primitives.Options{WatchdogLease: 3 * time.Second})
				lease, err := leased(c)[kind](t.Context())
				require.NoError(t, err)
				test(t, server, lease)
			})
		})
	}
}

// TestOverwrittenKeyIsLostAtTheNextRenewal has another program write a value of another type to the key. The holder
// learnt of that when nearly its whole lease was over.
func TestOverwrittenKeyIsLostAtTheNextRenewal(t *testing.T) {
	eachLeased(t, func(*cells.Runner) {}, func(t *testing.T, server *embedded.Server, lease *primitives.Lease) {
		key := "x"
		if do(t, server, "EXISTS", key) == "0" {
			key = "hasp_mutex:{x}"
		}
		require.Equal(t, int64(1), number(t, server, "DEL", key))
		require.Equal(t, int64(1), number(t, server, "RPUSH", key, "not ours"))
		time.Sleep(time.Second + 10*time.Millisecond)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		require.ErrorIs(t, lease.Unlock(t.Context()), primitives.ErrNotHeld)
		time.Sleep(10 * time.Second)
		require.Equal(t, int64(1), number(t, server, "LLEN", key))
	})
}

// unread is put before a script: what it may be refused is.
const unread = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.pcall = function() return {err = 'NOPERM WRONGTYPE may not be said'} end; `

// TestRenewalThatMayNotLookLosesNothing takes from a user, for a moment, the right to the command by which renewals
// look at the key: that says nothing of who holds it.
func TestRenewalThatMayNotLookLosesNothing(t *testing.T) {
	var refused atomic.Int64
	eachLeased(t, func(r *cells.Runner) {
		until := time.Now().Add(2 * time.Second)
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if s := c.Script; strings.HasSuffix(s.Name, "_renew") && time.Now().Before(until) {
				refused.Add(1)
				c.Script = backend.NewScript(s.Name, unread+s.Source, s.Keys, s.Retry)
			}
			return r.Good(ctx, c)
		}
	}, func(t *testing.T, _ *embedded.Server, lease *primitives.Lease) {
		time.Sleep(20 * time.Second)
		require.Positive(t, refused.Load())
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Unlock(t.Context()))
	})
}
