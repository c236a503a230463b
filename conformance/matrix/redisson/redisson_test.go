package redisson

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// done is what a call of ours says that has gone well.
const done = "<nil>"

func TestLock(t *testing.T) {
	ours, java := pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stay := ours.NewCountDownLatch("stay")
	_, err := stay.TrySetCount(ctx, 1)
	require.NoError(t, err)
	section := java.begin("lock.section", "x", "stay")
	require.Eventually(t, func() bool {
		locked, err := ours.NewLock("x", nil).IsLocked(ctx)
		return err == nil && locked
	}, patience, 10*time.Millisecond)
	var lease *primitives.Lease
	mine := begin(func() (err error) { lease, err = ours.NewLock("x", nil).Lock(ctx); return err })
	java.waits(mine)
	_, err = stay.CountDown(ctx)
	require.NoError(t, err)
	java.await(section, "left")
	java.await(mine, done)
	java.does("false", "lock.tryLock", "x")
	section = java.begin("lock.section", "x", "stay")
	java.waits(section)
	require.NoError(t, lease.Unlock(ctx))
	java.await(section, "left")
}

func TestSemaphore(t *testing.T) {
	ours, java := pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"x", "a{x}b"} {
		s := ours.NewSemaphore(name, nil)
		acquire := func() chan string { return begin(func() error { return s.Acquire(ctx, 2) }) }
		java.does("true", "semaphore.trySetPermits", name, 5)
		require.NoError(t, s.Acquire(ctx, 3))
		java.does("2", "semaphore.availablePermits", name)

		theirs := java.begin("semaphore.acquire", name, 3)
		java.waits(theirs)
		require.NoError(t, s.Release(ctx, 1))
		java.await(theirs, "acquired")
		theirs = java.begin("semaphore.acquire", name, 2)
		java.waits(theirs)
		require.NoError(t, s.AddPermits(ctx, 2))
		java.await(theirs, "acquired")

		for method, answer := range map[string]string{
			"semaphore.release": "released", "semaphore.addPermits": "added",
		} {
			mine := acquire()
			java.waits(mine)
			java.does(answer, method, name, 2)
			java.await(mine, done)
		}

		require.NoError(t, s.AddPermits(ctx, -3))
		java.does("-3", "semaphore.availablePermits", name)
		java.does("added", "semaphore.addPermits", name, 10)
		drained, err := s.DrainPermits(ctx)
		require.NoError(t, err)
		require.Equal(t, 7, drained)
		java.does("0", "semaphore.drainPermits", name)
	}
}

func TestCountDownLatch(t *testing.T) {
	ours, java := pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"x", "a{x}b"} {
		latch := ours.NewCountDownLatch(name)
		for _, last := range []func(){
			func() {
				count, err := latch.CountDown(ctx)
				require.NoError(t, err)
				require.Zero(t, count)
			},
			func() { java.does("counted", "latch.countDown", name) },
			func() {
				deleted, err := latch.Delete(ctx)
				require.NoError(t, err)
				require.True(t, deleted)
			},
		} {
			java.does("true", "latch.trySetCount", name, 2)
			theirs := java.begin("latch.await", name)
			mine := begin(func() error { return latch.Wait(ctx) })
			java.waits(theirs)
			java.waits(mine)
			_, err := latch.CountDown(ctx)
			require.NoError(t, err)
			java.does("1", "latch.getCount", name)
			last()
			java.await(theirs, "open")
			java.await(mine, done)
		}
	}
}

// TestCountDownLatchDeletedByJava wakes us, though Redisson publishes a new count then, on which
// its own waiters sleep.
func TestCountDownLatchDeletedByJava(t *testing.T) {
	ours, java := pair(t)
	java.does("true", "latch.trySetCount", "x", 2)
	mine := begin(func() error { return ours.NewCountDownLatch("x").Wait(t.Context()) })
	java.waits(mine)
	java.does("true", "latch.delete", "x")
	java.await(mine, done)
}

func TestAtomicLong(t *testing.T) {
	ours, java := pair(t)
	long, ctx := ours.NewAtomicLong("x"), t.Context()
	java.does("0", "long.get", "x")
	require.NoError(t, long.Store(ctx, math.MaxInt64-1))
	java.does("9223372036854775807", "long.addAndGet", "x", 1)
	swapped, err := long.CompareAndSwap(ctx, math.MaxInt64, math.MinInt64)
	require.NoError(t, err)
	require.True(t, swapped)
	java.does("-9223372036854775808", "long.getAndSet", "x", 5)
	java.does("true", "long.expire", "x", 3_600_000)
	sum, err := long.Add(ctx, 2)
	require.NoError(t, err)
	require.EqualValues(t, 7, sum)
	life, err := long.RemainingLife(ctx)
	require.NoError(t, err)
	require.Greater(t, life, time.Minute)
	old, err := long.Swap(ctx, 8)
	require.NoError(t, err)
	require.EqualValues(t, 7, old)
	java.does("-1", "long.remainTimeToLive", "x")
	java.does("8", "long.getAndDelete", "x")
	java.does("true", "long.compareAndSet", "x", 0, 4)
	old, err = long.LoadAndDelete(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, old)
}

func TestAtomicDouble(t *testing.T) {
	ours, java := pair(t)
	double, ctx := ours.NewAtomicDouble("x"), t.Context()
	for text, value := range map[string]float64{
		"0.1": 0.1, "-4.398046511104125E12": -4398046511104.125, "1.0E300": 1e300, "-1.0E-7": -1e-7,
		"4.9E-324": 5e-324, "1.0E16": 1e16,
	} {
		require.NoError(t, double.Store(ctx, value))
		java.does(text, "double.get", "x")
		java.does("set", "double.set", "x", text)
		swapped, err := double.CompareAndSwap(ctx, value, 0.1)
		require.NoError(t, err)
		require.True(t, swapped)
		java.does("0.3", "double.addAndGet", "x", 0.2)
		sum, err := double.Load(ctx)
		require.NoError(t, err)
		require.InDelta(t, 0.3, sum, 0)
	}
}
