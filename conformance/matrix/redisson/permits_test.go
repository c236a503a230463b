package redisson

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// beginPermits begins an acquire of ours.
func beginPermits(t *testing.T, s *primitives.PermitSemaphore, n int) (lease **primitives.Lease, answer <-chan string) {
	t.Helper()
	ctx, got := t.Context(), new(*primitives.Lease)
	return got, begin(func() (err error) { *got, err = s.Acquire(ctx, n); return err })
}

// ids returns those that Java's acquire answers.
func (p *peer) ids(answer <-chan string) []string {
	p.t.Helper()
	return strings.Split(p.within("the ids", answer), ",")
}

func testPermits(t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	ctx := bounded(t)
	for _, name := range []string{"lent", "a{lent}b"} {
		s := ours.NewPermitSemaphore(name, nil)
		java.does("true", "permits.trySetPermits", name, 3)
		cells.Want(t, false)(s.InitPermits(ctx, 5))
		mine := cells.Got(s.Acquire(ctx, 2))(t)
		java.does("1", "permits.availablePermits", name)
		java.does("2", "permits.acquiredPermits", name)

		theirs := java.begin("permits.acquire", name, 2, 0)
		java.waits(theirs)
		require.NoError(t, mine.Release(ctx))
		ids := java.ids(theirs)
		require.Len(t, ids, 2)
		cells.Want(t, 2)(s.AcquiredPermits(ctx))
		cells.Want(t, 3)(s.TotalPermits(ctx))

		got, answer := beginPermits(t, s, 2)
		java.waits(answer)
		java.does("1", "permits.tryRelease", name, ids[0])
		java.await(answer, done)
		id := cells.Got(primitives.ParsePermitID(ids[1]))(t)
		cells.Want(t, primitives.NoExpiry)(s.Remaining(ctx, id))
		require.NoError(t, s.Release(ctx, id))
		require.ErrorIs(t, s.Release(ctx, id), primitives.ErrNotHeld)
		java.does("0", "permits.tryRelease", name, ids[1])
		require.NoError(t, (*got).Release(ctx))

		one := cells.Got(s.Acquire(ctx, 1))(t)
		java.does("true", "permits.updateLeaseTime", name, s.IDs(one)[0], 60_000)
		java.does("1", "permits.tryRelease", name, s.IDs(one)[0])
		require.ErrorIs(t, one.Release(ctx), primitives.ErrLost)
		if java.does("set", "permits.setPermits", name, 1) {
			cells.Want(t, 1)(s.AvailablePermits(ctx))
		}
		require.NoError(t, s.SetPermits(ctx, 4))
		java.does("4", "permits.getPermits", name)
		java.does("added", "permits.addPermits", name, 1)
		cells.Want(t, 5)(s.AvailablePermits(ctx))
		cells.Want(t, true)(s.Delete(ctx))
		java.does("0", "permits.getPermits", name)
	}
}

// testPermitsMadeByUs has Java wait for a semaphore that is not there until we acquire from it, and for the
// end of a lease of ours; and us for the end of one of Java's.
func testPermitsMadeByUs(t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	ctx := bounded(t)
	theirs := java.begin("permits.acquire", "lent-new", 1, 0)
	java.waits(theirs)
	s := ours.NewPermitSemaphore("lent-new", &primitives.PermitSemaphoreOptions{Permits: 2, Lease: time.Second})
	require.NoError(t, cells.Err(s.Acquire(ctx, 1)))
	first := java.ids(theirs)
	second := java.ids(java.begin("permits.acquire", "lent-new", 1, 1000)) // when our lease has ended
	require.NotEqual(t, first, second)
	held, err := s.Acquire(ctx, 1) // when Java's has
	require.NoError(t, err)
	require.NoError(t, held.Release(ctx))
	java.does("1", "permits.tryRelease", "lent-new", first[0])
	java.does("2", "permits.availablePermits", "lent-new")
}

// testPermitsOfTheDead kills a process of each side, by kill -9, that holds all permits.
func testPermitsOfTheDead(t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	victim := startPeer(t, java.at) // A JVM takes a while, which the bound leaves out.
	ctx := bounded(t)
	s := ours.NewPermitSemaphore("lent-dead", &primitives.PermitSemaphoreOptions{Permits: 2})
	cells.Want(t, true)(s.InitPermits(ctx, 2))
	require.Len(t, victim.ids(victim.begin("permits.acquire", "lent-dead", 2, 5000)), 2)
	got, answer := beginPermits(t, s, 2)
	victim.kill()
	java.await(answer, done)
	require.NoError(t, (*got).Release(ctx))

	ourVictim := cells.StartChild(t, os.Args[0], "TestPermitVictim", java.at.Addrs...)
	require.Equal(t, "holds", ourVictim.Next(t))
	theirs := java.begin("permits.acquire", "lent-dead", 2, 0)
	java.waits(theirs)
	ourVictim.Kill(t)
	require.Len(t, java.ids(theirs), 2)
}

// TestPermitVictim is our process that is killed: it holds permits.
func TestPermitVictim(t *testing.T) {
	addrs, _ := cells.AsChild(t)
	c := cells.Named("Rueidis").Primitives(t, cells.Client{Addrs: addrs, Cluster: len(addrs) > 1},
		&primitives.Options{WatchdogLease: time.Second})
	require.NoError(t, cells.Err(c.NewPermitSemaphore("lent-dead", nil).Acquire(t.Context(), 2)))
	cells.Say("holds")
	select {}
}
