package repro

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// copying is a program that copies a lease, in the two ways that users do.
const copying = `package copying

import "github.com/hasp-go/hasp/primitives"

type job struct{ lease primitives.Lease }

func hand(lease *primitives.Lease) job { return job{*lease} }

func take(lease primitives.Lease) error { return lease.Err() }
`

func TestVetReportsCopiedLeases(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "copying.go")
	require.NoError(t, os.WriteFile(file, []byte(copying), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput() //nolint:gosec // Ours.
	require.Error(t, err)
	require.Contains(t, string(out), "copying.go:7:53: literal copies lock value from *lease")
	require.Contains(t, string(out), "copying.go:9:17: take passes lock by value")
}

// TestRecoveredPanicLeavesARenewedLock has a hook of the application's driver panic after a script,
// once, which the application recovers, as net/http does: the lock once was renewed for as long as the
// process lived, and nobody could release it.
func TestRecoveredPanicLeavesARenewedLock(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"acquire", "release"} {
		synctest.Test(t, func(t *testing.T) {
			r := runner(t)
			var panicked atomic.Bool
			r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				reply, err := r.Good(ctx, c)
				if strings.Contains(c.Script.Name, script) && panicked.CompareAndSwap(false, true) {
					panic("hook")
				}
				return reply, err
			}
			c := cells.Over(t, r, &primitives.Options{WatchdogLease: 30 * time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			require.PanicsWithValue(t, "hook", func() { _ = cells.LockUnlock(ctx, c.NewLock("x", nil)) })
			time.Sleep(time.Second)
			lease, err := c.NewLock("x", nil).TryLock(t.Context())
			require.NoError(t, err, "the lock is held, by nobody")
			require.NoError(t, lease.Release(t.Context()))
			require.NoError(t, c.Close(t.Context()))
		})
	}
}

// TestReleasesPerCancelledAcquire cancels acquires of a lock that somebody else holds: each was refused, so there is
// nothing to release, and nothing to search. Scripts run in time, and answer 20 ms later, when the caller has left.
func TestReleasesPerCancelledAcquire(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, time.Hour, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := runner(t)
			var acquires, releases atomic.Int64
			r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				switch {
				case strings.Contains(c.Script.Name, "release"):
					releases.Add(1)
				case strings.Contains(c.Script.Name, "acquire"):
					acquires.Add(1)
				}
				reply, err := r.Good(context.WithoutCancel(ctx), c)
				select {
				case <-time.After(20 * time.Millisecond):
					return reply, err
				case <-ctx.Done():
					return backend.Reply{}, backend.Indeterminate(ctx.Err())
				}
			}
			c := cells.Over(t, r, nil)
			holder := lock(t, c, "x")
			const calls = 100
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				_, err := c.NewLock("x", &primitives.LockOptions{Lease: lease}).TryLock(ctx)
				require.ErrorIs(t, err, backend.ErrIndeterminate, "it was cancelled in flight")
				cancel()
			}
			time.Sleep(lease)
			require.Equal(t, int64(calls+1), acquires.Load())
			require.Zero(t, releases.Load())
			require.NoError(t, holder.Release(t.Context()))
			require.Equal(t, int64(1), releases.Load())
		})
	}
}

// TestTokenOutlivesAClockSetBack has a token that is ahead of the server's clock, as after a step
// back: it is kept until the clock has passed it by TokenTTL. Else tokens would fall.
func TestTokenOutlivesAClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const key, back = "redisson_lock_token:{x}", 5 * time.Hour
		server, c := inProcess(t, &primitives.Options{TokenTTL: time.Minute})
		before := time.Now().Add(back).UnixMicro()
		cells.Text(t, server, "SET", key, fmt.Sprint(before))
		lease := lock(t, c, "x")
		require.Equal(t, before+1, lease.Token())
		require.NoError(t, lease.Release(t.Context()))
		left := cells.Number(t, server, "PTTL", key)
		require.InDelta(t, (back + time.Minute).Milliseconds(), left, 1)
		server.Advance(back + time.Minute - time.Millisecond)
		require.Greater(t, lock(t, c, "x").Token(), before+1)
	})
}

// TestSecondCloseDoesNotWait calls Close twice, as a defer and a signal's handler do, while a release takes 300 ms.
func TestSecondCloseDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := embedded.NewServer()
		r := &cells.Runner{Backend: backendOf(t, server)}
		var releases atomic.Int64
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if strings.Contains(c.Script.Name, "release") {
				releases.Add(1)
				time.Sleep(300 * time.Millisecond)
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, nil)
		lock(t, c, "x")
		first := make(chan error, 1)
		go func() { first <- c.Close(context.Background()) }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Close(impatient), context.DeadlineExceeded)
		require.NoError(t, c.Close(context.Background()))
		require.Equal(t, "0", cells.Text(t, server, "EXISTS", "x"),
			"Close returned nil before what was held was released")
		require.NoError(t, <-first)
		require.Equal(t, int64(1), releases.Load())
	})
}
