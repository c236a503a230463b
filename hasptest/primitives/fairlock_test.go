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

func TestFairLockAndUnlockAreOneScriptEach(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewFairLock("x", nil)
		lease := must(lock.Lock(t.Context()))(t)
		require.Equal(t, lease.Owner(), s.holder("x"))
		require.Positive(t, lease.Token())
		require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)
		require.Empty(t, s.waiting())
		require.NoError(t, lease.Release(t.Context()))
		require.Empty(t, s.holder("x"))
		time.Sleep(time.Hour)
		require.Equal(t, map[string]int{"fair_acquire": 2, "fair_release": 1}, s.calls)
	})
}

// TestFairLockServesInTurn: a message wakes the next waiter alone, and its subscription does not linger.
func TestFairLockServesInTurn(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, &primitives.Options{PollInterval: 100 * time.Hour}).
			NewFairLock("x", &primitives.FairLockOptions{WaiterTimeout: 1000 * time.Hour})
		holder := must(lock.Lock(t.Context()))(t)
		var served []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				lease := must(lock.Lock(t.Context()))(t)
				served = append(served, i) // One has the lock at a time.
				synctest.Wait()
				require.Equal(t, 4-i, s.subscribed())
				require.NoError(t, lease.Release(t.Context()))
			})
			time.Sleep(time.Second)
		}
		tries := s.called("fair_acquire")
		require.NoError(t, holder.Release(t.Context()))
		all.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, served)
		require.Equal(t, tries+5, s.called("fair_acquire"))
	})
}

// TestFairLockCancelledLeavesTheQueue cancels a waiter, at its first try or a later one, at each place
// where it can be. It leaves, and whoever is behind it is served.
func TestFairLockCancelledLeavesTheQueue(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]fault{
		"Parked":    {},
		"RunsLater": {before: 3 * time.Second},
		"NoReply":   {before: 50 * time.Millisecond, lost: true},
		"LateReply": {before: 50 * time.Millisecond, after: 3 * time.Second},
		"Broken":    {before: 50 * time.Millisecond, broken: true},
		"Down":      {before: 50 * time.Millisecond, err: backend.ErrUnavailable},
		"Error":     {before: 50 * time.Millisecond, err: &backend.ServerError{Code: "ERR"}},
	} {
		for try, tries := range map[string]int{"First": 1, "Second": 2, "Later": 3} {
			t.Run(name+try, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { cancelInQueue(t, acquire, tries) })
			})
		}
	}
}

func cancelInQueue(t *testing.T, acquire fault, at int) {
	t.Helper()
	s := newServer(t)
	holder := must(s.client(t, nil).NewFairLock("x", nil).Lock(t.Context()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	s.fault = func(script string) fault {
		if script != "fair_acquire" {
			return fault{}
		}
		if tries++; tries == at {
			time.AfterFunc(100*time.Millisecond, cancel)
			return acquire
		}
		return fault{}
	}
	require.Error(t, errOf(s.client(t, nil).NewFairLock("x", nil).Lock(ctx)))
	s.faults(fault{})
	behind := make(chan error, 1)
	go func() {
		lease, err := s.client(t, nil).NewFairLock("x", nil).Lock(t.Context())
		if err == nil {
			err = lease.Release(t.Context())
		}
		behind <- err
	}()
	time.Sleep(6 * time.Second) // By then a reply that never came is given up.
	require.Len(t, s.waiting(), 1)
	require.NoError(t, holder.Release(t.Context()))
	require.NoError(t, <-behind)
	synctest.Wait()
	require.Empty(t, s.waiting())
	require.Zero(t, s.subscribed())
	require.Empty(t, s.holder("x"))
}

// TestFairLockLeavesByOneRelease cancels many waiters at once: each is released once, many together.
func TestFairLockLeavesByOneRelease(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewFairLock("x", nil)
		require.NoError(t, errOf(lock.Lock(t.Context())))
		released := 0
		s.seen = func(script string, keys, _ []string) {
			if script == "fair_release" || script == "fair_release_all" {
				released += len(keys) / 4
			}
		}
		ctx := within(t, time.Minute)
		var all sync.WaitGroup
		const waiters = 150
		for range waiters {
			all.Go(func() {
				wraps(t, errOf(lock.Lock(ctx)), primitives.ErrNotAcquired, context.DeadlineExceeded)
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		require.Empty(t, s.waiting())
		require.Zero(t, s.subscribed())
		time.Sleep(time.Hour)
		require.Equal(t, waiters, released)
	})
}

// TestFairLockLeavesAfterAnOutage cancels a waiter while no server can be reached.
func TestFairLockLeavesAfterAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewFairLock("x", nil)
		require.NoError(t, errOf(lock.Lock(t.Context())))
		ctx := within(t, 20*time.Second)
		time.AfterFunc(time.Second, func() { s.faults(down) })
		require.ErrorIs(t, errOf(lock.Lock(ctx)), primitives.ErrUnavailable)
		require.Len(t, s.waiting(), 1)
		s.faults(fault{})
		time.Sleep(time.Second)
		require.Empty(t, s.waiting())
	})
}

// TestFairLockLeavesAfterALongOutage cancels a waiter while no server can be reached, for far longer than
// the lease that it asks for: its place lasts longer.
func TestFairLockLeavesAfterALongOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c := s.client(t, nil)
		_, err := c.NewFairLock("x", nil).Lock(t.Context())
		require.NoError(t, err)
		ctx := within(t, 5*time.Second)
		time.AfterFunc(time.Second, func() { s.faults(down) })
		_, err = c.NewFairLock("x", &primitives.FairLockOptions{Lease: 100 * time.Millisecond}).Lock(ctx)
		require.Error(t, err)
		time.Sleep(10 * time.Second)
		s.faults(fault{})
		time.Sleep(2 * time.Second)
		require.Empty(t, s.waiting())
	})
}

// TestFairLockWaitsThroughAnOutage has no server for a minute, or loses all replies, while a lock is
// waited for. The waiter goes on as the same owner, or as another one, which has another channel.
func TestFairLockWaitsThroughAnOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]fault{"Down": down, "RepliesLost": {broken: true}} {
		subtest(t, name, func(t *testing.T, s *server) {
			client := s.client(t, nil)
			held := &primitives.FairLockOptions{Lease: 30 * time.Second}
			require.NoError(t, errOf(client.NewFairLock("x", held).Lock(t.Context())))
			owners := map[string]bool{}
			s.seen = func(script string, _, args []string) {
				if script == "fair_acquire" {
					owners[args[0]] = true
				}
			}
			time.AfterFunc(time.Second, func() { s.faults(outage) })
			time.AfterFunc(time.Minute, func() { s.faults(fault{}) })
			start := time.Now()
			lease := must(client.NewFairLock("x", nil).Lock(t.Context()))(t)
			require.Greater(t, time.Since(start), 59*time.Second)
			require.Less(t, time.Since(start), 2*time.Minute)
			require.Equal(t, lease.Owner(), s.holder("x"))
			require.Equal(t, outage.broken, len(owners) > 1) //nolint:testifylint // Not all in the message.
			time.Sleep(time.Hour)
			require.Empty(t, s.waiting())
			require.Zero(t, s.subscribed())
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// TestFairLockIsWokenOnItsNewChannel loses one reply to a waiter that does not poll, which goes on with
// another owner.
func TestFairLockIsWokenOnItsNewChannel(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, &primitives.Options{PollInterval: 100 * time.Hour}).
			NewFairLock("x", &primitives.FairLockOptions{WaiterTimeout: 1000 * time.Hour})
		holder := must(lock.Lock(t.Context()))(t)
		tries, first := 0, ""
		s.seen = func(script string, _, args []string) {
			if tries++; script == "fair_acquire" && tries == 1 {
				first = args[0]
			}
		}
		s.fault = func(script string) fault { return fault{broken: script == "fair_acquire" && tries == 2} }
		granted := make(chan *primitives.Lease)
		go func() {
			lease := must(lock.Lock(t.Context()))(t)
			granted <- lease
		}()
		time.Sleep(time.Minute)
		require.Len(t, s.waiting(), 1)
		require.NotContains(t, s.waiting(), first)
		start := time.Now()
		require.NoError(t, holder.Release(t.Context()))
		lease := <-granted
		require.Less(t, time.Since(start), time.Second)
		require.NoError(t, lease.Release(t.Context()))
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

// TestFairLockLeavesWhenTheClientCloses: nobody waits for those who are gone.
func TestFairLockLeavesWhenTheClientCloses(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		require.NoError(t, errOf(s.client(t, nil).NewFairLock("x", nil).Lock(t.Context())))
		client := s.client(t, nil)
		ended := beside(func() error { return errOf(client.NewFairLock("x", nil).Lock(t.Context())) })
		time.Sleep(time.Second)
		require.Len(t, s.waiting(), 1)
		require.NoError(t, client.Close(t.Context()))
		require.ErrorIs(t, <-ended, primitives.ErrClosed)
		require.Empty(t, s.waiting())
		require.Zero(t, s.subscribed())
	})
}
