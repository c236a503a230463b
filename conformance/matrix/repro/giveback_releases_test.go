package repro

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// slow answers after a while: the script runs in time, its caller may have left.
type slow struct {
	backend.Backend
	by       time.Duration
	releases atomic.Int64
	acquires atomic.Int64
}

func (s *slow) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	switch {
	case strings.Contains(script.Name, "release"):
		s.releases.Add(1)
	case strings.Contains(script.Name, "acquire"):
		s.acquires.Add(1)
	}
	reply, err := s.Backend.Run(context.WithoutCancel(ctx), script, keys, args)
	select {
	case <-time.After(s.by):
		return reply, err
	case <-ctx.Done():
		return backend.Reply{}, backend.Indeterminate(ctx.Err())
	}
}

// TestReleasesPerCancelledAcquire cancels acquires of a lock that somebody else holds: each was
// refused, so that there is nothing to release, and nothing to search.
func TestReleasesPerCancelledAcquire(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, time.Hour, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b, err := embedded.New(embedded.NewServer(), nil)
			require.NoError(t, err)
			s := &slow{Backend: b, by: 20 * time.Millisecond}
			c := over(t, s, nil)
			holder, err := c.NewLock("x", nil).Lock(t.Context())
			require.NoError(t, err)
			const calls = 100
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				_, err := c.NewLock("x", &primitives.LockOptions{Lease: lease}).TryLock(ctx)
				require.ErrorIs(t, err, backend.ErrIndeterminate, "it was cancelled in flight")
				cancel()
			}
			time.Sleep(lease)
			require.Equal(t, int64(calls+1), s.acquires.Load())
			require.Zero(t, s.releases.Load())
			require.NoError(t, holder.Unlock(t.Context()))
			require.Equal(t, int64(1), s.releases.Load())
		})
	}
}

// TestReleasesPerCancelledAcquireOnAServer does the same on a real server, 30 ms away: each answer, a
// refusal, comes 15 ms after its caller has left. No other test runs beside it: it counts hasp's
// goroutines, and not those of drivers, who may make connections at any time.
func TestReleasesPerCancelledAcquireOnAServer(t *testing.T) {
	for name, client := range drivers {
		t.Run(name, func(t *testing.T) {
			s := servers.Start(t, servers.Redis, nil)
			p := servers.StartProxy(t, s.Addr(), nil)
			c := client(t, p.Addr())
			_, err := goRedis(t, s.Addr()).NewLock("x", nil).Lock(t.Context())
			require.NoError(t, err)
			_, err = c.NewLock("x", nil).TryLock(t.Context()) // Loads the script.
			require.ErrorIs(t, err, primitives.ErrNotAcquired)
			p.SetLatency(servers.BothWays, 30*time.Millisecond)
			cancelled(t, c, 20, 20) // The driver makes its connections.
			idle := func() bool { return goroutines() == 0 }
			require.Eventually(t, idle, 20*time.Second, 50*time.Millisecond)
			p.ResetCounts()
			late := cancelled(t, c, 20, 50)
			require.Greater(t, late, int64(500), "they were cancelled in flight")
			time.Sleep(3 * time.Second) // 24 releases of each acquire came in this time.
			sent := p.Count("EVALSHA")
			t.Logf("%d commands for 1000 acquires, %d of them cancelled in flight", sent, late)
			require.LessOrEqual(t, sent, 1000)
			require.Eventually(t, idle, 20*time.Second, 50*time.Millisecond, "a goroutine stays")
		})
	}
}

// cancelled lets callers side by side make so many calls each, and returns how many were cancelled.
func cancelled(t *testing.T, c *primitives.Client, callers, calls int) int64 {
	t.Helper()
	var late atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 45*time.Millisecond)
				_, err := c.NewLock("x", nil).TryLock(ctx)
				cancel()
				if ctx.Err() != nil && err != nil {
					late.Add(1)
				}
			}
		})
	}
	require.Eventually(t, func() bool { return goroutines() > 0 }, 20*time.Second, time.Millisecond)
	all.Wait()
	return late.Load()
}

// goroutines returns how many goroutines run code of hasp.
func goroutines() (n int) {
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "hasp/primitives") || strings.Contains(stack, "hasp/backend") {
			n++
		}
	}
	return n
}
