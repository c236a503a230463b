// Package miniredis tests all primitives on a plain miniredis, by go-redis, as an application's own tests would. It is a
// module of a stranger's, too, with the oldest versions of both ("make test-oldest").
package miniredis

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

// patience is far longer than anything takes.
const patience = 30 * time.Second

// start starts a miniredis, and returns it with two clients, like two processes. All end with the test.
func start(t *testing.T) (m *miniredis.Miniredis, a, b *primitives.Client) {
	t.Helper()
	t.Parallel()
	m = miniredis.RunT(t)
	var clients [2]*primitives.Client
	for i := range clients {
		conn := redis.NewClient(&redis.Options{Addr: m.Addr()})
		client, err := goredisbackend.NewClient(conn, nil)
		require.NoError(t, err)
		clients[i] = client
		t.Cleanup(func() {
			require.NoError(t, client.Close(context.Background()))
			require.NoError(t, conn.Close())
		})
	}
	return m, clients[0], clients[1]
}

// begin runs what waits in a goroutine, and returns what it returns in the end.
func begin(wait func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	return done
}

// ended returns the error of what was begun.
func ended(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		require.FailNow(t, "it still waits")
		return nil
	}
}

// awaitSubscriber waits until a client hears the messages of a channel.
func awaitSubscriber(t *testing.T, m *miniredis.Miniredis, channel string) {
	t.Helper()
	require.Eventually(t, func() bool { return m.PubSubNumSub(channel)[channel] > 0 }, patience, time.Millisecond)
}

func TestLock(t *testing.T) {
	m, a, b := start(t)
	lease, err := a.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, m.TTL("x"))
	other := b.NewLock("x", nil)
	_, err = other.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	inner, err := a.NewLock("x", nil).Lock(lease.Reenter(t.Context()))
	require.NoError(t, err)
	require.Equal(t, lease.Token(), inner.Token())
	require.NoError(t, inner.Release(t.Context()))
	require.True(t, m.Exists("x"))
	waiter := begin(func() error {
		return other.Do(t.Context(), func(context.Context, *primitives.Lease) error { return nil })
	})
	awaitSubscriber(t, m, "redisson_lock__channel:{x}")
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, ended(t, waiter))
	require.False(t, m.Exists("x"))
}

// TestLeaseEnds: keys expire when the test says so. The holder counts its lease by its own clock.
func TestLeaseEnds(t *testing.T) {
	m, a, b := start(t)
	lease, err := a.NewLock("x", &primitives.LockOptions{Lease: time.Minute}).Lock(t.Context())
	require.NoError(t, err)
	m.FastForward(time.Minute)
	next, err := b.NewLock("x", nil).TryLock(t.Context())
	require.NoError(t, err)
	require.Greater(t, next.Token(), lease.Token())
	require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrNotHeld)
	freed, err := a.NewLock("x", nil).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, freed)
	require.ErrorIs(t, next.Release(t.Context()), primitives.ErrNotHeld)
}

// TestWatchdog: a lease of a second is renewed.
func TestWatchdog(t *testing.T) {
	m, _, _ := start(t)
	conn := redis.NewClient(&redis.Options{Addr: m.Addr()})
	client, err := goredisbackend.NewClient(conn, &primitives.Options{WatchdogLease: time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(t.Context())); require.NoError(t, conn.Close()) }()
	lease, err := client.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	m.FastForward(500 * time.Millisecond)
	require.Eventually(t, func() bool { return m.TTL("x") == time.Second }, patience, time.Millisecond)
	require.NoError(t, lease.Release(t.Context()))
}

func TestMutex(t *testing.T) {
	m, a, b := start(t)
	lease, err := a.NewMutex("x", nil).Lock(t.Context())
	require.NoError(t, err)
	waiter := begin(func() error {
		next, err := b.NewMutex("x", nil).Lock(t.Context())
		require.NoError(t, err)
		return next.Release(t.Context())
	})
	require.Eventually(t, func() bool { return m.Exists("hasp_mutex:{x}:queue") }, patience, time.Millisecond)
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, ended(t, waiter))
}

func TestFairLockServesInOrder(t *testing.T) {
	m, a, b := start(t)
	lease, err := a.NewFairLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	order := make(chan int, 3)
	for i := range cap(order) {
		go func() {
			_ = b.NewFairLock("x", nil).Do(t.Context(), func(context.Context, *primitives.Lease) error {
				order <- i
				return nil
			})
		}()
		require.Eventually(t, func() bool {
			queue, _ := m.List("redisson_lock_queue:{x}")
			return len(queue) == i+1
		}, patience, time.Millisecond)
	}
	require.NoError(t, lease.Release(t.Context()))
	for i := range cap(order) {
		require.Equal(t, i, <-order)
	}
}

func TestReadWriteLock(t *testing.T) {
	_, a, b := start(t)
	one, two := a.NewReadWriteLock("x", nil), b.NewReadWriteLock("x", nil)
	reader, err := one.ReadLock().Lock(t.Context())
	require.NoError(t, err)
	another, err := two.ReadLock().TryLock(t.Context())
	require.NoError(t, err)
	_, err = two.WriteLock().TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	_, err = one.WriteLock().Lock(reader.Reenter(t.Context()))
	require.ErrorIs(t, err, primitives.ErrUpgrade)
	require.NoError(t, reader.Release(t.Context()))
	require.NoError(t, another.Release(t.Context()))
	writer, err := one.WriteLock().Lock(t.Context())
	require.NoError(t, err)
	reader, err = one.ReadLock().Lock(writer.Reenter(t.Context()))
	require.NoError(t, err)
	require.NoError(t, writer.Release(t.Context()))
	another, err = two.ReadLock().TryLock(t.Context())
	require.NoError(t, err, "the writer has become a reader")
	require.NoError(t, reader.Release(t.Context()))
	require.NoError(t, another.Release(t.Context()))
}

func TestLocksTogether(t *testing.T) {
	_, a, b := start(t)
	lease, err := primitives.NewMultiLock(a.NewLock("x", nil), a.NewLock("y", nil)).Lock(t.Context())
	require.NoError(t, err)
	_, err = b.NewLock("y", nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.NoError(t, lease.Release(t.Context()))
}

func TestSemaphores(t *testing.T) {
	m, a, b := start(t)
	s, other := a.NewSemaphore("x", nil), b.NewSemaphore("x", nil)
	set, err := s.InitPermits(t.Context(), 5)
	require.NoError(t, err)
	require.True(t, set)
	require.NoError(t, s.Acquire(t.Context(), 3))
	require.ErrorIs(t, other.TryAcquire(t.Context(), 3), primitives.ErrNotAcquired)
	waiter := begin(func() error { return other.Acquire(t.Context(), 4) })
	awaitSubscriber(t, m, "redisson_sc:{x}")
	require.NoError(t, s.Release(t.Context(), 3))
	require.NoError(t, ended(t, waiter))
	m.CheckGet(t, "x", "1")

	permits := a.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 2})
	lease, err := permits.TryAcquire(t.Context(), 2)
	require.NoError(t, err)
	free, err := permits.AvailablePermits(t.Context())
	require.NoError(t, err)
	require.Zero(t, free)
	require.NoError(t, lease.Release(t.Context()))
}

func TestCountingSemaphore(t *testing.T) {
	_, a, b := start(t)
	for name, order := range map[string]primitives.CountingOrder{"x": primitives.ByTime, "y": primitives.ByArrival} {
		o := &primitives.CountingSemaphoreOptions{Order: order}
		one, err := a.NewCountingSemaphore(name, 2, o).TryAcquire(t.Context())
		require.NoError(t, err)
		two, err := b.NewCountingSemaphore(name, 2, o).TryAcquire(t.Context())
		require.NoError(t, err)
		_, err = b.NewCountingSemaphore(name, 2, o).TryAcquire(t.Context())
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		holders, err := a.NewCountingSemaphore(name, 2, o).Holders(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, holders)
		require.NoError(t, a.NewCountingSemaphore(name, 2, o).Refresh(t.Context(), one))
		require.NoError(t, one.Release(t.Context()))
		require.NoError(t, two.Release(t.Context()))
	}
}

func TestLimits(t *testing.T) {
	_, a, b := start(t)
	limit := primitives.Limit{Permits: 2, Interval: time.Hour}
	o := &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}
	for i, client := range []*primitives.Client{a, b, a} {
		d, err := client.NewThrottle("x", limit, o).Allow(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, i < 2, d.Allowed)
	}
	state, err := a.NewThrottle("x", limit, o).State(t.Context())
	require.NoError(t, err)
	require.Zero(t, state.Remaining)
	for i, client := range []*primitives.Client{a, b} {
		d, err := client.NewRateLimiter("y", primitives.Rate{Permits: 1, Interval: time.Hour},
			&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}).Allow(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, i < 1, d.Allowed)
	}
}

func TestLatchAndNumbers(t *testing.T) {
	m, a, b := start(t)
	latch := a.NewCountDownLatch("x")
	set, err := latch.InitCount(t.Context(), 2)
	require.NoError(t, err)
	require.True(t, set)
	waiter := begin(func() error { return b.NewCountDownLatch("x").Wait(t.Context()) })
	awaitSubscriber(t, m, "redisson_countdownlatch__channel__{x}")
	for left := range int64(2) {
		got, err := latch.CountDown(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1-left, got)
	}
	require.NoError(t, ended(t, waiter))

	n := a.NewAtomicLong("n")
	require.NoError(t, n.Store(t.Context(), 1<<60))
	got, err := n.Increment(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1<<60+1), got)
	swapped, err := n.CompareAndSwap(t.Context(), 1<<60, 1)
	require.NoError(t, err)
	require.False(t, swapped)
	first, err := a.NewIDGenerator("ids").Next(t.Context())
	require.NoError(t, err)
	second, err := b.NewIDGenerator("ids").Next(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, second)
}

func TestAdders(t *testing.T) {
	_, a, b := start(t)
	one, err := a.OpenLongAdder(t.Context(), "x")
	require.NoError(t, err)
	two, err := b.OpenLongAdder(t.Context(), "x")
	require.NoError(t, err)
	one.Add(1)
	two.Add(2)
	sum, err := one.Sum(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), sum)
}

func TestPeriodicJobAndElection(t *testing.T) {
	_, a, b := start(t)
	now, ran := time.Now(), 0
	for _, client := range []*primitives.Client{a, b} {
		_, err := client.NewPeriodicJob("x", time.Hour, nil).Do(t.Context(), now, func(context.Context, primitives.JobRun) error {
			ran++
			return nil
		})
		require.NoError(t, err)
	}
	require.Equal(t, 1, ran)
	leads := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	election := begin(func() error {
		return a.NewElection("y", nil).Run(ctx, func(context.Context, *primitives.Lease) error {
			_, err := b.NewElection("y", nil).Leader(t.Context())
			leads <- err
			stop()
			return nil
		})
	})
	require.NoError(t, ended(t, leads))
	require.NoError(t, ended(t, election))
}
