package primitives_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestFairLockLeavesAfterAnOutage cancels a waiter while no server can be reached; in a long one for far longer than the
// lease that it asks for: its place lasts longer.
func TestFairLockLeavesAfterAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, waits, lasts time.Duration
		says                error
	}{
		"Short": {0, 20 * time.Second, 0, primitives.ErrUnavailable},
		"Long":  {100 * time.Millisecond, 5 * time.Second, 10 * time.Second, context.DeadlineExceeded},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			client := s.client(t, nil)
			require.NoError(t, errOf(client.NewFairLock("x", nil).Lock(t.Context())))
			time.AfterFunc(time.Second, func() { s.faults(down) })
			waiter := client.NewFairLock("x", &primitives.FairLockOptions{Lease: c.lease})
			require.ErrorIs(t, errOf(waiter.Lock(within(t, c.waits))), c.says)
			require.Len(t, s.waiting(), 1)
			time.Sleep(c.lasts)
			s.faults(fault{})
			time.Sleep(2 * time.Second)
			require.Empty(t, s.waiting())
		})
	}
}

// TestFairLockLeavesNoPlace: a waiter that is granted the lock leaves a queue that has it twice, and as many scores as places.
func TestFairLockLeavesNoPlace(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		held := must(c.NewFairLock("x", nil).Lock(t.Context()))(t)
		next := leased(t.Context(), c.NewFairLock("x", nil).Lock)
		synctest.Wait()
		s.do("RPUSH", fairQueue, s.waiting()[0])
		s.do("ZADD", fairTimeouts, "1e15", another)
		require.NoError(t, held.Release(t.Context()))
		require.NotNil(t, <-next)
		require.Empty(t, s.waiting())
	})
}

// TestFairLockTriesWithinItsTimeout does not poll, and yet is not taken for dead.
func TestFairLockTriesWithinItsTimeout(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, &primitives.Options{PollInterval: 100 * time.Hour}).
			NewFairLock("x", &primitives.FairLockOptions{Lease: time.Hour, WaiterTimeout: 9 * time.Second})
		require.NoError(t, errOf(lock.Lock(t.Context())))
		ctx := within(t, time.Minute)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { _, _ = lock.Lock(ctx) })
		}
		all.Wait()
		require.InDelta(t, 2*20, s.called("fair_acquire"), 6)
	})
}

// TestReadersThatLeaveTogetherStandBack for a writer that waits, as one alone does.
func TestReadersThatLeaveTogetherStandBack(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		const place = "hasp_rwlock_writer:{x}"
		l, kept := c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true}), ""
		readers := []*primitives.Lease{readLease(t, l), readLease(t, l)}
		s.do("HSET", place, another, "1")
		s.ran = func(script string, _, _ []string, _ backend.Reply) {
			if script == "read_release_all" {
				kept = first(s.do("PTTL", place))
			}
		}
		s.faultOf("read_release", down)
		for _, reader := range readers {
			require.Error(t, reader.Release(within(t, time.Millisecond)))
		}
		time.Sleep(time.Minute)
		s.set(func() { require.Equal(t, "200", kept) })
	})
}

// TestReadWriteLockWakesItsWaiters counts the tries: a message wakes the readers before the first writer,
// or that writer alone.
func TestReadWriteLockWakesItsWaiters(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewReadWriteLock("x", nil)
		holder := must(lock.WriteLock().Lock(t.Context()))(t)
		var writers, readers []<-chan *primitives.Lease
		wait := func(all *[]<-chan *primitives.Lease, acquire lockFunc) {
			*all = append(*all, leased(t.Context(), acquire))
			time.Sleep(time.Second) // The order is that of coming.
		}
		wait(&writers, lock.WriteLock().Lock)
		for range 3 {
			wait(&readers, lock.ReadLock().Lock)
		}
		wait(&writers, lock.WriteLock().Lock)
		reads, writes := s.called("read_acquire"), s.called("write_acquire")

		require.NoError(t, holder.Release(t.Context()))
		writer := <-writers[0]
		time.Sleep(time.Second)
		require.Equal(t, reads, s.called("read_acquire"), "the writer alone has tried")
		require.Equal(t, writes+1, s.called("write_acquire"))

		require.NoError(t, writer.Release(t.Context()))
		time.Sleep(time.Second)
		require.Equal(t, reads+3, s.called("read_acquire"))
		require.Equal(t, writes+1, s.called("write_acquire"), "the readers alone have tried")
		for _, reader := range readers {
			require.NoError(t, (<-reader).Release(t.Context()))
		}
		require.NoError(t, (<-writers[1]).Release(t.Context()))
		require.Equal(t, writes+2, s.called("write_acquire"))
	})
}

// TestNobodyTriesForNothing: of the waiters of a client one tries for what a release frees.
func TestNobodyTriesForNothing(t *testing.T) {
	t.Parallel()
	for kind, acquire := range map[string]func(ctx context.Context, c *primitives.Client) (release func(context.Context) error, err error){
		"Semaphore": func(ctx context.Context, c *primitives.Client) (func(context.Context) error, error) {
			l := c.NewSemaphore("x", &primitives.SemaphoreOptions{Permits: 2})
			return func(ctx context.Context) error { return l.Release(ctx, 1) }, l.Acquire(ctx, 1)
		},
		"PermitSemaphore": func(ctx context.Context, c *primitives.Client) (func(context.Context) error, error) {
			lease, err := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 2}).Acquire(ctx, 1)
			return lease.Release, err
		},
		"CountingSemaphore": func(ctx context.Context, c *primitives.Client) (func(context.Context) error, error) {
			lease, err := entryOf(c).slots.Acquire(ctx)
			return lease.Release, err
		},
		"Admission": func(ctx context.Context, c *primitives.Client) (func(context.Context) error, error) {
			lease, err := entryOf(c).Acquire(ctx)
			return lease.Release, err
		},
	} {
		subtest(t, kind, func(t *testing.T, s *server) {
			c, calls := s.client(t, &primitives.Options{PollInterval: time.Hour}), 0
			release := must(acquire(t.Context(), c))(t)
			for range 4 {
				go acquire(t.Context(), c)
				synctest.Wait()
			}
			time.Sleep(time.Second)
			s.set(func() { s.seen = func(string, []string, []string) { calls++ } })
			require.NoError(t, release(t.Context()))
			time.Sleep(time.Second)
			s.set(func() { require.Equal(t, 2, calls, "a release, and a try") })
		})
	}
}

// TestLockIsTriedByAFewOfMany has many clients use one lock, with a pause after each hold. Once they know how
// many they are, few try at each release: about as many as the square root of their number.
func TestLockIsTriedByAFewOfMany(t *testing.T) {
	t.Parallel()
	for clients, most := range map[int]float64{2: 3, 8: 9, 64: 10, 200: 20} {
		if testing.Short() && clients > 64 {
			continue
		}
		for kind, lockOf := range map[string]func(c *primitives.Client) primitives.Locker{
			"lock":  func(c *primitives.Client) primitives.Locker { return c.NewLock("x", nil) },
			"plain": func(c *primitives.Client) primitives.Locker { return c.NewPlainLock("x", nil) },
		} {
			synctest.Test(t, func(t *testing.T) {
				require.Less(t, triesForARelease(t, clients, kind, lockOf), most, "%s of %d clients", kind, clients)
			})
		}
	}
}

// triesForARelease returns how many clients of so many try for each release, on average.
func triesForARelease(t *testing.T, clients int, kind string, lockOf func(c *primitives.Client) primitives.Locker) float64 {
	t.Helper()
	s := newServer(t)
	s.fault = func(string) fault { return fault{before: 200 * time.Microsecond, after: 200 * time.Microsecond} }
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range clients {
		lock := lockOf(s.over(t, s.newOwnLink(t), &primitives.Options{PollInterval: time.Hour}))
		all.Go(func() { holdInTurns(ctx, t, lock) })
	}
	time.Sleep(time.Duration(clients) * 3 * time.Millisecond) // Each has released once.
	counts := func() (tries, releases int) {
		return s.called(kind+"_acquire") + s.called("plain_set"), s.called(kind + "_release")
	}
	triesBefore, before := counts()
	time.Sleep(150 * time.Millisecond)
	tries, releases := counts()
	tries, releases = tries-triesBefore, releases-before
	stop()
	all.Wait()
	t.Logf("%s: %d clients: %d tries for %d releases", kind, clients, tries, releases)
	require.GreaterOrEqual(t, releases, min(75, 6*clients))
	return float64(tries) / float64(releases)
}

// holdInTurns holds a lock, releases it and pauses until ctx ends.
func holdInTurns(ctx context.Context, t *testing.T, lock primitives.Locker) {
	t.Helper()
	for {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return
		}
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
