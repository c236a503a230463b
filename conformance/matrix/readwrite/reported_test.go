package readwrite

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Each test is named after what was reported of Redisson's read-write lock, with the number of the issue.

// Test1110InnerWriterWithAShorterLease enters a second time with a shorter lease: the outer hold stays.
func Test1110InnerWriterWithAShorterLease(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		c := client(t, s)
		outer := leased(c, "x", time.Minute)
		lease := taken(t.Context(), t, outer.WriteLock())
		_, err := leased(c, "x", time.Second).WriteLock().Lock(lease.Reenter(t.Context()))
		var field *primitives.FieldError
		require.ErrorAs(t, err, &field)
		unlock(t, taken(lease.Reenter(t.Context()), t, outer.WriteLock()))
		require.Greater(t, left(t, s, "x"), 10*time.Second)
		cells.Want(t, true)(outer.WriteLock().IsHeldBy(t.Context(), lease.Owner()))
		unlock(t, lease)
	})
}

// Test2144LaterReaderWithAShorterLease lets one in: the first reader's lease is as long as it was.
func Test2144LaterReaderWithAShorterLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		first := taken(t.Context(), t, leased(c, "x", 5*time.Second).ReadLock())
		second := taken(t.Context(), t, leased(c, "x", time.Second).ReadLock())
		require.Equal(t, 5*time.Second, left(t, s, "x"))
		time.Sleep(3 * time.Second)
		require.ErrorIs(t, second.Err(), primitives.ErrLost)
		refused(t, c.NewReadWriteLock("x", nil).WriteLock())
		unlock(t, first)
		unlock(t, taken(t.Context(), t, c.NewReadWriteLock("x", nil).WriteLock()))
	})
}

// Test1542WriterWakesAllReaders has ten readers behind a writer, on two clients: one message lets all in.
func Test1542WriterWakesAllReaders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		clients := []*primitives.Client{client(t, s), client(t, s)}
		writer := taken(t.Context(), t, clients[0].NewReadWriteLock("x", nil).WriteLock())
		var all []<-chan outcome
		for i := range 10 {
			all = append(all, waiting(t, clients[i%2].NewReadWriteLock("x", nil).ReadLock()))
		}
		listeners(t, s, 2)
		unlock(t, writer)
		var readers []*primitives.Lease
		for _, reader := range all {
			readers = append(readers, in(t, reader))
		}
		info, err := s.Info("commandstats")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(info["cmdstat_publish"], "calls=1,"), "%v", info)
		unlock(t, readers...)
	})
}

// Test4217DowngradedReaderIsRenewed holds what is left of a downgrade for many leases.
func Test4217DowngradedReaderIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		writer := taken(t.Context(), t, lock.WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		unlock(t, writer)
		time.Sleep(10 * time.Minute)
		require.NoError(t, reader.Err())
		refused(t, lock.WriteLock())
		unlock(t, reader)
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
	})
}

// Test4400Queries asks both sides in each state of the lock.
func Test4400Queries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock := client(t, s).NewReadWriteLock("x", nil)
		requireSides(t, lock, false, false)
		writer := taken(t.Context(), t, lock.WriteLock())
		requireSides(t, lock, false, true)
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		requireSides(t, lock, true, true)
		requireHolds(t, lock, reader.Owner(), 1, 0)
		requireHolds(t, lock, writer.Owner(), 0, 1)
		unlock(t, writer)
		requireSides(t, lock, true, false)
		requireHolds(t, lock, writer.Owner(), 0, 0)
		requireHolds(t, lock, reader.Owner(), 1, 0)
		unlock(t, reader)
		requireSides(t, lock, false, false)
		requireHolds(t, lock, reader.Owner(), 0, 0)
	})
}

// requireSides asks which sides are held.
func requireSides(t *testing.T, l *primitives.ReadWriteLock, read, write bool) {
	t.Helper()
	for side, held := range map[side]bool{l.ReadLock(): read, l.WriteLock(): write} {
		cells.Want(t, held)(side.IsLocked(t.Context()))
		remaining, err := side.Remaining(t.Context())
		require.NoError(t, err)
		require.Equal(t, held, remaining > 0)
		require.LessOrEqual(t, remaining, 30*time.Second)
	}
}

// requireHolds asks how often owner holds each side.
func requireHolds(t *testing.T, l *primitives.ReadWriteLock, owner string, read, write int64) {
	t.Helper()
	cells.Want(t, read)(l.ReadLock().HoldCount(t.Context(), owner))
	cells.Want(t, write)(l.WriteLock().HoldCount(t.Context(), owner))
	cells.Want(t, read > 0)(l.ReadLock().IsHeldBy(t.Context(), owner))
	cells.Want(t, write > 0)(l.WriteLock().IsHeldBy(t.Context(), owner))
}

// Test343ReaderWithinAWriter releases the read lease first, which Redisson 3.4 took for the last: the
// writer stays, and so does its expiry.
func Test343ReaderWithinAWriter(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		writer := taken(t.Context(), t, leased(c, "x", time.Minute).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, leased(c, "x", 10*time.Second).ReadLock())
		time.Sleep(5 * time.Second)
		unlock(t, reader)
		require.Equal(t, 55*time.Second, left(t, s, "x"))
		refused(t, c.NewReadWriteLock("x", nil).ReadLock())
		unlock(t, writer)
		require.Zero(t, cells.Number(t, s, "EXISTS", "x"))
	})
}

// TestDowngradeWakesReaders has readers wait behind a writer who becomes one of them. Redisson does not
// publish then, and they sleep until the lease ends.
func TestDowngradeWakesReaders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, other := client(t, s).NewReadWriteLock("x", nil), client(t, s).NewReadWriteLock("x", nil)
		writer := taken(t.Context(), t, lock.WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		one, two := waiting(t, lock.ReadLock()), waiting(t, other.ReadLock())
		listeners(t, s, 2)
		unlock(t, writer)
		unlock(t, in(t, one), in(t, two))
		refused(t, other.WriteLock())
		unlock(t, reader)
		unlock(t, taken(t.Context(), t, other.WriteLock()))
	})
}

// TestReaderWithinAWriterLeavesItsWatchdog releases the read lease, by which Redisson also ends the
// renewals of the write lease.
func TestReaderWithinAWriterLeavesItsWatchdog(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		writer := taken(t.Context(), t, lock.WriteLock())
		unlock(t, taken(writer.Reenter(t.Context()), t, lock.ReadLock()))
		time.Sleep(10 * time.Minute)
		cells.Want(t, true)(lock.WriteLock().IsHeldBy(t.Context(), writer.Owner()))
		unlock(t, writer)
	})
}
