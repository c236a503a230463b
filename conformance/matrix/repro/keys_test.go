package repro

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// farMilliseconds are what a Duration says of an expiry at most: 292 years.
const farMilliseconds = math.MaxInt64 / int(time.Millisecond)

// lockedForLong returns a server on which another holds the lock x for 317 years, and this lock.
func lockedForLong(t *testing.T) (*servers.Server, *primitives.Lock) {
	t.Helper()
	s := servers.Start(t, servers.Redis, nil)
	cells.Text(t, s, "HSET", "x", "5f0c2a9e-0000-4000-8000-00000000000a:1", "1")
	cells.Text(t, s, "PEXPIRE", "x", "10000000000000")
	require.Greater(t, cells.Number(t, s, "PTTL", "x"), farMilliseconds)
	return s, client(t, s.Addr()).NewLock("x", nil)
}

// TestVeryLongLease meets a lock that another took for 317 years: it is held, and no error.
func TestVeryLongLease(t *testing.T) {
	t.Parallel()
	s, lock := lockedForLong(t)
	_, err := lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	cells.Want(t, primitives.NoExpiry-1)(lock.Remaining(t.Context()))
	cells.Text(t, s, "PERSIST", "x")
	cells.Want(t, primitives.NoExpiry)(lock.Remaining(t.Context()))
}

// TestWaitForAVeryLongLease waits for such a lock until it is freed.
func TestWaitForAVeryLongLease(t *testing.T) {
	t.Parallel()
	s, lock := lockedForLong(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	waiter := make(chan error, 1)
	go func() { waiter <- cells.LockUnlock(ctx, lock) }()
	require.Eventually(t, func() bool {
		reply, err := s.Do("PUBSUB", "CHANNELS", "redisson_lock__channel:{x}")
		require.NoError(t, err)
		channels, err := reply.Items()
		return err == nil && len(channels) == 1 || len(waiter) == 1
	}, 10*time.Second, time.Millisecond)
	require.Empty(t, waiter, "it does not wait")
	require.Greater(t, cells.Number(t, s, "PTTL", "x"), farMilliseconds)
	cells.Want(t, true)(client(t, s.Addr()).NewLock("x", nil).ForceUnlock(ctx))
	require.NoError(t, <-waiter)
}

// TestLifeUntil9999 gives a number an expiry that is more than 292 years away.
func TestLifeUntil9999(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	n := client(t, s.Addr()).NewAtomicLong("n")
	require.NoError(t, n.Store(t.Context(), 1))
	cells.Want(t, true)(n.ExpireAt(t.Context(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
	require.Greater(t, cells.Number(t, s, "PTTL", "n"), farMilliseconds)
	cells.Want(t, primitives.NoExpiry-1)(n.TTL(t.Context()))
}

// TestManyNames uses many names once: each left a token key of about 150 bytes for 30 days.
func TestManyNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const names = 200
		server, c := inProcess(t, nil)
		for i := range names {
			useOnce(t, c, fmt.Sprint("order:", i))
		}
		require.EqualValues(t, names, cells.Number(t, server, "DBSIZE"))
		require.Equal(t, "3600000", cells.Text(t, server, "PTTL", "redisson_lock_token:{order:0}"))
		server.Advance(time.Hour)
		require.Equal(t, "0", cells.Text(t, server, "DBSIZE"))
	})
}

// useOnce locks and unlocks a name, and returns the token.
func useOnce(t *testing.T, c *primitives.Client, name string) int64 {
	t.Helper()
	lease := lock(t, c, name)
	require.NoError(t, lease.Release(t.Context()))
	return lease.Token()
}

// TestTokenOutlivesAClockSetBack has a token that is ahead of the server's clock, as after a step
// back: it is kept until the clock has passed it by TokenTTL. Else tokens would fall.
func TestTokenOutlivesAClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const key, back = "redisson_lock_token:{x}", 5 * time.Hour
		server, c := inProcess(t, &primitives.Options{TokenTTL: time.Minute})
		before := time.Now().Add(back).UnixMicro()
		cells.Text(t, server, "SET", key, fmt.Sprint(before))
		require.Equal(t, before+1, useOnce(t, c, "x"))
		left := cells.Number(t, server, "PTTL", key)
		require.InDelta(t, (back + time.Minute).Milliseconds(), left, 1)
		server.Advance(back + time.Minute - time.Millisecond)
		require.Greater(t, useOnce(t, c, "x"), before+1)
	})
}

// TestTokenIsOneMoreThanAnyLastToken has last tokens that the clock has not passed, which may have more digits than a
// double.
func TestTokenIsOneMoreThanAnyLastToken(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	lock := c.NewFencedLock("x", nil) // Its tokens do not expire.
	for _, last := range []int64{
		8000000000000000, 8999999999999999, 9999999999999999, 99999999999999999, 9007199254740993, 1234567890123456789,
		1999999999999999999, 9223372036854775806,
	} {
		cells.Text(t, server, "SET", "redisson_lock_token:{x}", fmt.Sprint(last))
		lease, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.Equal(t, last+1, lease.Token())
		require.NoError(t, lease.Release(t.Context()))
		cells.Want(t, last+1)(lock.LastToken(t.Context()))
	}
}

// TestCountDownAtZero counts down a latch that was set to 0, as Redisson's trySetCount may, or to
// less: it is open, and gone then.
func TestCountDownAtZero(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	for _, count := range []string{"0", "-1", "-9223372036854775808"} {
		cells.Text(t, server, "SET", "latch", count)
		cells.Want(t, int64(0))(c.NewCountDownLatch("latch").CountDown(t.Context()))
		require.Equal(t, "none", cells.Text(t, server, "TYPE", "latch"))
	}
}
