package primitives_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// parent is a context that knows its children, and can be slow to let them go.
type parent struct {
	context.Context
	children atomic.Int64
	slow     time.Duration
}

func (p *parent) Value(any) any { return nil }

// AfterFunc is how package context registers children of contexts that are not its own.
func (p *parent) AfterFunc(f func()) (stop func() bool) {
	p.children.Add(1)
	forget := context.AfterFunc(p.Context, f)
	return func() bool {
		time.Sleep(p.slow)
		p.children.Add(-1)
		return forget()
	}
}

func TestLeaseContextLeavesNothingAtItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := newFakeServer().client(t, nil).NewLock("x", nil)
		service := &parent{Context: t.Context()}
		for range 10 {
			lease, err := lock.Lock(t.Context())
			require.NoError(t, err)
			work, reentry := lease.Context(service), lease.Reenter(service)
			require.Positive(t, service.children.Load())
			require.NoError(t, lease.Unlock(t.Context()))
			require.ErrorIs(t, context.Cause(work), primitives.ErrReleased)
			require.ErrorIs(t, context.Cause(reentry), primitives.ErrReleased)
			require.ErrorIs(t, context.Cause(lease.Context(service)), primitives.ErrReleased)
		}
		require.Zero(t, service.children.Load())
	})
}

func TestLeaseContextEndsWithItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lease, err := newFakeServer().client(t, nil).NewLock("x", nil).Lock(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		work := lease.Context(ctx)
		cancel()
		require.ErrorIs(t, work.Err(), context.Canceled)
		require.NotErrorIs(t, context.Cause(work), primitives.ErrReleased)
		synctest.Wait()
		require.NoError(t, lease.Err())
		require.ErrorIs(t, lease.Context(ctx).Err(), context.Canceled)
		require.NoError(t, lease.Unlock(t.Context()))
	})
}

// TestLeaseLossIsSeenBeforeItIsTold looks at leases and contexts while the goroutine that found the
// loss is held up in telling of it.
func TestLeaseLossIsSeenBeforeItIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := newFakeServer().client(t, nil).NewLock(
			"x", &primitives.LockOptions{Lease: time.Second})
		outer, err := lock.Lock(t.Context())
		require.NoError(t, err)
		reentry := context.WithoutCancel(outer.Reenter(t.Context()))
		first, err := lock.Lock(reentry)
		require.NoError(t, err)
		second, err := lock.Lock(reentry)
		require.NoError(t, err)
		outer.Context(&parent{Context: t.Context(), slow: time.Minute})
		work := first.Context(t.Context())
		time.Sleep(901 * time.Millisecond)
		require.ErrorIs(t, work.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
		require.ErrorIs(t, first.Err(), primitives.ErrLost)
		require.Zero(t, first.Remaining())
		require.ErrorIs(t, second.Unlock(t.Context()), primitives.ErrLost)
		_, err = lock.Lock(reentry)
		require.ErrorIs(t, err, primitives.ErrLost)
	})
}

func TestUnlockAfterCloseTellsWhatEndedTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newFakeServer().client(t, nil)
		fixed := &primitives.LockOptions{Lease: time.Second}
		lost, err := client.NewLock("lost", fixed).Lock(t.Context())
		require.NoError(t, err)
		released, err := client.NewLock("released", nil).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, released.Unlock(t.Context()))
		held, err := client.NewLock("held", nil).Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.NoError(t, client.Close(t.Context()))
		for lease, end := range map[*primitives.Lease]error{
			lost: primitives.ErrLost, released: primitives.ErrReleased, held: primitives.ErrClosed,
		} {
			err := lease.Unlock(t.Context())
			require.ErrorIs(t, err, primitives.ErrNotHeld)
			require.ErrorIs(t, err, end)
			require.ErrorIs(t, lease.Err(), end)
		}
	})
}
