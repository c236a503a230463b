package primitives_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestGiveBackEndsWithAnAnswer closes a client after an acquire that left something to give back:
// once the server has answered, or never will, there is nothing to wait for.
func TestGiveBackEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	wrong := &backend.ServerError{Code: "WRONGTYPE"}
	for name, c := range map[string]struct{ acquire, release error }{
		"OtherKind":     {wrong, wrong},
		"ScriptError":   {&backend.ServerError{Code: "ERR"}, nil},
		"BadReply":      {backend.ErrReply, nil},
		"BackendClosed": {backend.Indeterminate(errors.New("EOF")), backend.ErrClosed},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			client, err := primitives.New(s, nil)
			require.NoError(t, err)
			s.fault = func(script string) fault {
				if script == "lock_acquire" {
					return fault{err: c.acquire}
				}
				return fault{err: c.release}
			}
			require.ErrorIs(t, errOf(client.NewLock("x", nil).Lock(t.Context())), c.acquire)
			start := time.Now()
			err = client.Close(t.Context())
			require.Equal(t, errors.Is(c.release, backend.ErrClosed), errors.Is(err, backend.ErrClosed), "%v", err)
			require.Less(t, time.Since(start), 10*time.Millisecond)
			require.Equal(t, 1, s.called("lock_release"))
		})
	}
}

// TestCloseGivesBackAtOnce closes a client when its server can be reached again after a long outage: what it
// could not give back meanwhile is given back now, and not after a pause that has grown with the outage.
func TestCloseGivesBackAtOnce(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		lease := must(client.NewLock("x", &primitives.LockOptions{Lease: 24 * time.Hour}).Lock(t.Context()))(t)
		s.faults(down)
		require.Error(t, lease.Release(t.Context()))
		time.Sleep(2*time.Hour + time.Second)
		s.faults(fault{})
		require.Equal(t, lease.Owner(), s.holder("x"))
		start := time.Now()
		require.NoError(t, client.Close(t.Context()))
		require.Less(t, time.Since(start), time.Second)
		require.Empty(t, s.holder("x"))
	})
}

// TestManyLeaveByFewScripts closes a client with 300 waiters, which leave by hundreds.
func TestManyLeaveByFewScripts(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		require.NoError(t, errOf(s.client(t, nil).NewFairLock("x", nil).Lock(t.Context())))
		client, releases := s.client(t, nil), 0
		lock := client.NewFairLock("x", nil)
		for range 300 {
			go func() { _, _ = lock.Lock(t.Context()) }()
		}
		synctest.Wait()
		require.Len(t, s.waiting(), 300)
		s.set(func() {
			s.fault = func(script string) fault {
				if strings.HasPrefix(script, "fair_release") {
					releases++
				}
				return fault{}
			}
		})
		require.NoError(t, client.Close(t.Context()))
		require.Empty(t, s.waiting())
		require.LessOrEqual(t, releases, 4)
	})
}

// TestCloseLooksForALateGrant closes a client whose last acquire arrives late: after a release that finds
// nothing, but before the answer to that.
func TestCloseLooksForALateGrant(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		start := time.Now()
		s.fault = func(script string) fault {
			age := time.Since(start)
			switch {
			case script == "lock_acquire":
				return fault{before: 900 * time.Millisecond, early: true}
			case age > 400*time.Millisecond && age < 900*time.Millisecond:
				return fault{after: 700 * time.Millisecond}
			}
			return fault{}
		}
		require.ErrorIs(t, errOf(client.NewLock("x", nil).Lock(t.Context())), backend.ErrIndeterminate)
		require.NoError(t, client.Close(t.Context()))
		require.NotEmpty(t, s.do("GET", "redisson_lock_token:{x}"), "granted")
		require.Empty(t, s.holder("x"))
	})
}

// TestGiveBackBehindOneEndpoint gives back what was acquired on a cluster that the backend takes for one server:
// one joint release of locks in several slots is refused, and those of each slot go together from then on.
func TestGiveBackBehindOneEndpoint(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		var crossed bool
		var refused int
		s.seen = func(_ string, keys, _ []string) {
			if crossed = backend.SameSlot(keys) != nil; crossed {
				refused++
			}
		}
		s.fault = func(script string) fault {
			switch {
			case script == "lock_acquire":
				return fault{broken: true}
			case crossed:
				return fault{err: backend.ParseServerError("CROSSSLOT Keys in request don't hash to the same slot")}
			}
			return fault{}
		}
		for range 2 {
			for _, name := range []string{"{a}1", "{a}2", "{b}1", "{b}2"} {
				require.ErrorIs(t, errOf(client.NewLock(name, nil).Lock(t.Context())), backend.ErrIndeterminate)
			}
			time.Sleep(10 * time.Millisecond)
			for _, name := range []string{"{a}1", "{a}2", "{b}1", "{b}2"} {
				require.Empty(t, s.holder(name))
			}
			require.Equal(t, 1, refused)
		}
		require.Equal(t, 4, s.called("lock_release_all")-refused)
		require.Zero(t, s.called("lock_release"))
	})
}

// TestReleasesPerCancelledAcquire cancels acquires of a lock that somebody else holds: each was refused, so there is
// nothing to release, and nothing to search. Scripts run in time, and answer 20 ms later, when the caller has left.
func TestReleasesPerCancelledAcquire(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, time.Hour, 24 * time.Hour} {
		subtest(t, lease.String(), func(t *testing.T, s *server) {
			s.fault = func(string) fault { return fault{after: 20 * time.Millisecond} }
			c := s.client(t, nil)
			holder := must(c.NewLock("x", &primitives.LockOptions{Lease: 48 * time.Hour}).Lock(t.Context()))(t)
			const calls = 100
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				_, err := c.NewLock("x", &primitives.LockOptions{Lease: lease}).TryLock(ctx)
				require.ErrorIs(t, err, backend.ErrIndeterminate, "it was cancelled in flight")
				cancel()
			}
			time.Sleep(lease)
			require.Equal(t, calls+1, s.called("lock_acquire"))
			require.Zero(t, s.called("lock_release"))
			require.NoError(t, holder.Release(t.Context()))
			require.Equal(t, 1, s.called("lock_release"))
		})
	}
}

// waits returns the call that waits for an object, and takes it, or keeps it until ctx ends if only work can have it; nil if
// nobody waits for the object.
func waits(t *testing.T, object any) lockFunc {
	t.Helper()
	ended := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	var call func(ctx context.Context) error
	switch o := object.(type) {
	case *primitives.ReadWriteLock:
		return o.WriteLock().Lock
	case primitives.Locker:
		return o.Lock
	case interface {
		Acquire(ctx context.Context) (*primitives.Lease, error)
	}:
		return o.Acquire
	case *primitives.PermitSemaphore:
		_, _ = o.InitPermits(t.Context(), 2)
		return func(ctx context.Context) (*primitives.Lease, error) { return o.Acquire(ctx, 2) }
	case *primitives.Semaphore:
		call = func(ctx context.Context) error { return o.Acquire(ctx, 1) }
	case *primitives.CountDownLatch:
		_, _ = o.InitCount(t.Context(), 1)
		call = o.Wait
	case *primitives.PartsLatch:
		_, _ = o.Init(t.Context(), 1, time.Hour)
		call = o.Wait
	case interface {
		Wait(ctx context.Context, n int) error
	}:
		call = func(ctx context.Context) error { return o.Wait(ctx, 2) }
	case *primitives.MultiThrottle:
		call = o.Wait
	case *primitives.PeriodicJob:
		call = func(ctx context.Context) error {
			return errOf(o.Do(ctx, time.Now(), func(ctx context.Context, _ primitives.JobRun) error { return ended(ctx) }))
		}
	case *primitives.Memo[int]:
		call = func(ctx context.Context) error {
			_, _, err := o.Do(ctx, "k", func(ctx context.Context, _ primitives.MemoRun) (int, error) { return 0, ended(ctx) })
			return err
		}
	case *primitives.Election:
		call = func(ctx context.Context) error {
			return o.Run(ctx, func(ctx context.Context, _ *primitives.Lease) error { return ended(ctx) })
		}
	default: // The Sum of an adder has tests of its own.
		require.Contains(t, []string{"AtomicLong", "AtomicDouble", "IDGenerator", "LongAdder", "DoubleAdder"}, reflect.TypeOf(object).Elem().Name())
		return nil
	}
	return func(ctx context.Context) (*primitives.Lease, error) { return nil, call(ctx) }
}

// TestCloseEndsWaitingInAnOutage closes the client while a waiter of each kind pauses between its tries, or has a try
// without an answer: it returns at once.
func TestCloseEndsWaitingInAnOutage(t *testing.T) {
	t.Parallel()
	for kind := range constructed(t) {
		for outage, f := range map[string]fault{"Down": down, "Silent": {before: time.Hour, err: backend.ErrUnavailable}} {
			subtest(t, kind+outage, func(t *testing.T, s *server) { closeInAnOutage(t, s, kind, f) })
		}
	}
}

func closeInAnOutage(t *testing.T, s *server, kind string, f fault) {
	t.Helper()
	holder, waiter := s.client(t, nil), s.client(t, nil)
	if waits(t, construct(t, holder, kind, "app:x", nil)) == nil {
		return
	}
	for range 9 {
		leased(t.Context(), acquirer(t, holder, kind, "app:x"))
		synctest.Wait()
	}
	failed := beside(func() error { return errOf(acquirer(t, waiter, kind, "app:x")(t.Context())) })
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
