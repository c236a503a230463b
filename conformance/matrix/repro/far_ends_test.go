package repro

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// farMilliseconds are what a Duration says of an expiry at most: 292 years.
const farMilliseconds = math.MaxInt64 / int64(time.Millisecond)

// TestVeryLongLease meets a lock that another took for 317 years: it is held, and no error.
func TestVeryLongLease(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	_, err := s.Do("HSET", "x", "java:1", "1")
	require.NoError(t, err)
	_, err = s.Do("PEXPIRE", "x", "10000000000000")
	require.NoError(t, err)
	require.Greater(t, pttl(t, s, "x"), farMilliseconds)
	lock := goRedis(t, s.Addr()).NewLock("x", nil)
	_, err = lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	left, err := lock.Remaining(t.Context())
	require.NoError(t, err)
	require.Equal(t, primitives.NoExpiry-1, left)
	_, err = s.Do("PERSIST", "x")
	require.NoError(t, err)
	left, err = lock.Remaining(t.Context())
	require.NoError(t, err)
	require.Equal(t, primitives.NoExpiry, left)
}

// TestWaitForAVeryLongLease waits for such a lock until it is freed.
func TestWaitForAVeryLongLease(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	_, err := s.Do("HSET", "x", "java:1", "1")
	require.NoError(t, err)
	_, err = s.Do("PEXPIRE", "x", "10000000000000")
	require.NoError(t, err)
	lock := goRedis(t, s.Addr()).NewLock("x", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	waiter := make(chan error, 1)
	go func() {
		lease, err := lock.Lock(ctx)
		if err == nil {
			err = lease.Unlock(ctx)
		}
		waiter <- err
	}()
	require.Eventually(t, func() bool {
		reply, err := s.Do("PUBSUB", "CHANNELS", "redisson_lock__channel:{x}")
		require.NoError(t, err)
		channels, err := reply.Items()
		require.NoError(t, err)
		return len(channels) == 1 || len(waiter) == 1
	}, 10*time.Second, time.Millisecond)
	require.Empty(t, waiter, "it does not wait")
	require.Greater(t, pttl(t, s, "x"), farMilliseconds)
	freed, err := goRedis(t, s.Addr()).NewLock("x", nil).ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, freed)
	require.NoError(t, <-waiter)
}

// TestLifeUntil9999 gives a number an expiry that is more than 292 years away.
func TestLifeUntil9999(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	n := goRedis(t, s.Addr()).NewAtomicLong("n")
	require.NoError(t, n.Store(t.Context(), 1))
	set, err := n.ExpireAt(t.Context(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.True(t, set)
	require.Greater(t, pttl(t, s, "n"), farMilliseconds)
	left, err := n.RemainingLife(t.Context())
	require.NoError(t, err)
	require.Equal(t, primitives.NoExpiry-1, left)
}
