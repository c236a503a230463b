package primitives_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

func TestReadWriteLockIsOneScriptEach(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewReadWriteLock("x", nil)
		require.Equal(t, "x", lock.Name())
		for range 2 {
			writer := must(lock.WriteLock().Lock(t.Context()))(t)
			_, err := lock.ReadLock().TryLock(t.Context())
			require.ErrorIs(t, err, primitives.ErrNotAcquired)
			require.ErrorContains(t, err, `acquire read lock "x"`)
			require.NoError(t, writer.Release(t.Context()))
			one := must(lock.ReadLock().Lock(t.Context()))(t)
			two := must(lock.ReadLock().Lock(t.Context()))(t)
			require.NotEqual(t, one.Owner(), two.Owner())
			require.Equal(t, writer.Token(), two.Token())
			require.NoError(t, one.Release(t.Context()))
			require.NoError(t, two.Release(t.Context()))
		}
		require.Equal(t, map[string]int{
			"read_acquire": 6, "read_release": 4, "write_acquire": 2, "write_release": 2,
		}, s.calls)
	})
}

// TestReadWriteLockWakesItsWaiters counts the tries: a message wakes the readers before the first writer,
// or that writer alone.
func TestReadWriteLockWakesItsWaiters(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, &primitives.Options{PollInterval: time.Hour}).NewReadWriteLock("x", nil)
		holder := must(lock.WriteLock().Lock(t.Context()))(t)
		entered := make(chan *primitives.Lease, 10)
		wait := func(lock func(context.Context) (*primitives.Lease, error)) {
			go func() {
				lease, err := lock(t.Context())
				if err != nil {
					t.Error(err)
				}
				entered <- lease
			}()
			time.Sleep(time.Second) // The order is that of coming.
		}
		wait(lock.WriteLock().Lock)
		for range 3 {
			wait(lock.ReadLock().Lock)
		}
		wait(lock.WriteLock().Lock)
		reads, writes := s.called("read_acquire"), s.called("write_acquire")

		require.NoError(t, holder.Release(t.Context()))
		writer := <-entered
		time.Sleep(time.Second)
		require.Empty(t, entered)
		require.Equal(t, reads, s.called("read_acquire"), "the writer alone has tried")
		require.Equal(t, writes+1, s.called("write_acquire"))

		require.NoError(t, writer.Release(t.Context()))
		time.Sleep(time.Second)
		require.Len(t, entered, 3)
		require.Equal(t, reads+3, s.called("read_acquire"))
		require.Equal(t, writes+1, s.called("write_acquire"), "the readers alone have tried")
		for range 3 {
			require.NoError(t, (<-entered).Release(t.Context()))
		}
		require.NoError(t, (<-entered).Release(t.Context()))
		require.Equal(t, writes+2, s.called("write_acquire"))
	})
}

// TestReadWriteLockManyWritersComeAtOnce while a reader is in: each tries about once.
func TestReadWriteLockManyWritersComeAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		const writers = 50
		lock := s.client(t, nil).NewReadWriteLock("x", nil)
		reader := must(lock.ReadLock().Lock(t.Context()))(t)
		rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // A test's schedule.
		some := func() time.Duration { return time.Duration(rng.Int64N(int64(time.Millisecond))) }
		s.faults(fault{before: some(), after: some()})
		entered := make(chan error, writers)
		for range writers {
			go func() {
				lease, err := lock.WriteLock().Lock(t.Context())
				if err == nil {
					err = lease.Release(t.Context())
				}
				entered <- err
			}()
		}
		time.Sleep(time.Second)
		require.Less(t, s.called("write_acquire"), 3*writers)
		require.NoError(t, reader.Release(t.Context()))
		for range writers {
			require.NoError(t, <-entered)
		}
	})
}
