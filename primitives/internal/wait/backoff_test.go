package wait_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// pausing is a waiter who hears no message.
func pausing() wait.Want {
	return wait.Want{Object: "o", Spec: wait.Spec{Backoff: wait.Backoff{First: time.Millisecond, Most: 128 * time.Millisecond}}}
}

// TestBackoffDoubles waits for long, without messages.
func TestBackoffDoubles(t *testing.T) {
	onHeld(t, func(t *testing.T, s *server, w *wait.Waiters) {
		time.AfterFunc(time.Minute, s.release)
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), pausing(), s.attempt()))
		require.LessOrEqual(t, time.Since(start), time.Minute+130*time.Millisecond)
		require.Zero(t, s.subscribes)
		// 1, 2, 4 ... 64 ms come first, and each pause is at least half as long as it may be.
		require.Greater(t, s.tries, 60_000/130)
		require.Less(t, s.tries, 60_000/64+20)
	})
}

// TestBackoffOneTriesForAll: however many wait, however slow the server is.
func TestBackoffOneTriesForAll(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.latency = true, 400*time.Millisecond
		w := s.client(t, hour)
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if w.Wait(t.Context(), pausing(), s.attempt()) == nil {
					s.release()
				}
			})
		}
		time.Sleep(time.Minute)
		require.Less(t, s.tried(), 2*crowd+60_000/400)
		s.release()
		all.Wait()
	})
}

// TestBackoffBeginsAnew: after a grant pauses are short again.
func TestBackoffBeginsAnew(t *testing.T) {
	t.Parallel()
	_, all := served(t, time.Minute)
	require.Less(t, all, 128*time.Millisecond+crowd*16*time.Millisecond)
}

// TestBackoffIsNotForNewcomers: however many come at once, pauses are as if one had come.
func TestBackoffIsNotForNewcomers(t *testing.T) {
	t.Parallel()
	first, _ := served(t, 1500*time.Microsecond)
	require.Less(t, first, 8*time.Millisecond)
}

// crowd is how many wait at once.
const crowd = 50

// served has a crowd wait for an object, which is free after a time, and which each of them has for a
// millisecond. It returns how long after that the first had it, and the last.
func served(t *testing.T, after time.Duration) (first, last time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		var all sync.WaitGroup
		var free time.Time
		for range crowd {
			all.Go(func() {
				if w.Wait(t.Context(), pausing(), s.attempt()) == nil {
					last = time.Since(free) // One has the object at a time.
					if first == 0 {
						first = last
					}
					time.Sleep(time.Millisecond)
					s.release()
				}
			})
		}
		time.Sleep(after)
		free = time.Now()
		s.release()
		all.Wait()
	})
	return first, last
}

// TestBackoffAfterUndoneGrants has grants that cannot be used: pauses grow, whether others wait or not, no
// message ends them, and they begin anew after a refusal.
func TestBackoffAfterUndoneGrants(t *testing.T) {
	t.Parallel()
	for _, crowded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(1)
			w := s.client(t, hour)
			if crowded { // There is a queue.
				s.held = true
				go func() { _ = w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
				synctest.Wait()
			}
			undone, tries := 0, []time.Time{}
			wants := wakeOne("o")
			undo := tryFunc(func() (wait.Answer, error) {
				tries = append(tries, time.Now())
				undone++
				s.publish("0")
				return wait.Answer{Undone: undone, Granted: undone > 12, RetryIn: -1}, nil
			})
			err := wait.ErrMoved
			for errors.Is(err, wait.ErrMoved) {
				err = w.Wait(t.Context(), wants, undo)
			}
			require.NoError(t, err)
			require.Len(t, tries, 13)
			most := 50 * time.Millisecond
			for i, at := range tries[1:] {
				require.GreaterOrEqual(t, at.Sub(tries[i]), most/2, i)
				require.LessOrEqual(t, at.Sub(tries[i]), most, i)
				most = min(2*most, time.Second)
			}
			s.release()
		})
	}
}

// TestWaitLooksAtTooFew: a message of too few units makes one waiter try where units return without one,
// since what a refusal said of that may be out of date; elsewhere it makes none try.
func TestWaitLooksAtTooFew(t *testing.T) {
	t.Parallel()
	for returns, tries := range map[bool]int{true: 1, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			p := &pool{server: newServer(1)}
			w := p.client(t, hour)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for range 3 {
				go func() {
					want := p.wants(2)
					want.Returns = returns
					_ = w.Wait(ctx, want, units{p, 2})
				}()
			}
			time.Sleep(time.Second)
			before := p.tried()
			p.give(1)
			time.Sleep(time.Second)
			require.Equal(t, tries, p.tried()-before, "returns: %v", returns)
		})
	}
}
