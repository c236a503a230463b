package readwrite

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// Test1604ManyReadersAreRenewed holds a hundred read leases of one client beyond their length, on one lock:
// Redisson renewed the lock, and not their side keys.
func Test1604ManyReadersAreRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		var readers []*primitives.Lease
		for range 100 {
			readers = append(readers, taken(t.Context(), t, lock.ReadLock()))
		}
		time.Sleep(5 * time.Minute)
		unlock(t, readers...)
		require.Zero(t, cells.Number(t, s, "EXISTS", "x"))
	})
}

// Test7251NothingIsRenewedAfterwards enters often, and again and again: after the last release nothing is
// sent any more.
func Test7251NothingIsRenewedAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		b, err := embedded.New(s, nil)
		require.NoError(t, err)
		var renewals atomic.Int64
		r := &cells.Runner{Backend: b}
		r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
			if strings.HasSuffix(call.Script.Name, "_renew") {
				renewals.Add(1)
			}
			return r.Good(ctx, call)
		}
		lock := cells.Over(t, r, nil).NewReadWriteLock("x", nil)
		for _, l := range []side{lock.ReadLock(), lock.WriteLock()} {
			outer := taken(t.Context(), t, l)
			ctx := outer.Reenter(t.Context())
			for range 10 {
				unlock(t, taken(ctx, t, l))
			}
			time.Sleep(time.Minute)
			unlock(t, outer)
		}
		before := renewals.Load()
		require.Positive(t, before)
		time.Sleep(time.Hour)
		require.Equal(t, before, renewals.Load())
	})
}
