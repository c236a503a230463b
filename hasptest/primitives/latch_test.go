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
		l, ctx := s.client(t, nil).NewCountDownLatch("x"), t.Context()
		set := func(want bool) {
			got := must(l.InitParts(ctx, 2, time.Minute))(t)
			require.Equal(t, want, got)
		}
		count := func(id string, want int64) {
			s.faults(fault{broken: true})
			require.ErrorIs(t, errOf(l.CountDownOnce(ctx, id)), primitives.ErrIndeterminate)
			s.faults(fault{})
			left := must(l.CountDownOnce(ctx, id))(t)
			require.Equal(t, want, left)
		}
		set(true)
		count("a", 1)
		set(false)
		require.Equal(t, []string{"1"}, s.do("GET", "x"), "Redisson's count")
		time.Sleep(59 * time.Second)
		opened := beside(func() error { return l.WaitParts(ctx) })
		synctest.Wait()
		require.Empty(t, opened)
		count("b", 0)
		require.NoError(t, <-opened)
		time.Sleep(59 * time.Second)
		count("a", 0)
		count("c", 0)
		require.NoError(t, l.WaitParts(ctx))
		set(false)
		time.Sleep(time.Second)
		require.ErrorIs(t, l.WaitParts(ctx), primitives.ErrNoLatch)
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
			require.NoError(t, errOf(clients[0].NewCountDownLatch("x").InitParts(t.Context(), 2, time.Hour)))
			for i := range cap(errs) {
				go func() { errs <- clients[i%2].NewCountDownLatch("x").WaitParts(t.Context()) }()
			}
			synctest.Wait()
			began := time.Now()
			s.do(lose...)
			for range cap(errs) {
				require.ErrorIs(t, <-errs, primitives.ErrNoLatch)
			}
			require.Less(t, time.Since(began), 6*time.Second, "a poll finds it")
			_, err := clients[1].NewCountDownLatch("x").CountDownOnce(t.Context(), "a")
			require.ErrorIs(t, err, primitives.ErrNoLatch)
			require.False(t, errors.Is(err, primitives.ErrIndeterminate))
		})
	}
}
