package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// withoutWaiters are the kinds that nobody waits for, and the adders, whose Sum has tests of its own.
var withoutWaiters = []string{"AtomicLong", "AtomicDouble", "IDGenerator", "LongAdder", "DoubleAdder"}

// await waits for an object of a kind, or takes it and returns, or keeps it until ctx ends.
func await(ctx context.Context, t *testing.T, c *primitives.Client, kind string) error {
	t.Helper()
	object, _ := construct(t, c, kind, "")
	switch o := object.(type) {
	case *primitives.ReadWriteLock:
		return errOf(o.WriteLock().Lock(ctx))
	case interface {
		Lock(ctx context.Context) (*primitives.Lease, error)
	}:
		return errOf(o.Lock(ctx))
	case interface {
		Acquire(ctx context.Context) (*primitives.Lease, error)
	}:
		return errOf(o.Acquire(ctx))
	case *primitives.PermitSemaphore:
		_, _ = o.InitPermits(ctx, 2)
		return errOf(o.Acquire(ctx, 2))
	case *primitives.Semaphore:
		return o.Acquire(ctx, 1)
	case *primitives.CountDownLatch:
		_, _ = o.InitCount(ctx, 1)
		return o.Wait(ctx)
	case *primitives.PartsLatch:
		_, _ = o.Init(ctx, 1, time.Hour)
		return o.Wait(ctx)
	case interface {
		Wait(ctx context.Context, n int) error
	}:
		return o.Wait(ctx, 2)
	case *primitives.MultiThrottle:
		return o.Wait(ctx)
	case *primitives.PeriodicJob:
		return errOf(o.Do(ctx, time.Now(), func(ctx context.Context, _ primitives.JobRun) error { return ended(ctx) }))
	case *primitives.Election:
		return o.Run(ctx, func(ctx context.Context, _ *primitives.Lease) error { return ended(ctx) })
	}
	require.Contains(t, withoutWaiters, kind, "how does a caller wait for it?")
	return primitives.ErrClosed
}

// ended returns the cause of ctx's end.
func ended(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestCloseEndsWaitingInAnOutage closes the client while a waiter of each kind pauses between its tries, or has a try
// without an answer: it returns at once.
func TestCloseEndsWaitingInAnOutage(t *testing.T) {
	t.Parallel()
	for kind := range constructed(t) {
		for outage, f := range map[string]fault{"Down": down, "Silent": {before: time.Hour, err: backend.ErrUnavailable}} {
			t.Run(kind+outage, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { closeInAnOutage(t, kind, f) })
			})
		}
	}
}

func closeInAnOutage(t *testing.T, kind string, f fault) {
	t.Helper()
	s := newServer(t)
	holder, waiter := s.client(t, nil), s.client(t, nil)
	for range 9 {
		go func() { _ = await(t.Context(), t, holder, kind) }()
		synctest.Wait()
	}
	failed := beside(func() error { return await(t.Context(), t, waiter, kind) })
	synctest.Wait()
	s.faults(f)
	time.Sleep(10 * time.Second)
	go func() { _ = waiter.Close(context.Background()) }() // It repeats releases.
	if kind == "MultiLock" || kind == "RedLock" {
		time.Sleep(200 * time.Millisecond) // Their pauses between tries are shorter, and are of no one client.
	}
	synctest.Wait()
	require.Len(t, failed, 1, "it still waits")
	require.ErrorIs(t, <-failed, primitives.ErrClosed)
	s.set(func() { s.fault = nil })
	time.Sleep(10 * time.Second)
}

// TestSecondCloseDoesNotWait calls Close twice, as a defer and a signal's handler do, while a release takes 300 ms.
func TestSecondCloseDoesNotWait(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		s.faultOf("lock_release", fault{before: 300 * time.Millisecond})
		c := s.client(t, nil)
		must(c.NewLock("x", nil).Lock(t.Context()))(t)
		first := beside(func() error { return c.Close(context.Background()) })
		synctest.Wait()
		require.ErrorIs(t, c.Close(within(t, 50*time.Millisecond)), context.DeadlineExceeded)
		require.NoError(t, c.Close(context.Background()))
		require.Empty(t, s.holder("x"), "Close returned nil before what was held was released")
		require.NoError(t, <-first)
		require.Equal(t, 1, s.called("lock_release"))
	})
}
