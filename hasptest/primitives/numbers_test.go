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
		require.Equal(t, []int64{blockSize + 1, blockSize + 2, blockSize + 3}, sortedIDs(t, stay, 3)) // The first block is skipped.
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
		s.once("", fault{panics: true})
		c := s.client(t, nil)
		g := c.NewIDGenerator("x")
		require.PanicsWithValue(t, "hook", func() { _, _ = g.Next(t.Context()) })
		require.Equal(t, []int64{1}, sortedIDs(t, drawIDs(t.Context(), c, 1), 1))
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

// TestWaitUntilPartsAreSet, not until a CountDownLatch is, and until they are counted: by messages.
func TestWaitUntilPartsAreSet(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c, other, ctx := s.client(t, &primitives.Options{PollInterval: time.Hour}), s.client(t, nil), t.Context()
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
		open := beside(func() error { return c.NewPartsLatch("x").Wait(ctx) })
		synctest.Wait()
		require.Equal(t, int64(0), must(other.NewPartsLatch("x").CountDown(ctx, "a"))(t))
		require.NoError(t, <-open)
		require.Less(t, time.Since(began), time.Second)
		require.NoError(t, c.NewPartsLatch("x").WaitUntilSet(ctx), "it is open")
	})
}
