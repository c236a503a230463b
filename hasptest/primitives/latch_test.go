package primitives_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestLatchCountsAPartOnce though answers are lost and its parts are done again, until the server has forgotten it.
func TestLatchCountsAPartOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		l, ctx := s.client(t, nil).NewPartsLatch("x"), t.Context()
		set := func(want bool) { require.Equal(t, want, must(l.Init(ctx, 2, time.Minute))(t)) }
		count := func(id string, want int64) {
			s.faults(fault{broken: true})
			require.ErrorIs(t, errOf(l.CountDown(ctx, id)), primitives.ErrIndeterminate)
			s.faults(fault{})
			require.Equal(t, want, must(l.CountDown(ctx, id))(t))
			require.Equal(t, want, must(l.Left(ctx))(t))
		}
		set(true)
		count("a", 1)
		set(false)
		require.Equal(t, []string{"1"}, s.do("GET", "x"), "Redisson's count")
		time.Sleep(59 * time.Second)
		opened := beside(func() error { return l.Wait(ctx) })
		synctest.Wait()
		require.Empty(t, opened)
		count("b", 0)
		require.NoError(t, <-opened)
		time.Sleep(59 * time.Second)
		count("a", 0)
		count("c", 0)
		require.NoError(t, l.Wait(ctx))
		set(false)
		time.Sleep(time.Second)
		require.ErrorIs(t, l.Wait(ctx), primitives.ErrNoLatch)
		set(true)
		count("a", 1)
	})
}

// TestLostLatchIsNotOpen: the server loses a latch for which callers of two clients wait.
func TestLostLatchIsNotOpen(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string][]string{
		"All": {"FLUSHALL"}, "Count": {"DEL", "x"}, "Parts": {"DEL", "hasp_latch_parts:{x}"}, "Expired": {"PEXPIRE", "x", "1"},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			errs := make(chan error, 6)
			clients := []*primitives.Client{s.client(t, nil), s.client(t, nil)}
			require.NoError(t, errOf(clients[0].NewPartsLatch("x").Init(t.Context(), 2, time.Hour)))
			for i := range cap(errs) {
				go func() { errs <- clients[i%2].NewPartsLatch("x").Wait(t.Context()) }()
			}
			synctest.Wait()
			began := time.Now()
			s.do(lose...)
			for range cap(errs) {
				require.ErrorIs(t, <-errs, primitives.ErrNoLatch)
			}
			require.Less(t, time.Since(began), 6*time.Second, "a poll finds it")
			_, err := clients[1].NewPartsLatch("x").CountDown(t.Context(), "a")
			require.ErrorIs(t, err, primitives.ErrNoLatch)
			require.False(t, errors.Is(err, primitives.ErrIndeterminate))
		})
	}
}

// TestLatchesOfOneName: what a CountDownLatch does to the PartsLatch of its name, and the other way round.
func TestLatchesOfOneName(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, ctx := s.client(t, nil), t.Context()
		count, parts := c.NewCountDownLatch("x"), c.NewPartsLatch("x")
		require.True(t, must(parts.Init(ctx, 3, time.Hour))(t))
		require.False(t, must(count.InitCount(ctx, 5))(t), "it is set")
		require.Equal(t, int64(3), must(count.Count(ctx))(t))
		opened := beside(func() error { return count.Wait(ctx) })
		require.Equal(t, int64(2), must(count.CountDown(ctx))(t))
		require.Equal(t, int64(1), must(parts.CountDown(ctx, "a"))(t))
		require.Equal(t, int64(0), must(parts.CountDown(ctx, "b"))(t), "too early by the part that nobody has done")
		require.NoError(t, <-opened)
		require.NoError(t, parts.Wait(ctx))
		require.True(t, must(count.Delete(ctx))(t), "also what was remembered")

		require.True(t, must(parts.Init(ctx, 1, time.Hour))(t))
		require.Equal(t, int64(0), must(count.CountDown(ctx))(t))
		require.ErrorIs(t, parts.Wait(ctx), primitives.ErrNoLatch, "the CountDownLatch was open, and is gone")

		require.True(t, must(parts.Delete(ctx))(t), "what is left of it")
		require.True(t, must(count.InitCount(ctx, 2))(t))
		require.False(t, must(parts.Init(ctx, 2, time.Hour))(t))
		require.ErrorIs(t, errOf(parts.CountDown(ctx, "a")), primitives.ErrNoLatch)
		require.ErrorIs(t, errOf(parts.Left(ctx)), primitives.ErrNoLatch)
		require.ErrorIs(t, parts.Wait(ctx), primitives.ErrNoLatch)
		require.Equal(t, int64(2), must(count.Count(ctx))(t))
	})
}

// TestWaitUntilPartsAreSet, not until a CountDownLatch is: by a message, or before.
func TestWaitUntilPartsAreSet(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, other, ctx := s.client(t, nil), s.client(t, nil), t.Context()
		set := make(chan error, 4)
		for range cap(set) {
			go func() { set <- c.NewPartsLatch("x").WaitUntilSet(ctx) }()
		}
		synctest.Wait()
		require.True(t, must(other.NewCountDownLatch("x").InitCount(ctx, 1))(t))
		time.Sleep(time.Minute)
		require.Empty(t, set)
		require.Equal(t, int64(0), must(other.NewCountDownLatch("x").CountDown(ctx))(t))
		began := time.Now()
		require.True(t, must(other.NewPartsLatch("x").Init(ctx, 1, time.Hour))(t))
		for range cap(set) {
			require.NoError(t, <-set)
		}
		require.Less(t, time.Since(began), time.Second, "by the message")
		require.Equal(t, int64(0), must(other.NewPartsLatch("x").CountDown(ctx, "a"))(t))
		require.NoError(t, c.NewPartsLatch("x").WaitUntilSet(ctx), "it is open")
	})
}
