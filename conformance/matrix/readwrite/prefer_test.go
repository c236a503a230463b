package readwrite

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

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
