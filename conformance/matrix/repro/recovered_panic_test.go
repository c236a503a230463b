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
	"github.com/hasp-go/hasp/primitives"
)

// hooked panics after a script of some name, once, as a hook of the application's driver may.
type hooked struct {
	backend.Backend
	script atomic.Pointer[string]
}

func (h *hooked) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	r, err := h.Backend.Run(ctx, s, keys, args)
	name := h.script.Load()
	if name != nil && strings.Contains(s.Name, *name) && h.script.CompareAndSwap(name, nil) {
		panic("hook")
	}
	return r, err
}

// TestRecoveredPanicLeavesARenewedLock has a hook panic, which the application recovers, as net/http
// does: the lock once was renewed for as long as the process lived, and nobody could release it.
func TestRecoveredPanicLeavesARenewedLock(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"acquire", "release"} {
		synctest.Test(t, func(t *testing.T) {
			e, err := embedded.New(embedded.NewServer(), nil)
			require.NoError(t, err)
			h := &hooked{Backend: e}
			c := over(t, h, &primitives.Options{WatchdogLease: 30 * time.Second})
			h.script.Store(&script)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			require.PanicsWithValue(t, "hook", func() {
				lease, err := c.NewLock("x", nil).Lock(ctx)
				require.NoError(t, err)
				_ = lease.Unlock(ctx)
			})
			time.Sleep(time.Second)
			lease, err := c.NewLock("x", nil).TryLock(t.Context())
			require.NoError(t, err, "the lock is held, by nobody")
			require.NoError(t, lease.Unlock(t.Context()))
			require.NoError(t, c.Close(t.Context()))
		})
	}
}
