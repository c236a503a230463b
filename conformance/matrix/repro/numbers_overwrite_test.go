package repro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// numberCalls are calls of numbers, which have nothing to say of a key that holds something else.
func numberCalls(ctx context.Context, c *primitives.Client) map[string]func() error {
	long, double := c.NewAtomicLong("x"), c.NewAtomicDouble("x")
	latch, permits := c.NewCountDownLatch("x"), c.NewSemaphore("x", nil)
	return map[string]func() error{
		"AtomicLong.Load":            func() error { _, err := long.Load(ctx); return err },
		"AtomicLong.Store":           func() error { return long.Store(ctx, 7) },
		"AtomicLong.Swap":            func() error { _, err := long.Swap(ctx, 7); return err },
		"AtomicLong.LoadAndDelete":   func() error { _, err := long.LoadAndDelete(ctx); return err },
		"AtomicDouble.Load":          func() error { _, err := double.Load(ctx); return err },
		"AtomicDouble.Store":         func() error { return double.Store(ctx, 7) },
		"AtomicDouble.Swap":          func() error { _, err := double.Swap(ctx, 7); return err },
		"AtomicDouble.LoadAndDelete": func() error { _, err := double.LoadAndDelete(ctx); return err },
		"CountDownLatch.Count":       func() error { _, err := latch.Count(ctx); return err },
		"CountDownLatch.CountDown":   func() error { _, err := latch.CountDown(ctx); return err },
		"CountDownLatch.Wait":        func() error { return latch.Wait(ctx) },
		"Semaphore.AvailablePermits": func() error { _, err := permits.AvailablePermits(ctx); return err },
	}
}

// TestNumbersOverwriteOtherKinds makes calls of numbers on keys that hold something else: some
// overwrote it, or deleted it.
func TestNumbersOverwriteOtherKinds(t *testing.T) {
	t.Parallel()
	for kind, put := range map[string][]string{
		"hash": {"HSET", "x", "f", "1"}, "list": {"RPUSH", "x", "1"}, "set": {"SADD", "x", "1"},
		"zset": {"ZADD", "x", "1", "1"}, "string": {"SET", "x", "precious text"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server, c := inProcess(t, nil)
			for name, call := range numberCalls(t.Context(), c) {
				do(t, server, "DEL", "x")
				do(t, server, put...)
				before := stored(t, server, kind)
				require.ErrorIs(t, call(), primitives.ErrConflict, name)
				require.Equal(t, before, stored(t, server, kind), name)
			}
		})
	}
}

// TestStoreOverAHeldLock stores a number at the key of a lock that is held.
func TestStoreOverAHeldLock(t *testing.T) {
	t.Parallel()
	_, c := inProcess(t, nil)
	lease, err := c.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, c.NewAtomicLong("x").Store(t.Context(), 7), primitives.ErrConflict)
	require.NoError(t, lease.Unlock(t.Context()))
}

// TestCountDownAtZero counts down a latch that was set to 0, as Redisson's trySetCount may, or to
// less: it is open, and gone then.
func TestCountDownAtZero(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	for _, count := range []string{"0", "-1", "-9223372036854775808"} {
		do(t, server, "SET", "latch", count)
		left, err := c.NewCountDownLatch("latch").CountDown(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		require.Equal(t, "none", do(t, server, "TYPE", "latch"))
	}
}

// stored returns what the key x holds, which is to be of a kind.
func stored(t *testing.T, server *embedded.Server, kind string) string {
	t.Helper()
	require.Equal(t, kind, do(t, server, "TYPE", "x"))
	return do(t, server, map[string][]string{
		"hash": {"HGET", "x", "f"}, "list": {"LINDEX", "x", "0"}, "set": {"SRANDMEMBER", "x"},
		"zset": {"ZSCORE", "x", "1"}, "string": {"GET", "x"},
	}[kind]...)
}
