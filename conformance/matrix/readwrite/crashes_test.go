package readwrite

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestWritersAmongCrashingReaders lets 20 readers with random leases come and go for a minute, of whom a
// third crashes, and a writer every second. Each writer is in within 200 ms and a poll after the last
// read hold has ended that kept it out, and no reader is evicted before its lease has ended.
func TestWritersAmongCrashingReaders(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		const minute, poll = time.Minute, time.Second
		var holds readHolds
		var all sync.WaitGroup
		end := time.Now().Add(minute)
		for range 20 {
			all.Go(func() {
				for time.Now().Before(end) {
					time.Sleep(rand.N(20 * time.Second)) //nolint:gosec // A schedule.
					holds.readOnce(t, s)
				}
			})
		}
		c, _ := polling(t, s, poll)
		writers := 0
		for ; time.Now().Before(end); writers++ {
			time.Sleep(time.Second)
			asked := time.Now()
			writer, err := c.NewReadWriteLock("x", nil).WriteLock().Lock(t.Context())
			require.NoError(t, err)
			lastEnd := holds.requireNone(t)
			if lastEnd.Before(asked) {
				lastEnd = asked
			}
			require.LessOrEqual(t, time.Since(lastEnd), 200*time.Millisecond+poll*11/10)
			unlock(t, writer)
		}
		all.Wait()
		require.Greater(t, writers, 3)
		t.Logf("%d writers, %d read holds, %d of them crashed", writers, len(holds.ends), holds.crashed)
	})
}

// readHolds are when the server ended, or will end, each read hold; zero: it is held without an end.
type readHolds struct {
	mu      sync.Mutex
	ends    map[*primitives.Lease]time.Time
	crashed int
}

// readOnce is a process that reads once, and crashes or not.
func (h *readHolds) readOnce(t *testing.T, s *embedded.Server) {
	t.Helper()
	c, crash := polling(t, s, time.Second)
	length := 200*time.Millisecond + rand.N(2*time.Second).Truncate(time.Millisecond) //nolint:gosec // A schedule.
	lease, err := leased(c, "x", length).ReadLock().Lock(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	crashes := rand.N(3) == 0 //nolint:gosec // A schedule.
	h.note(lease, time.Now().Add(length), crashes)
	if crashes {
		crash()
		return
	}
	time.Sleep(rand.N(length * 8 / 10)) //nolint:gosec // A schedule.
	h.note(lease, time.Now(), false)
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func (h *readHolds) note(lease *primitives.Lease, ends time.Time, crashed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ends == nil {
		h.ends = map[*primitives.Lease]time.Time{}
	}
	h.ends[lease] = ends
	if crashed {
		h.crashed++
	}
}

// requireNone requires that every read hold has ended, and returns when the last one did.
func (h *readHolds) requireNone(t *testing.T) (last time.Time) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for lease, end := range h.ends {
		require.False(t, end.After(time.Now()), "a writer is in beside %s", lease.Owner())
		if end.After(last) {
			last = end
		}
	}
	return last
}

// TestLostAnswersAreGivenBack loses the answers of acquires on both sides, of several locks at once:
// nothing is held afterwards, and nobody waits for a lease to end.
func TestLostAnswersAreGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *embedded.Server) {
		b, err := embedded.New(s, nil)
		require.NoError(t, err)
		var lost atomic.Bool
		r := &cells.Runner{Backend: b}
		r.Instead = func(ctx context.Context, call backend.Call) (backend.Reply, error) {
			reply, err := r.Good(ctx, call)
			if lost.Load() && call.Script.Retry == backend.Never && isAcquire(call.Script.Name) {
				return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
			}
			return reply, err
		}
		c := cells.Over(t, r, nil)
		names := []string{"a", "b", "c", "{d}:e"}
		lost.Store(true)
		for _, name := range names {
			l := c.NewReadWriteLock(name, nil)
			for _, l := range []side{l.ReadLock(), l.ReadLock(), l.WriteLock()} {
				_, err := l.TryLock(t.Context())
				require.ErrorIs(t, err, primitives.ErrIndeterminate)
			}
		}
		time.Sleep(time.Second)
		lost.Store(false)
		for _, name := range names {
			unlock(t, taken(t.Context(), t, c.NewReadWriteLock(name, nil).WriteLock()))
		}
	})
}

func isAcquire(script string) bool { return script == "read_acquire" || script == "write_acquire" }
