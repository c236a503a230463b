package readwrite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// Each test is named after what was reported of Redisson's read-write lock, with the number of the issue.

// Test4400Queries asks both sides in each state of the lock.
func Test4400Queries(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
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
		remaining := cells.Got(side.Remaining(t.Context()))(t)
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

// TestJavaReaderThatHoldsTwice has a thread of Redisson enter as a reader twice: the lock lasts as long as the longer
// of its leases, also when a reader of ours has left.
func TestJavaReaderThatHoldsTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		const java = "11111111-2222-4333-8444-555555555555:28"
		cells.Text(t, s, "HSET", "x", "mode", "read", java, "2")
		cells.Text(t, s, "SET", "{x}:"+java+":rwlock_timeout:1", "1", "PX", "60000")
		cells.Text(t, s, "SET", "{x}:"+java+":rwlock_timeout:2", "1", "PX", "120000")
		cells.Text(t, s, "PEXPIRE", "x", "120000")
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		ours := taken(t.Context(), t, lock.ReadLock())
		cells.Want(t, int64(2))(lock.ReadLock().HoldCount(t.Context(), java))
		unlock(t, ours)
		require.Equal(t, 2*time.Minute, left(t, s, "x"))
		time.Sleep(90 * time.Second)
		refused(t, lock.WriteLock())
		time.Sleep(30 * time.Second)
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
	})
}
