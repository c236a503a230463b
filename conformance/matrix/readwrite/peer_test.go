package readwrite

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// peer is a thread of a Java process on the lock of a name: it does to keys what Redisson's scripts do,
// by single commands, and expects what they expect. Nobody else may use the lock meanwhile.
type peer struct {
	server      cells.Doer
	name, owner string
}

func newPeer(s cells.Doer, name string) *peer {
	return &peer{server: s, name: name, owner: "11111111-2222-4333-8444-555555555555:28"}
}

// sideKey is that of the peer's nth read hold.
func (p *peer) sideKey(n int) string { return p.sideKeyOf(p.owner, n) }

func (p *peer) sideKeyOf(owner string, n int) string {
	return fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", p.name, owner, n)
}

// mode returns the lock's; empty: it has none.
func (p *peer) mode(t *testing.T) string {
	t.Helper()
	if cells.Text(t, p.server, "HEXISTS", p.name, "mode") == "0" {
		return ""
	}
	return cells.Text(t, p.server, "HGET", p.name, "mode")
}

// readLock enters as a reader, and reports whether it may.
func (p *peer) readLock(t *testing.T, lease time.Duration) bool {
	t.Helper()
	mode := p.mode(t)
	if mode == "write" && cells.Text(t, p.server, "HEXISTS", p.name, p.owner+":write") == "0" {
		return false
	}
	if mode == "" {
		cells.Text(t, p.server, "HSET", p.name, "mode", "read")
	}
	n := cells.Number(t, p.server, "HINCRBY", p.name, p.owner, "1")
	cells.Text(t, p.server, "SET", p.sideKey(n), "1", "PX", milliseconds(lease))
	cells.Text(t, p.server, "PEXPIRE", p.name, milliseconds(max(lease, left(t, p.server, p.name))))
	return true
}

// readUnlock leaves as a reader: the lock lasts as long as the longest side key of those who stay, and
// is deleted, with a message, if there is none.
func (p *peer) readUnlock(t *testing.T) {
	t.Helper()
	n := cells.Number(t, p.server, "HGET", p.name, p.owner)
	cells.Text(t, p.server, "DEL", p.sideKey(n))
	if n--; n == 0 {
		cells.Text(t, p.server, "HDEL", p.name, p.owner)
	} else {
		cells.Text(t, p.server, "HSET", p.name, p.owner, strconv.Itoa(n))
	}
	if longest := p.longest(t); longest > 0 {
		cells.Text(t, p.server, "PEXPIRE", p.name, milliseconds(longest))
	} else if p.mode(t) != "write" {
		cells.Text(t, p.server, "DEL", p.name)
		cells.Text(t, p.server, "PUBLISH", "redisson_rwlock:{"+p.name+"}", "0")
	}
}

// longest is the longest expiry of all side keys.
func (p *peer) longest(t *testing.T) (longest time.Duration) {
	t.Helper()
	for _, field := range cells.Texts(t, p.server, "HKEYS", p.name) {
		count, err := strconv.Atoi(cells.Text(t, p.server, "HGET", p.name, field))
		for n := 1; err == nil && n <= count; n++ {
			longest = max(longest, left(t, p.server, p.sideKeyOf(field, n)))
		}
	}
	return longest
}

// writeLock enters as a writer, and reports whether it may: nobody else is in.
func (p *peer) writeLock(t *testing.T, lease time.Duration) bool {
	t.Helper()
	if p.mode(t) != "" {
		return false
	}
	cells.Text(t, p.server, "HSET", p.name, "mode", "write", p.owner+":write", "1")
	cells.Text(t, p.server, "PEXPIRE", p.name, milliseconds(lease))
	return true
}

// writeUnlock leaves as a writer: its readers, if it has any, stay, without a message.
func (p *peer) writeUnlock(t *testing.T) {
	t.Helper()
	cells.Text(t, p.server, "HDEL", p.name, p.owner+":write")
	if cells.Text(t, p.server, "HLEN", p.name) != "1" {
		cells.Text(t, p.server, "HSET", p.name, "mode", "read")
		return
	}
	cells.Text(t, p.server, "DEL", p.name)
	cells.Text(t, p.server, "PUBLISH", "redisson_rwlock:{"+p.name+"}", "1")
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// messages collects what is published to the lock x.
func messages(t *testing.T, s *servers.Server) func() []string {
	t.Helper()
	var mu sync.Mutex
	var all []string
	b := cells.Named("GoRedis").Backend(t, cells.At(s.Addr()))
	_, err := b.Subscribe(t.Context(), "redisson_rwlock:{x}", func(e backend.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == backend.EventMessage {
			all = append(all, e.Payload)
		}
	})
	require.NoError(t, err)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

// TestJavaReaderBesideOurs lets both read. When one leaves, the other stays in for its whole lease.
func TestJavaReaderBesideOurs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, java := client(t, s).NewReadWriteLock("x", nil), newPeer(s, "x")
		heard := messages(t, s)
		ours := taken(t.Context(), t, lock.ReadLock())
		require.True(t, java.readLock(t, time.Minute))
		java.readUnlock(t)
		require.Greater(t, left(t, s, "x"), 5*time.Second)
		require.LessOrEqual(t, left(t, s, "x"), 30*time.Second)
		require.Equal(t, "1", cells.Text(t, s, "HGET", "x", ours.Owner()))

		require.True(t, java.readLock(t, time.Minute))
		require.True(t, java.readLock(t, 2*time.Minute))
		unlock(t, ours)
		require.Equal(t, "2", cells.Text(t, s, "HGET", "x", java.owner))
		require.Greater(t, left(t, s, "x"), time.Minute)
		refused(t, lock.WriteLock())
		cells.Want(t, int64(2))(lock.ReadLock().HoldCount(t.Context(), java.owner))
		require.Empty(t, heard())
		java.readUnlock(t)
		refused(t, lock.WriteLock())
		java.readUnlock(t)
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
	})
}

// TestJavaWaitersHearOurs releases each side of ours: Java's waiters get the messages that they expect,
// and the lock is theirs.
func TestJavaWaitersHearOurs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, java := client(t, s).NewReadWriteLock("x", nil), newPeer(s, "x")
		heard := messages(t, s)
		hears := func(want ...string) {
			t.Helper()
			require.Eventually(t, func() bool { return slices.Equal(want, heard()) },
				time.Minute, time.Millisecond, "%v", want)
		}
		reader := taken(t.Context(), t, lock.ReadLock())
		require.False(t, java.writeLock(t, time.Minute))
		unlock(t, reader)
		hears("0")
		require.True(t, java.writeLock(t, time.Minute))
		java.writeUnlock(t)
		hears("0", "1")

		writer := taken(t.Context(), t, lock.WriteLock())
		reader = taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		require.False(t, java.readLock(t, time.Minute))
		unlock(t, writer)
		hears("0", "1", "1")
		require.True(t, java.readLock(t, time.Minute))
		unlock(t, reader)
		java.readUnlock(t)
		hears("0", "1", "1", "0")
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
		hears("0", "1", "1", "0", "1")
	})
}

// TestOursWaitForJava waits on each side for a Java process, whose messages wake it.
func TestOursWaitForJava(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, java := client(t, s).NewReadWriteLock("x", nil), newPeer(s, "x")
		require.True(t, java.writeLock(t, time.Minute))
		one, two := waiting(t, lock.ReadLock()), waiting(t, lock.ReadLock())
		listeners(t, s, 1)
		java.writeUnlock(t)
		unlock(t, in(t, one), in(t, two))

		require.True(t, java.readLock(t, time.Minute))
		writer := waiting(t, lock.WriteLock())
		listeners(t, s, 1)
		java.readUnlock(t)
		unlock(t, in(t, writer))
	})
}

// TestJavaReaderWithoutALease is dead for our writers, as it is for Redisson's last reader: one that has
// no side key, and one whose side keys have expired.
func TestJavaReaderWithoutALease(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, java := client(t, s).NewReadWriteLock("x", nil), newPeer(s, "x")
		require.True(t, java.readLock(t, time.Minute))
		cells.Text(t, s, "HSET", "x", "naive:1", "1")
		refused(t, lock.WriteLock())
		cells.Text(t, s, "DEL", java.sideKey(1))
		writer := taken(t.Context(), t, lock.WriteLock())
		require.ElementsMatch(t, []string{"mode", writer.Owner() + ":write"}, cells.Texts(t, s, "HKEYS", "x"))
		unlock(t, writer)
	})
}

// TestJavaDowngrade has a Java writer become a reader, of which it tells nobody: ours join it.
func TestJavaDowngrade(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock, java := client(t, s).NewReadWriteLock("x", nil), newPeer(s, "x")
		require.True(t, java.writeLock(t, time.Minute))
		require.True(t, java.readLock(t, time.Minute))
		cells.Want(t, true)(lock.ReadLock().IsLocked(t.Context()))
		refused(t, lock.ReadLock())
		java.writeUnlock(t)
		unlock(t, taken(t.Context(), t, lock.ReadLock()))
		java.readUnlock(t)
		unlock(t, taken(t.Context(), t, lock.WriteLock()))
	})
}
