package readwrite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestUpgradeWithinAWriter asks for the write lock as a reader who is the writer: it is a re-entry, but
// no more when the writer has become a reader.
func TestUpgradeWithinAWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock := client(t, s).NewReadWriteLock("x", nil)
		writer := taken(t.Context(), t, lock.WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		ctx := context.WithoutCancel(reader.Reenter(writer.Reenter(t.Context())))
		again := taken(ctx, t, lock.WriteLock())
		require.Equal(t, writer.Owner(), again.Owner())
		unlock(t, again, writer)
		_, err := lock.WriteLock().Lock(ctx)
		require.ErrorIs(t, err, primitives.ErrUpgrade)
		unlock(t, reader)
	})
}

// TestTokens are those of the writers: a reader has its predecessor's, so that one who has lost its
// lease has a lower one than the writer who came then.
func TestTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		lock := client(t, s).NewReadWriteLock("x", nil)
		token := func(l side) int64 {
			lease := taken(t.Context(), t, l)
			unlock(t, lease)
			return lease.Token()
		}
		early := token(lock.ReadLock())
		require.Positive(t, early)
		require.Equal(t, early, token(lock.ReadLock()))
		first := token(lock.WriteLock())
		require.Greater(t, first, early)
		require.Equal(t, first, token(lock.ReadLock()))
		require.Greater(t, token(lock.WriteLock()), first)
		require.Positive(t, left(t, s, "redisson_lock_token:{x}"))
	})
}

// TestCrashedReaderAmongOthers crashes a reader, while others hold the lock far beyond its lease: when
// they leave, the writer is in at once.
func TestCrashedReaderAmongOthers(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		crashing, crash := inside(t, s)
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		crashed := taken(t.Context(), t, crashing.NewReadWriteLock("x", nil).ReadLock())
		crash()
		living := taken(t.Context(), t, lock.ReadLock())
		writer := waiting(t, lock.WriteLock())
		time.Sleep(10 * time.Minute)
		cells.Want(t, false)(lock.ReadLock().IsHeldBy(t.Context(), crashed.Owner()))
		require.NoError(t, living.Err())
		require.Empty(t, writer)
		began := time.Now()
		unlock(t, living)
		unlock(t, in(t, writer))
		require.Less(t, time.Since(began), 200*time.Millisecond)
	})
}

// TestLastReadersAllCrash leaves nobody who could publish: a writer who waits is in when the longest of
// their leases ends, and one who comes then, too, though the key is still there for a moment.
func TestLastReadersAllCrash(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		crashing, crash := inside(t, s)
		c, _ := inside(t, s)
		began := time.Now()
		for _, lease := range []time.Duration{3 * time.Second, 7 * time.Second, time.Second} {
			taken(t.Context(), t, leased(crashing, "x", lease).ReadLock())
		}
		crash()
		cells.Text(t, s, "PEXPIRE", "x", "3600000") // as if it had been left longer
		unlock(t, in(t, waiting(t, c.NewReadWriteLock("x", nil).WriteLock())))
		require.InDelta(t, 7, time.Since(began).Seconds(), 0.2)
		require.Zero(t, cells.Number(t, s, "EXISTS", "x"))
	})
}

// TestRenewalTouchesItsOwn renews one of three readers' leases. The others' end when they must.
func TestRenewalTouchesItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		fixed := taken(t.Context(), t, leased(c, "x", 40*time.Second).ReadLock())
		java := newPeer(s, "x")
		java.readLock(t, time.Minute)
		java.readLock(t, 2*time.Minute)
		renewed := taken(t.Context(), t, c.NewReadWriteLock("x", nil).ReadLock())
		time.Sleep(30 * time.Second)
		require.Greater(t, left(t, s, sideKey("x", renewed)), 15*time.Second)
		require.Equal(t, 10*time.Second, left(t, s, sideKey("x", fixed)))
		require.Equal(t, 30*time.Second, left(t, s, java.sideKey(1)))
		require.Equal(t, 90*time.Second, left(t, s, java.sideKey(2)))
		require.Equal(t, 90*time.Second, left(t, s, "x"), "it is not shortened")
		time.Sleep(5 * time.Minute)
		require.Greater(t, left(t, s, "x"), 15*time.Second, "it is lengthened")
		unlock(t, renewed)
		require.Zero(t, cells.Number(t, s, "EXISTS", "x"), "none of the others is left")
	})
}

// TestWritersRenewalKeepsItsReadersLease renews a write lease that is shorter than that of a reader
// within it, which must outlive the writer.
func TestWritersRenewalKeepsItsReadersLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		writer := taken(t.Context(), t, c.NewReadWriteLock("x", nil).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, leased(c, "x", time.Minute).ReadLock())
		time.Sleep(25 * time.Second) // The watchdog has renewed the writer's 30 s twice.
		require.Equal(t, 35*time.Second, left(t, s, "x"))
		unlock(t, writer)
		require.Equal(t, 35*time.Second, left(t, s, "x"))
		unlock(t, reader)
	})
}

// TestRenewalReportsALostReader takes the lease of a reader away, of whom the lock still has the field.
func TestRenewalReportsALostReader(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c, _ := inside(t, s)
		lock := c.NewReadWriteLock("x", nil)
		lost, other := taken(t.Context(), t, lock.ReadLock()), taken(t.Context(), t, lock.ReadLock())
		cells.Text(t, s, "DEL", sideKey("x", lost))
		time.Sleep(10*time.Second + time.Millisecond)
		require.ErrorIs(t, lost.Err(), primitives.ErrLost)
		unlock(t, other)
	})
}

// TestOtherKinds meets what is no read-write lock: a lock keeps both sides out, anything else is a
// conflict.
func TestOtherKinds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		c := client(t, s)
		plain, err := c.NewLock("x", nil).TryLock(t.Context())
		require.NoError(t, err)
		cells.Text(t, s, "SET", "text", "1")
		lock, text := c.NewReadWriteLock("x", nil), c.NewReadWriteLock("text", nil)
		for _, l := range []side{lock.ReadLock(), lock.WriteLock()} {
			refused(t, l)
		}
		for _, l := range []side{text.ReadLock(), text.WriteLock()} {
			_, err := l.TryLock(t.Context())
			require.ErrorIs(t, err, primitives.ErrConflict)
			require.ErrorContains(t, err, "holds a string")
		}
		unlock(t, plain)
		require.Equal(t, "1", cells.Text(t, s, "GET", "text"))
	})
}

// TestWritersLeaveInTheBackground has the releases of two writers fail: the one of both in the background ends their
// holds, and leaves a lock to the writer's own reader.
func TestWritersLeaveInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		c := leavingTogether(t, s, "write_release")
		lock := c.NewReadWriteLock("x", nil)
		writer, other := taken(t.Context(), t, lock.WriteLock()), taken(t.Context(), t, c.NewReadWriteLock("y", nil).WriteLock())
		reader := taken(writer.Reenter(t.Context()), t, lock.ReadLock())
		leaveTogether(t, writer, other)
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "y"))
		cells.Want(t, false)(lock.WriteLock().IsLocked(t.Context()))
		cells.Want(t, true)(lock.ReadLock().IsLocked(t.Context()))
		unlock(t, reader)
	})
}

// leavingTogether returns a client whose releases of one hold, by that script, fail: it repeats them in the background,
// those of several holds as one.
func leavingTogether(t *testing.T, s *embedded.Server, script string) *primitives.Client {
	t.Helper()
	b, err := embedded.New(s, nil)
	require.NoError(t, err)
	r := &cells.Runner{Backend: b}
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
