// Package readwrite has tests of the read-write lock beyond its declaration, in virtual time: hold counts, a lease within
// another, writers that are preferred, and releases in the background.
package readwrite

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// bubble runs a test in virtual time, with a server within the process.
func bubble(t *testing.T, test func(t *testing.T, s *embedded.Server)) {
	t.Helper()
	cells.Bubble(t, func(t *testing.T) { test(t, embedded.NewServer()) })
}

// inside returns a client of a server within the process, which never polls, and what cuts it off for
// good, as a crash does. Its scripts come to the server at whole milliseconds, which is
// what Redis counts; the embedded server has parts of one, and PTTL, by which scripts reckon, does not.
func inside(t *testing.T, s *embedded.Server) (c *primitives.Client, crash func()) {
	t.Helper()
	var crashed atomic.Bool
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if crashed.Load() {
			return backend.Reply{}, backend.ErrUnavailable
		}
		if now := time.Now(); now.Truncate(time.Millisecond) != now {
			time.Sleep(time.Until(now.Truncate(time.Millisecond).Add(time.Millisecond)))
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, &primitives.Options{PollInterval: time.Hour}), func() { crashed.Store(true) }
}

// leased returns a lock of that name whose leases nobody renews.
func leased(c *primitives.Client, name string, lease time.Duration) *primitives.ReadWriteLock {
	return c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{Lease: lease})
}

// side is a ReadLock or a WriteLock.
type side interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	IsLocked(ctx context.Context) (bool, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

// taken returns the lease of a side that must be free.
func taken(ctx context.Context, t *testing.T, l side) *primitives.Lease {
	t.Helper()
	return cells.Got(l.TryLock(ctx))(t)
}

// refused requires that somebody keeps l out.
func refused(t *testing.T, l side) {
	t.Helper()
	require.ErrorIs(t, cells.Err(l.TryLock(t.Context())), primitives.ErrNotAcquired)
}

// outcome is what a call of Lock returned.
type outcome struct {
	lease *primitives.Lease
	err   error
}

// waiting begins to wait for l.
func waiting(t *testing.T, l side) <-chan outcome {
	t.Helper()
	got := make(chan outcome, 1)
	go func() {
		lease, err := l.Lock(t.Context())
		got <- outcome{lease, err}
	}()
	return got
}

// in returns the lease of a waiter who must get it.
func in(t *testing.T, got <-chan outcome) *primitives.Lease {
	t.Helper()
	o := cells.Within(t, time.Minute, "a waiter is in", got)
	require.NoError(t, o.err)
	return o.lease
}

// left returns how long a key still has, by the server.
func left(t *testing.T, s cells.Doer, key string) time.Duration {
	t.Helper()
	return time.Duration(cells.Number(t, s, "PTTL", key)) * time.Millisecond
}

func unlock(t *testing.T, leases ...*primitives.Lease) {
	t.Helper()
	for _, lease := range leases {
		require.NoError(t, lease.Release(t.Context()))
	}
}

// TestWritersLeaveInTheBackground has the releases of two writers fail: the one of both in the background ends their
// holds, and leaves a lock to the writer's own reader, for as long as that one's lease.
func TestWritersLeaveInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c := leavingTogether(t, s, "write_release")
		lock := leased(c, "x", time.Hour)
		writer, other := taken(t.Context(), t, lock.WriteLock()), taken(t.Context(), t, c.NewReadWriteLock("y", nil).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, leased(c, "x", time.Minute).ReadLock())
		leaveTogether(t, writer, other)
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "y"))
		cells.Want(t, false)(lock.WriteLock().IsLocked(t.Context()))
		cells.Want(t, true)(lock.ReadLock().IsLocked(t.Context()))
		require.LessOrEqual(t, left(t, s, "x"), time.Minute)
		unlock(t, reader)
	})
}

// leavingTogether returns a client whose releases of one hold, by that script, fail: it repeats them in the background,
// those of several holds as one.
func leavingTogether(t *testing.T, s *embedded.Server, script string) *primitives.Client {
	t.Helper()
	r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
	r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
		if call.Script.Name == script {
			return backend.Reply{}, backend.ErrUnavailable
		}
		return r.Good(ctx, call)
	}
	return cells.Over(t, r, nil)
}

// leaveTogether releases the leases of such a client, and returns when the background has done so.
func leaveTogether(t *testing.T, leases ...*primitives.Lease) {
	t.Helper()
	for _, lease := range leases {
		require.ErrorIs(t, lease.Release(t.Context()), backend.ErrIndeterminate)
	}
	time.Sleep(time.Second)
}

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

const mark = "hasp_rwlock_writer:{x}"

// preferring returns the lock x of a client, whose readers stand back.
func preferring(c *primitives.Client) *primitives.ReadWriteLock {
	return c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{PreferWriters: true})
}

// TestPreferWritersAfterAWriterLeft lets readers who stood back join at once when the writer for whom they did
// has given up, or its client was closed.
func TestPreferWritersAfterAWriterLeft(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(strconv.FormatBool(closes), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *embedded.Server) {
				c, _ := inside(t, s)
				leaving, _ := inside(t, s)
				reader := taken(t.Context(), t, preferring(c).ReadLock())
				ctx, cancel := context.WithCancel(t.Context())
				left := make(chan error, 1)
				go func() {
					_, err := preferring(leaving).WriteLock().Lock(ctx)
					left <- err
				}()
				time.Sleep(time.Second)
				joining := waiting(t, preferring(c).ReadLock())
				time.Sleep(time.Second)
				began := time.Now()
				if closes {
					require.NoError(t, leaving.Close(t.Context()))
				}
				cancel()
				require.Error(t, <-left)
				unlock(t, in(t, joining), reader)
				require.Less(t, time.Since(began), 10*time.Millisecond)
				require.Equal(t, "0", cells.Text(t, s, "EXISTS", mark))
			})
		})
	}
}

// TestPreferWritersWhileAnotherWaits keeps readers out when one of two writers gives up, in the same client or in
// another.
func TestPreferWritersWhileAnotherWaits(t *testing.T) {
	for _, same := range []bool{false, true} {
		t.Run(strconv.FormatBool(same), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *embedded.Server) {
				c, _ := inside(t, s)
				other, _ := inside(t, s)
				if same {
					other = c
				}
				reader := taken(t.Context(), t, preferring(c).ReadLock())
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				leaving := make(chan error, 1)
				go func() {
					_, err := preferring(other).WriteLock().Lock(ctx)
					leaving <- err
				}()
				time.Sleep(time.Millisecond)
				writer := waiting(t, preferring(c).WriteLock())
				require.ErrorIs(t, <-leaving, primitives.ErrNotAcquired)
				for range 60 { // longer than a lease
					time.Sleep(time.Second)
					refused(t, preferring(c).ReadLock())
				}
				unlock(t, reader)
				unlock(t, in(t, writer))
			})
		})
	}
}

// TestPreferWritersWithAShorterLease has a second writer come, and give up, while a reader with a short lease is in:
// the first writer keeps its place for as long as before.
func TestPreferWritersWithAShorterLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		other, _ := inside(t, s)
		reader := taken(t.Context(), t, preferring(c).ReadLock())
		writer := waiting(t, preferring(c).WriteLock())
		time.Sleep(time.Second)
		short := taken(t.Context(), t, leased(c, "x", time.Second).ReadLock())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, cells.Err(preferring(other).WriteLock().Lock(ctx)), primitives.ErrNotAcquired)
		unlock(t, short)
		time.Sleep(5 * time.Second)
		refused(t, preferring(c).ReadLock())
		unlock(t, reader)
		unlock(t, in(t, writer))
	})
}

// TestPreferWritersBehindAReaderThatWaits has a reader wait before a writer in one client: when the lock is free, it
// stands back, and the writer is in at once. It was so by its poll alone, and after 200 ms the reader was.
func TestPreferWritersBehindAReaderThatWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		other, _ := inside(t, s)
		reader := taken(t.Context(), t, preferring(other).ReadLock())
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = preferring(c).WriteLock().Lock(ctx) }()
		time.Sleep(time.Second)
		standing := waiting(t, preferring(c).ReadLock())
		time.Sleep(time.Second)
		writer := waiting(t, preferring(c).WriteLock())
		time.Sleep(time.Second)
		cancel()
		time.Sleep(time.Second)
		began := time.Now()
		unlock(t, reader)
		unlock(t, in(t, writer))
		require.Less(t, time.Since(began), 100*time.Millisecond)
		unlock(t, in(t, standing))
	})
}

// TestPreferWritersAfterAWriterCrashed lets readers in when the reader that was in has left.
func TestPreferWritersAfterAWriterCrashed(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		reader := taken(t.Context(), t, preferring(c).ReadLock())
		joining := behindACrashedWriter(t, s)
		began := time.Now()
		unlock(t, reader)
		unlock(t, in(t, joining))
		require.Less(t, time.Since(began), 250*time.Millisecond)
		cells.Want(t, false)(preferring(c).ReadLock().IsLocked(t.Context()))
	})
}

// TestPreferWritersAfterReadersLeftTogether is the same where the reader leaves together with that of another lock.
func TestPreferWritersAfterReadersLeftTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c := leavingTogether(t, s, "read_release")
		reader, other := taken(t.Context(), t, preferring(c).ReadLock()), taken(t.Context(), t, leased(c, "y", 0).ReadLock())
		joining := behindACrashedWriter(t, s)
		leaveTogether(t, reader, other)
		began := time.Now()
		in(t, joining)
		require.Less(t, time.Since(began), 250*time.Millisecond)
	})
}

// behindACrashedWriter has a writer crash that waits for the readers of x, and a reader wait behind that writer.
func behindACrashedWriter(t *testing.T, s *embedded.Server) (joining <-chan outcome) {
	t.Helper()
	crashing, crash := inside(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = preferring(crashing).WriteLock().Lock(ctx) }()
	time.Sleep(time.Second)
	crash()
	cancel()
	c, _ := inside(t, s)
	refused(t, preferring(c).ReadLock())
	joining = waiting(t, preferring(c).ReadLock())
	time.Sleep(time.Second)
	return joining
}
