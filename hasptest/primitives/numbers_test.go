package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// number is what both kinds of numbers offer to change one.
type number[T int64 | float64] interface {
	Add(ctx context.Context, delta T) (T, error)
	CompareAndSwap(ctx context.Context, old, value T) (bool, error)
	StoreIfGreater(ctx context.Context, bound, value T) (bool, error)
	StoreIfLess(ctx context.Context, bound, value T) (bool, error)
	Swap(ctx context.Context, value T) (T, error)
	Store(ctx context.Context, value T) error
	Expire(ctx context.Context, d time.Duration) (bool, error)
	TTL(ctx context.Context) (time.Duration, error)
}

// TestNumbersKeepTheirExpiry: changes that depend on the value do, whatever the value; the others remove it.
func TestNumbersKeepTheirExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newServer(t).client(t, nil)
		keepExpiry[int64](t, c.NewAtomicLong("long"), 0, -7, 1<<60, -1<<62)
		keepExpiry[float64](t, c.NewAtomicDouble("double"), 0, -1.5, 0.1, 1e21, -1e299, 1e300, -5e307)
	})
}

func keepExpiry[T int64 | float64](t *testing.T, n number[T], values ...T) {
	t.Helper()
	for _, x := range values {
		for name, c := range map[string]struct {
			change func(ctx context.Context) error
			want   time.Duration
		}{
			"Add":            {func(ctx context.Context) error { return errOf(n.Add(ctx, 1)) }, time.Hour},
			"CompareAndSwap": {func(ctx context.Context) error { return errOf(n.CompareAndSwap(ctx, x, 3)) }, time.Hour},
			"StoreIfGreater": {func(ctx context.Context) error { return errOf(n.StoreIfGreater(ctx, x/2-1, 3)) }, time.Hour},
			"StoreIfLess":    {func(ctx context.Context) error { return errOf(n.StoreIfLess(ctx, x/2+1, 3)) }, time.Hour},
			"Swap":           {func(ctx context.Context) error { return errOf(n.Swap(ctx, 3)) }, primitives.NoExpiry},
			"Store":          {func(ctx context.Context) error { return n.Store(ctx, 3) }, primitives.NoExpiry},
		} {
			require.NoError(t, n.Store(t.Context(), x))
			require.True(t, must(n.Expire(t.Context(), time.Hour))(t))
			require.NoError(t, c.change(t.Context()), "%s of %v", name, x)
			require.Equal(t, c.want, must(n.TTL(t.Context()))(t), "%s of %v", name, x)
		}
	}
}

// blockSize is that of generators that were not initialized.
const blockSize = 5000

// drawnID is what a call of Next returned.
type drawnID struct {
	id  int64
	err error
}

// drawIDs has n goroutines draw an id each, through generators of their own, and returns what they got.
func drawIDs(ctx context.Context, c *primitives.Client, n int) <-chan drawnID {
	all := make(chan drawnID, n)
	for range n {
		go func() {
			id, err := c.NewIDGenerator("x").Next(ctx)
			all <- drawnID{id, err}
		}()
	}
	return all
}

// sortedIDs returns what n calls returned, sorted. None may have failed.
func sortedIDs(t *testing.T, all <-chan drawnID, n int) (sorted []int64) {
	t.Helper()
	for range n {
		got := <-all
		require.NoError(t, got.err)
		sorted = append(sorted, got.id)
	}
	slices.Sort(sorted)
	return sorted
}

// idsFrom returns n ids from the first on.
func idsFrom(first int64, n int) (all []int64) {
	for i := range int64(n) {
		all = append(all, first+i)
	}
	return all
}

// TestIDGeneratorSharesRequests: those who need a block at the same time ask once for it.
func TestIDGeneratorSharesRequests(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		s.fault = func(string) fault { return fault{before: time.Second, after: time.Second} }
		c := s.client(t, nil)
		require.Equal(t, idsFrom(1, 2*blockSize), sortedIDs(t, drawIDs(t.Context(), c, 2*blockSize), 2*blockSize))
		require.Equal(t, 2, s.called("id_block"))
		require.Equal(t, []int64{2*blockSize + 1}, sortedIDs(t, drawIDs(t.Context(), s.client(t, nil), 1), 1))
		require.Equal(t, []int64{3*blockSize + 1}, sortedIDs(t, drawIDs(t.Context(), c, 1), 1))
	})
}

// TestIDGeneratorCallerLeaves: a caller that waits for a block leaves while it is requested, and then the caller that
// requests it leaves. The others request another.
func TestIDGeneratorCallerLeaves(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		s.fault = func(string) fault { return fault{lost: true} }
		c := s.client(t, nil)
		asking, stopAsking := context.WithCancelCause(t.Context())
		waiting, stopWaiting := context.WithCancelCause(t.Context())
		asks := drawIDs(asking, c, 1)
		synctest.Wait()
		waits, stay := drawIDs(waiting, c, 1), drawIDs(t.Context(), c, 3)
		synctest.Wait()
		s.faults(fault{})
		reason := errors.New("reason")
		stopWaiting(reason)
		synctest.Wait()
		require.Len(t, waits, 1, "it leaves at once")
		left := <-waits
		wraps(t, left.err, context.Canceled, reason)
		require.NotErrorIs(t, left.err, backend.ErrIndeterminate)
		stopAsking(reason)
		left = <-asks
		wraps(t, left.err, backend.ErrIndeterminate, reason)
		require.Equal(t, idsFrom(blockSize+1, 3), sortedIDs(t, stay, 3)) // The first block is skipped.
		require.Equal(t, 2, s.called("id_block"))
	})
}

// TestIDGeneratorSharesErrors: each of those who wait returns the error of the one request, and the next
// call asks again. A block whose answer was lost is skipped.
func TestIDGeneratorSharesErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault fault
		is    error
		next  int64
	}{
		{fault{before: 100 * time.Millisecond, err: fmt.Errorf("dial: %w", backend.ErrUnavailable)}, primitives.ErrUnavailable, 1},
		{fault{before: 100 * time.Millisecond, broken: true}, primitives.ErrIndeterminate, blockSize + 1},
	} {
		subtest(t, c.is.Error(), func(t *testing.T, s *server) {
			s.fault = func(string) fault { return c.fault }
			client := s.client(t, nil)
			all := drawIDs(t.Context(), client, 20)
			for range 20 {
				got := <-all
				require.ErrorIs(t, got.err, c.is)
				require.ErrorContains(t, got.err, `draw from id generator "x"`)
			}
			require.Equal(t, 1, s.called("id_block"))
			s.faults(fault{})
			require.Equal(t, []int64{c.next}, sortedIDs(t, drawIDs(t.Context(), client, 1), 1))
		})
	}
}

// TestIDGeneratorAfterAPanic: a panic of the driver is raised in the one who asked, and the next call asks
// again.
func TestIDGeneratorAfterAPanic(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		once := true
		s.fault = func(string) fault {
			defer func() { once = false }()
			return fault{panics: once}
		}
		c := s.client(t, nil)
		g := c.NewIDGenerator("x")
		require.PanicsWithValue(t, "hook", func() { _, _ = g.Next(t.Context()) })
		require.Equal(t, []int64{1}, sortedIDs(t, drawIDs(t.Context(), c, 1), 1))
	})
}

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
		began := time.Now()
		count("b", 0)
		require.NoError(t, <-opened)
		require.Less(t, time.Since(began), 100*time.Millisecond, "a message wakes it")
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
