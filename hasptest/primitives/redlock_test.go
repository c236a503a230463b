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

// nodes are the servers of a red lock.
type nodes []*server

// onNodes runs a test in virtual time, with so many servers of its own.
func onNodes(t *testing.T, n int, test func(t *testing.T, all nodes)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all nodes
		for range n {
			all = append(all, newServer(t))
		}
		test(t, all)
	})
}

// clients returns a client of each node.
func (all nodes) clients(t *testing.T, opts *primitives.Options) (clients []*primitives.Client) {
	t.Helper()
	for _, s := range all {
		clients = append(clients, s.client(t, opts))
	}
	return clients
}

// fault gives some nodes a fault.
func (all nodes) fault(f fault) {
	for _, s := range all {
		s.faults(f)
	}
}

// held counts the nodes on which a lock is held.
func (all nodes) held(key string) (n int) {
	for _, s := range all {
		if s.holder(key) != "" {
			n++
		}
	}
	return n
}

func TestRedLockNeedsAMajority(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		mine, yours := all.clients(t, nil), all.clients(t, nil)
		all[3:].fault(fault{err: backend.ErrUnavailable})
		lease := must(primitives.NewRedLock(mine, "x", nil).Lock(t.Context()))(t)
		require.Equal(t, 3, all.held("x"))
		require.Nil(t, lease.Parts()[4])
		_, err := primitives.NewRedLock(yours, "x", nil).TryLock(t.Context())
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		require.EqualError(t, err, `acquire red lock "x": held by another owner`)
		require.NoError(t, lease.Release(t.Context()))
		require.Zero(t, all.held("x"))

		all[:3].fault(fault{before: 50 * time.Millisecond}) // The majority has its time, although two fail at once.
		lease = must(primitives.NewRedLock(mine, "x", nil).TryLock(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))

		all[:2].fault(fault{})
		all[2:3].fault(fault{err: backend.ErrUnavailable})
		_, err = primitives.NewRedLock(mine, "x", nil).Lock(t.Context())
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		require.ErrorContains(t, err, "2 of 5 nodes answered, 3 are needed")
		time.Sleep(time.Second)
		require.Zero(t, all.held("x"))

		all.fault(fault{})
		part := must(mine[0].NewLock("x", nil).Lock(t.Context()))(t)
		lease, err = primitives.NewRedLock(mine, "x", nil).Lock(part.Context(t.Context()))
		require.NoError(t, err, "the caller's own lease leaves four nodes free")
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, part.Release(t.Context()))
	})
}

// TestRedLockIsBoundedPerNode has two nodes that say nothing: a lock costs no more than one NodeTimeout,
// and the requests to them are found and released when they run after all.
func TestRedLockIsBoundedPerNode(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		clients := all.clients(t, nil)
		all[:2].fault(fault{before: 3 * time.Second, after: time.Second})
		all[2:].fault(fault{before: time.Millisecond})
		start := time.Now()
		lock := primitives.NewRedLock(clients, "x", &primitives.RedLockOptions{
			NodeTimeout: 100 * time.Millisecond, Lease: 20 * time.Second,
		})
		lease := must(lock.Lock(t.Context()))(t)
		require.Less(t, time.Since(start), 20*time.Millisecond, "a majority waits for the slow ones")
		require.NoError(t, lease.Release(t.Context()))
		time.Sleep(10 * time.Second)
		require.Zero(t, all.held("x"))

		all[2:3].fault(fault{before: 3 * time.Second, after: time.Second})
		start = time.Now()
		_, err := lock.TryLock(t.Context())
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(start), 200*time.Millisecond)
		time.Sleep(10 * time.Second)
		require.Zero(t, all.held("x"))

		all.fault(fault{})
		lease = must(lock.Lock(t.Context()))(t)
		all[:2].fault(fault{before: 3 * time.Second})
		start = time.Now()
		require.NoError(t, lease.Release(t.Context()))
		require.LessOrEqual(t, time.Since(start), 200*time.Millisecond, "they are released in the background")
		time.Sleep(10 * time.Second)
		require.Zero(t, all.held("x"))
		all.fault(fault{})
	})
}

// TestRedLockIsRepaired loses two nodes of five, gets them back, and then loses two others.
func TestRedLockIsRepaired(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		lease := must(primitives.NewRedLock(all.clients(t, nil), "x", nil).Lock(t.Context()))(t)
		work := lease.Context(t.Context())
		for _, lost := range []nodes{all[:2], all[2:4], all[3:]} {
			for _, s := range lost {
				s.lose("x")
			}
			require.Equal(t, 3, all.held("x"))
			time.Sleep(time.Minute)
			require.NoError(t, work.Err())
			require.Equal(t, 5, all.held("x"))
		}
		require.NotContains(t, lease.Parts(), (*primitives.Lease)(nil))
		all[0].lose("x")
		all[0].hold("x", another, time.Hour)
		all[:1].fault(fault{after: 100 * time.Millisecond})
		before := all[0].called("lock_acquire")
		time.Sleep(time.Minute)
		require.InDelta(t, 6, all[0].called("lock_acquire")-before, 2, "every third of the lease")
		all[0].lose("x")
		time.Sleep(time.Minute)
		require.NoError(t, lease.Release(t.Context()))
		time.Sleep(time.Hour)
		require.Zero(t, all.held("x"))
	})
}

// TestRedLockIsLostWithItsMajority by the clock, also if no answer comes, and releases what is left.
func TestRedLockIsLostWithItsMajority(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		lease := must(primitives.NewRedLock(all.clients(t, nil), "x", nil).Lock(t.Context()))(t)
		all[:2].fault(fault{lost: true})
		time.Sleep(time.Hour)
		require.NoError(t, lease.Err())
		all[2:3].fault(fault{lost: true})
		time.Sleep(15 * time.Second)
		require.LessOrEqual(t, lease.Remaining(), 12*time.Second, "two parts are renewed, and no majority")
		require.Positive(t, lease.Remaining())
		awaitEnd(t, lease.Done())
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)
		time.Sleep(time.Second)
		require.Zero(t, all[3:].held("x"))
		all.fault(fault{})
	})
}

// TestRedLockValidity is that of the part that completes a majority, with what the requests took and the
// drift subtracted.
func TestRedLockValidity(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, all nodes) {
		all.fault(fault{before: 200 * time.Millisecond, after: 200 * time.Millisecond})
		lock := primitives.NewRedLock(all.clients(t, nil), "x", &primitives.RedLockOptions{Lease: 10 * time.Second})
		lease := must(lock.Lock(t.Context()))(t)
		require.Equal(t, 9*time.Second-400*time.Millisecond, lease.Remaining())
		all[0].lose("x")
		time.Sleep(9 * time.Second)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		all.fault(fault{before: 6 * time.Second})
		slow := primitives.NewRedLock(all.clients(t, nil), "x", &primitives.RedLockOptions{
			Lease: 5 * time.Second, NodeTimeout: 20 * time.Second,
		})
		require.ErrorIs(t, errOf(slow.TryLock(t.Context())), primitives.ErrLost, "it was granted too late")
		all.fault(fault{})
	})
}

// TestRedLockExcludes many callers, whose nodes come and go one at a time.
func TestRedLockExcludes(t *testing.T) {
	onNodes(t, 5, func(t *testing.T, all nodes) {
		inside, most, grants := 0, 0, 0
		all.fault(fault{before: time.Millisecond, after: 2 * time.Millisecond})
		var callers sync.WaitGroup
		for range 5 {
			lock := primitives.NewRedLock(all.clients(t, nil), "x", nil)
			callers.Go(func() {
				for range 8 {
					lease, err := lock.Lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					all[0].set(func() { grants++; inside++; most = max(most, inside) })
					time.Sleep(20 * time.Millisecond)
					all[0].set(func() { inside-- })
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 10 {
			time.Sleep(50 * time.Millisecond)
			all[i%5 : i%5+1].fault(fault{broken: true, before: time.Millisecond})
			time.Sleep(50 * time.Millisecond)
			all.fault(fault{before: time.Millisecond, after: 2 * time.Millisecond})
		}
		callers.Wait()
		require.Equal(t, 1, most)
		require.Equal(t, 40, grants)
		time.Sleep(time.Hour)
		require.Zero(t, all.held("x"))
	})
}

// TestRedLockOfPlainLocks: with Plain its parts are strings, as redsync has one on each of its servers.
func TestRedLockOfPlainLocks(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, all nodes) {
		lock := primitives.NewRedLock(all.clients(t, nil), "x", &primitives.RedLockOptions{Plain: true})
		for _, s := range all[:2] {
			s.do("SET", "x", "of redsync", "PX", "60000")
		}
		require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)
		require.Empty(t, all[2].holder("x"))
		lease := must(lock.Lock(t.Context()))(t)
		for i, s := range all {
			require.Equal(t, []string{lease.Parts()[i].Owner()}, s.do("GET", "x"))
		}
		require.NoError(t, lease.Release(t.Context()))
		require.Zero(t, all.held("x"))
	})
}
