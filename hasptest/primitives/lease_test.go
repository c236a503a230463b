package primitives_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/lease"
)

// parent is a context that knows its children, and can be slow to let them go.
type parent struct {
	context.Context
	children atomic.Int64
	slow     time.Duration
	hook     func(children int64) // called for each new child
	asked    atomic.Int64         // for a value
}

func (p *parent) Value(any) any {
	p.asked.Add(1)
	return nil
}

// AfterFunc is how package context registers children of contexts that are not its own.
func (p *parent) AfterFunc(f func()) (stop func() bool) {
	children := p.children.Add(1)
	forget := context.AfterFunc(p.Context, f)
	if p.hook != nil {
		p.hook(children)
	}
	return func() bool {
		time.Sleep(p.slow)
		p.children.Add(-1)
		return forget()
	}
}

// TestLeaseContextLeavesNothingAtItsParent, also if the lease is released within Context.
func TestLeaseContextLeavesNothingAtItsParent(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewLock("x", nil)
		service := &parent{Context: t.Context()}
		for range 10 {
			lease := must(lock.Lock(t.Context()))(t)
			work, reentry := lease.Context(service), lease.Reenter(service)
			require.Positive(t, service.children.Load())
			require.NoError(t, lease.Release(t.Context()))
			for _, ctx := range []context.Context{work, reentry, lease.Context(service)} {
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), primitives.ErrReleased)
			}
		}
		require.Zero(t, service.children.Load())
		lease := must(lock.Lock(t.Context()))(t)
		service.hook = func(children int64) {
			if children == 1 {
				require.NoError(t, lease.Release(t.Context()))
			}
		}
		<-lease.Context(service).Done()
		require.Zero(t, service.children.Load())
	})
}

// requireForgotten waits until nothing has the context.
func requireForgotten(t *testing.T, ctx weak.Pointer[parent]) {
	t.Helper()
	require.Eventually(t, func() bool {
		runtime.GC()
		return ctx.Value() == nil
	}, time.Minute, 10*time.Millisecond)
}

// listed is a context that cannot be compared, nor be the key of a map.
type listed struct {
	context.Context
	_ []int
}

func TestLeaseContextOfTheSameParentIsTheSame(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := must(s.client(t, nil).NewLock("x", nil).Lock(t.Context()))(t)
		timed := within(t, time.Minute)
		parents := []context.Context{
			context.Background(), t.Context(), timed, &listed{Context: timed}, lease.Context(timed),
		}
		seen := map[context.Context]bool{}
		for _, parent := range parents {
			first, again := lease.Context(parent), lease.Context(parent)
			require.True(t, first == again)
			seen[first] = true
		}
		require.Len(t, seen, len(parents))
		require.NotPanics(t, func() { lease.Context(listed{Context: timed}) })
		require.NoError(t, lease.Release(t.Context()))
		for ctx := range seen {
			require.ErrorIs(t, context.Cause(ctx), primitives.ErrReleased)
		}
	})
}

// TestLeaseContextKeepsNoneOfItsParents makes contexts under a parent that ends before the lease, and under parents that end
// no sooner, since they only add values to a context of the whole process.
func TestLeaseContextKeepsNoneOfItsParents(t *testing.T) {
	t.Parallel()
	client := must(primitives.New(newServer(t), nil))(t)
	lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	request := &parent{Context: ctx}
	lease.Context(request)
	cancel()
	requireForgotten(t, weak.Make(request))
	for _, process := range []context.Context{context.Background(), t.Context()} {
		first, second := lease.Context(process), &parent{Context: process}
		require.Equal(t, first.Done(), lease.Context(listed{Context: second}).Done())
		require.Equal(t, first.Done(), lease.Reenter(second).Done())
		requireForgotten(t, weak.Make(second))
		require.NoError(t, first.Err())
	}
	require.NoError(t, lease.Release(t.Context()))
}

// TestLeaseContextIsAChildOfItsOwnParent makes contexts under parents that end together.
func TestLeaseContextIsAChildOfItsOwnParent(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := must(s.client(t, nil).NewLock("x", nil).Lock(t.Context()))(t)
		type number struct{}
		cause := errors.New("enough")
		process, cancel := context.WithCancelCause(t.Context())
		timed, stop := context.WithTimeout(process, time.Minute)
		defer stop()
		for _, parent := range []context.Context{context.Background(), process, timed} {
			for i := range 3 {
				ctx := lease.Context(context.WithValue(parent, number{}, i))
				require.Equal(t, i, ctx.Value(number{}))
				require.Equal(t, i, context.WithoutCancel(ctx).Value(number{}))
				want, _ := parent.Deadline()
				deadline, _ := ctx.Deadline()
				require.Equal(t, want, deadline)
			}
		}
		work, finish := context.WithCancel(lease.Context(timed))
		defer finish()
		other, finish := context.WithCancel(lease.Context(context.WithValue(timed, number{}, 1)))
		defer finish()
		cancel(cause)
		for _, ctx := range []context.Context{work, other, lease.Context(timed)} {
			require.ErrorIs(t, ctx.Err(), context.Canceled) // At once: no goroutine stands between.
			require.ErrorIs(t, context.Cause(ctx), cause)
		}
		require.NoError(t, lease.Context(t.Context()).Err())
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestLeaseReenterDeeply re-enters at each step of a recursion. A value is looked up once.
func TestLeaseReenterDeeply(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lease := must(s.client(t, nil).NewLock("x", nil).Lock(t.Context()))(t)
		base := &parent{Context: t.Context()}
		ctx := context.Context(base)
		for range 20 {
			ctx = lease.Reenter(ctx)
		}
		base.asked.Store(0)
		require.Nil(t, ctx.Value(base))
		require.EqualValues(t, 1, base.asked.Load())
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, context.Cause(ctx), primitives.ErrReleased)
	})
}

func TestLeaseCopyIsTheSameLease(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewLock("x", nil)
		lease := must(lock.Lock(t.Context()))(t)
		inner := must(lock.Lock(lease.Reenter(t.Context())))(t)
		for _, lease := range []*primitives.Lease{inner, lease} {
			require.NotEmpty(t, s.holder("x"))
			other := new(primitives.Lease)
			reflect.ValueOf(other).Elem().Set(reflect.ValueOf(lease).Elem()) // Vet sees the plain way.
			work := lease.Context(t.Context())
			require.Equal(t, lease.Owner(), other.Owner())
			require.NoError(t, other.Release(t.Context()))
			require.ErrorIs(t, lease.Err(), primitives.ErrReleased)
			require.ErrorIs(t, context.Cause(work), primitives.ErrReleased)
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrNotHeld)
		}
		require.Empty(t, s.holder("x"))
		renewals := s.called("lock_renew")
		time.Sleep(time.Hour)
		require.Equal(t, renewals, s.called("lock_renew"))
	})
}

// TestLeaseLossIsSeenBeforeItIsTold looks at leases and contexts while the goroutine that found the
// loss is held up while it reports it. It looks at two locks: one of them is not reported at all then, as after a
// pause of the process.
func TestLeaseLossIsSeenBeforeItIsTold(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		client, short := s.client(t, nil), &primitives.LockOptions{Lease: time.Second}
		lock := client.NewLock("x", short)
		other := must(client.NewLock("y", short).Lock(t.Context()))(t)
		outer := must(lock.Lock(t.Context()))(t)
		reentry := context.WithoutCancel(outer.Reenter(t.Context()))
		first := must(lock.Lock(reentry))(t)
		second := must(lock.Lock(reentry))(t)
		outer.Context(&parent{Context: t.Context(), slow: time.Minute})
		other.Context(&parent{Context: t.Context(), slow: time.Minute})
		work, otherWork := first.Context(t.Context()), other.Context(t.Context())
		time.Sleep(901 * time.Millisecond)
		require.ErrorIs(t, otherWork.Err(), context.Canceled)
		require.ErrorIs(t, work.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
		require.ErrorIs(t, first.Err(), primitives.ErrLost)
		require.Zero(t, first.Remaining())
		require.ErrorIs(t, second.Release(t.Context()), primitives.ErrLost)
		require.ErrorIs(t, errOf(lock.Lock(reentry)), primitives.ErrLost)
	})
}

// TestLeaseLength counts a lease in whole milliseconds, as the server does, less the clock drift.
func TestLeaseLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lease, drift, want time.Duration }{
		{100900 * time.Microsecond, 0, 90 * time.Millisecond},
		{time.Second, 400 * time.Millisecond, 600 * time.Millisecond},
		{24 * time.Hour, 0, 21*time.Hour + 36*time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			fixed := &primitives.LockOptions{Lease: c.lease}
			opts := &primitives.Options{ClockDrift: c.drift}
			lease := must(newServer(t).client(t, opts).NewLock("x", fixed).Lock(t.Context()))(t)
			require.Equal(t, c.want, lease.Remaining())
			opts.WatchdogLease = c.lease
			lease = must(newServer(t).client(t, opts).NewLock("x", nil).Lock(t.Context()))(t)
			require.Equal(t, c.want, lease.Remaining())
		})
	}
}

// TestLeaseFrom finds the innermost lease of a context, and inside of Do that of Do.
func TestLeaseFrom(t *testing.T) {
	served(t, func(t *testing.T, _ *server, client *primitives.Client) {
		require.Nil(t, lease.From(t.Context()))
		outer := must(client.NewLock("x", nil).Lock(t.Context()))(t)
		outside, cancel := context.WithCancel(outer.Reenter(t.Context()))
		defer cancel()
		require.Equal(t, outer.Token(), lease.From(outside).Token())
		err := client.NewLock("y", nil).Do(outside, func(ctx context.Context, inner *primitives.Lease) error {
			require.Equal(t, inner.Owner(), lease.From(ctx).Owner())
			require.NotEqual(t, outer.Owner(), inner.Owner())
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, lease.From(outside).Release(t.Context()))
		require.ErrorIs(t, outer.Err(), primitives.ErrReleased)
		require.ErrorIs(t, lease.From(outside).Err(), primitives.ErrReleased, "a lease that has ended")
	})
}
