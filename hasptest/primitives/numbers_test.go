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
