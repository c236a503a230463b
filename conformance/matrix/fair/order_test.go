package fair

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestServedInOrderOfArrival lets 60 waiters of six clients come one after the other. A quarter is
// cancelled, half of these while others are served. None polls: each is woken by a message.
func TestServedInOrderOfArrival(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 6, noPoll)
	holder := hold(t, clients[0])
	const waiters = 60
	c := s.waitInTurn(t, waiters, clients, patient)
	s.awaitListening(t, waiters)
	for i := 1; i < waiters/2; i += 4 {
		c.cancel[i]()
	}
	s.awaitQueue(t, waiters-8)
	require.NoError(t, holder.Release(t.Context()))
	order := c.serve(t, 10)
	for i := waiters/2 + 3; i < waiters; i += 4 {
		c.cancel[i]()
	}
	order = append(order, c.serve(t, waiters-10-15)...)
	require.True(t, slices.IsSorted(order), order)
	require.Len(t, slices.Compact(order), waiters-15)
	s.requireNothingLeft(t)
}

// TestWaiterThatLeavesWakesTheNext cancels the first waiter when it has been woken: the next one must
// not wait for a poll.
func TestWaiterThatLeavesWakesTheNext(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, noPoll)
	for range 20 {
		holder := hold(t, clients[0])
		c := s.waitInTurn(t, 2, clients[1:], patient)
		s.awaitListening(t, 2)
		go c.cancel[0]()
		require.NoError(t, holder.Release(t.Context()))
		for range 2 {
			g := cells.Within(t, conformance.Patience, "both waiters", c.granted)
			if g.err == nil {
				require.NoError(t, g.lease.Release(t.Context()))
			} else {
				require.Zero(t, g.waiter, g.err)
			}
		}
		s.requireNothingLeft(t)
	}
}

// TestTryLockNeitherQueuesNorPasses tries while the lock is held, while somebody waits for it though it
// is free, and when nobody does.
func TestTryLockNeitherQueuesNorPasses(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, noPoll)
	lock := clients[0].NewFairLock(key, nil)
	holder := hold(t, clients[1])
	_, err := lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Zero(t, cells.Number(t, s, "EXISTS", queue, timeouts, deadlines))

	require.NoError(t, holder.Release(t.Context()))
	s.enqueue(t, "waiting", s.now(t)+600000, 0)
	_, err = lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Equal(t, []string{"waiting"}, cells.Texts(t, s, "LRANGE", queue, "0", "-1"))
	s.do(t, "DEL", queue) // Its score goes with the next grant.

	lease, err := lock.TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	s.requireNothingLeft(t)
}

// TestForceUnlockWakesTheFirst frees the lock of somebody else.
func TestForceUnlockWakesTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, noPoll)
	hold(t, clients[0])
	c := s.waitInTurn(t, 2, clients[1:], patient)
	s.awaitListening(t, 2)
	cells.Want(t, true)(clients[1].NewFairLock(key, nil).ForceUnlock(t.Context()))
	require.Equal(t, []int{0, 1}, c.serve(t, 2))
	cells.Want(t, false)(clients[1].NewFairLock(key, nil).ForceUnlock(t.Context()))
	s.requireNothingLeft(t)
}

// TestConflictNamesTheKey puts another kind of value at each of the lock's keys.
func TestConflictNamesTheKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	lock := s.Clients(t, 1, nil)[0].NewFairLock(key, nil)
	for name, says := range map[string]string{
		key: `the key "fair" of this fair lock holds a stream`, queue: "queue", timeouts: "scores",
		deadlines: "deadlines", "redisson_lock_token:{fair}": "token key",
	} {
		s.do(t, "XADD", name, "*", "a", "b")
		_, err := lock.Lock(t.Context())
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, says)
		require.Equal(t, 1, cells.Number(t, s, "EXISTS", key, queue, timeouts, deadlines, "redisson_lock_token:{fair}"))
		s.do(t, "DEL", name)
	}
}

// TestExpiredHolderIsFollowed lets the lease of a holder expire, which nobody publishes: the waiter has
// the lock after it, though it does not poll.
func TestExpiredHolderIsFollowed(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, noPoll)
	s.do(t, "HSET", key, peer, "1")
	s.do(t, "PEXPIRE", key, "1500")
	c := s.waitInTurn(t, 2, clients, patient)
	require.Equal(t, []int{0, 1}, c.serve(t, 2))
	s.requireNothingLeft(t)
}

// TestWaiterOutlivesItsTimeout waits for many times the timeout, and beyond the scores: who lives
// keeps the place, and Redisson's processes do not take it for dead either.
func TestWaiterOutlivesItsTimeout(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, nil)
	holder := hold(t, clients[0])
	c := s.waitInTurn(t, 3, clients, &primitives.FairLockOptions{WaiterTimeout: 4 * time.Second})
	first := cells.Texts(t, s, "LRANGE", queue, "0", "-1")
	for _, owner := range first { // As if they had waited for so long.
		s.do(t, "ZINCRBY", timeouts, "-330000", owner)
	}
	s.Await(t, "the scores rise", func() bool {
		return s.score(t, first[0]) > float64(s.now(t)+250000)
	})
	gap := s.score(t, first[1]) - s.score(t, first[0])
	require.InDelta(t, 300000, gap, 1, "all scores rise together")
	scripts := s.Calls(t, "evalsha")
	s.Await(t, "they have tried many times", func() bool { return s.Calls(t, "evalsha") > scripts+30 })
	require.Equal(t, first, cells.Texts(t, s, "LRANGE", queue, "0", "-1"))
	require.NoError(t, holder.Release(t.Context()))
	require.Equal(t, []int{0, 1, 2}, c.serve(t, 3))
	s.requireNothingLeft(t)
}

// TestWaiterOutlivesTheHoldersLease holds the lock for a hundred leases, which the watchdog renews: the
// waiter, which does not poll, stays in the queue, and has the lock in the instant of the release. In
// virtual time.
func TestWaiterOutlivesTheHoldersLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := embedded.New(embedded.NewServer(), nil)
		require.NoError(t, err)
		client := cells.Over(t, b, &primitives.Options{WatchdogLease: time.Second, PollInterval: time.Hour})
		holder := hold(t, client)
		c := newCrowd(1)
		c.wait(t, 0, client.NewFairLock(key, patient))
		time.Sleep(100 * time.Second)
		require.Empty(t, c.granted)
		require.NoError(t, holder.Err())
		released := time.Now()
		require.NoError(t, holder.Release(t.Context()))
		require.NoError(t, c.next(t).lease.Release(t.Context()))
		require.Zero(t, time.Since(released))
	})
}

// TestLocksAtRandom lets 24 goroutines of six clients contend, some of which give up.
func TestLocksAtRandom(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 6, nil)
	ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
	defer cancel()
	inside := make(chan struct{}, 1)
	done := make(chan error, 24)
	for i := range cap(done) {
		go func() { done <- lockManyTimes(ctx, clients[i%len(clients)].NewFairLock(key, nil), inside) }()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
	s.requireNothingLeft(t)
}

// lockManyTimes takes the lock, now and then with little patience, and requires that it is alone.
func lockManyTimes(ctx context.Context, lock *primitives.FairLock, inside chan struct{}) error {
	for i := range 20 {
		bound := time.Hour
		if i%3 == 0 {
			bound = time.Duration(i) * time.Millisecond
		}
		waiting, cancel := context.WithTimeout(ctx, bound)
		lease, err := lock.Lock(waiting)
		cancel()
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				continue
			}
			return err
		}
		select {
		case inside <- struct{}{}:
		default:
			return errors.New("two hold the lock")
		}
		<-inside
		if err := lease.Release(ctx); err != nil && !errors.Is(err, backend.ErrIndeterminate) {
			return err
		}
	}
	return nil
}
