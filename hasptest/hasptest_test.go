package hasptest_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// recorded is a test that keeps what fails it, and goes on.
type recorded struct {
	testing.TB
	failures []string
}

func (r *recorded) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestLoseWhatNobodyHolds(t *testing.T) {
	t.Parallel()
	test := &recorded{TB: t}
	s := hasptest.New(test)
	s.Lose("orders:42")
	require.Equal(t, []string{`hasptest: lose "orders:42": nobody holds it`}, test.failures)
	client := s.Client(&primitives.Options{KeyPrefix: "app:"})
	require.NoError(t, errOf(client.NewLock("orders:42", nil).Lock(t.Context())))
	s.Lose("app:orders:42")
	require.Len(t, test.failures, 1)
}

// TestLostLockIsFree shows what the doc of Lose says of others: one who asks gets the lock at once, one
// who waits by its next poll.
func TestLostLockIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		first := must(s.Client(nil).NewLock("x", nil).Lock(t.Context()))(t)
		s.Lose("x")
		second := must(s.Client(nil).NewLock("x", nil).TryLock(t.Context()))(t)
		require.NoError(t, first.Err(), "the holder does not know yet")
		lock := s.Client(nil).NewLock("x", nil)
		waited := make(chan time.Duration)
		go func() {
			start := time.Now()
			require.NoError(t, errOf(lock.Lock(t.Context())))
			waited <- time.Since(start)
		}()
		synctest.Wait()
		s.Lose("x")
		require.LessOrEqual(t, <-waited, 5500*time.Millisecond)
		require.ErrorIs(t, second.Release(t.Context()), primitives.ErrNotHeld)
	})
}

// TestCleanup ends a test in an outage, with a lock held: the lock is free after.
func TestCleanup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		inner := &cleanups{TB: t}
		s := hasptest.New(inner)
		lease := must(s.Client(nil).NewLock("x", nil).Lock(t.Context()))(t)
		s.Away(time.Hour)
		inner.run()
		require.ErrorIs(t, lease.Err(), primitives.ErrClosed)
		exists := must(s.Embedded().Do("EXISTS", "x"))(t)
		require.Zero(t, must(exists.Int())(t), "the lock was released")
		require.Zero(t, time.Since(start), "without waiting")
	})
}

// cleanups is a test whose cleanup is run by hand.
type cleanups struct {
	testing.TB
	list []func()
}

func (c *cleanups) Cleanup(f func()) { c.list = append(c.list, f) }

func (c *cleanups) run() {
	for i := range c.list {
		c.list[len(c.list)-1-i]()
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	require.Panics(t, func() { s.FailAcquires(0) })
	require.Panics(t, func() { s.LoseAnswers(-1) })
	require.Panics(t, func() { s.Away(0) })
}

// TestWaiterBehindACrashedWaiter has a caller pass a crashed waiter of a full semaphore. The waiter behind, which does
// not poll, hears of it: it enters when the crashed holder's lease ends.
func TestWaiterBehindACrashedWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		start := time.Now()
		byArrival := func() *primitives.CountingSemaphore {
			client := s.Client(&primitives.Options{PollInterval: 100 * time.Hour})
			return client.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{
				Order: primitives.ByArrival, Lease: time.Minute, WaiterTimeout: 1000 * time.Hour,
			})
		}
		at := func(after time.Duration) string { return strconv.FormatInt(start.Add(after).UnixMilli(), 10) }
		for _, command := range [][]string{
			{"ZADD", "x", at(time.Minute), "holder", "-" + at(5*time.Second), "waiter"}, {"ZADD", "{x}:owner", "1", "waiter"},
		} {
			require.NoError(t, errOf(s.Embedded().Do(command...)))
		}
		entered := make(chan error)
		go func() {
			_, err := byArrival().Acquire(t.Context())
			entered <- err
		}()
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, errOf(byArrival().TryAcquire(t.Context())), primitives.ErrNotAcquired)
		require.NoError(t, <-entered)
		require.InDelta(t, time.Minute, time.Since(start), float64(100*time.Millisecond))
	})
}
