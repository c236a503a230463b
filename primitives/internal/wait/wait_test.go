package wait_test

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// hour is a poll that no test waits for: what wakes a waiter must be a message.
const hour = time.Hour

// TestWaitServesInTurn: the waiters of one client get the object in the order in which they came.
func TestWaitServesInTurn(t *testing.T) {
	onHeld(t, func(t *testing.T, s *server, w *wait.Waiters) {
		var served []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if w.Wait(t.Context(), wakeOne("o"), s.attempt()) == nil {
					served = append(served, i) // One has the object at a time.
					s.release()
				}
			})
			time.Sleep(time.Second) // It is parked.
		}
		s.release()
		all.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, served)
	})
}

// gate grants every attempt once it is open. Each answer takes a second.
type gate struct{ open atomic.Bool }

// Try implements wait.Attempt.
func (g *gate) Try(context.Context) (wait.Answer, error) {
	defer time.Sleep(time.Second)
	return wait.Answer{Granted: g.open.Load(), RetryIn: -1}, nil
}

func TestWaitPollsWithoutPubSub(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.mute, s.held = true, true
		w := s.client(t, 2*time.Second)
		time.AfterFunc(10*time.Second, s.release)
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Less(t, time.Since(start), 12500*time.Millisecond)
		require.Zero(t, s.subscribes)
	})
}

// TestWaitConditionsPollEachByItself has two wait for one object: of what the first waits for nothing comes,
// and nobody tells the second that what it waits for is there.
func TestWaitConditionsPollEachByItself(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newServer(1).client(t, 5*time.Second)
		never, then := &gate{}, &gate{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		first, second := wakeOne("o"), wakeOne("o")
		second.Condition = "another"
		go func() { _ = w.Wait(ctx, first, never) }()
		time.Sleep(time.Minute) // Its tries have come first, and come again each time.
		time.AfterFunc(time.Minute, func() { then.open.Store(true) })
		start := time.Now()
		require.NoError(t, w.Wait(ctx, second, then))
		require.Less(t, time.Since(start), time.Minute+10*time.Second)
	})
}

// TestWaitKnowsTheEndOfItsClientsOwnLease: the first of two waiters is granted a lease that expires without
// a message.
func TestWaitKnowsTheEndOfItsClientsOwnLease(t *testing.T) {
	onHeld(t, func(t *testing.T, s *server, w *wait.Waiters) {
		for range 2 {
			go func() { _ = w.Wait(t.Context(), wakeOne("o"), leasing{s}) }()
		}
		time.Sleep(time.Second)
		s.release()
		time.Sleep(time.Second)
		before := s.tried()
		require.Greater(t, before, 2, "the first is granted")
		time.Sleep(3 * time.Second)
		require.Greater(t, s.tried(), before)
		s.set(func() { s.held = false })
	})
}

// leasing is an attempt that is granted a lease of three seconds, and never releases it.
type leasing struct{ s *server }

// Try implements wait.Attempt.
func (l leasing) Try(ctx context.Context) (wait.Answer, error) {
	answer, err := attempt(l).Try(ctx)
	if answer.Granted {
		answer.RetryIn = 3 * time.Second
	}
	return answer, err
}

// TestWaitLongestTimes: a poll, or the rest of the holder's lease, is as long as a Duration can say.
func TestWaitLongestTimes(t *testing.T) {
	t.Parallel()
	end := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for poll, expires := range map[time.Duration]time.Time{math.MaxInt64: {}, hour: end} {
		synctest.Test(t, func(t *testing.T) {
			require.Equal(t, time.Duration(math.MaxInt64), time.Until(end))
			s := newServer(1)
			s.held, s.expires = true, expires
			w := s.client(t, poll)
			time.AfterFunc(time.Minute, s.release)
			require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
			require.Equal(t, 3, s.tries)
		})
	}
}

// TestWaitPrivateDoesNotLinger: nobody else needs the subscription.
func TestWaitPrivateDoesNotLinger(t *testing.T) {
	onHeld(t, func(t *testing.T, s *server, w *wait.Waiters) {
		want := wakeOne("o")
		want.Private = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Wait(ctx, want, s.attempt()), context.DeadlineExceeded)
		require.Zero(t, s.subscribed())
		s.ackAfter = time.Hour
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Wait(ctx, want, s.attempt()), context.DeadlineExceeded)
		time.Sleep(2 * time.Hour)
		require.Zero(t, s.subscribed())
		require.Equal(t, 2, s.subscribes)
	})
}

// TestWaitMovesAtOnce moves again when the first attempt at the new channel gets no answer either: the
// attempt is another owner's then, whose messages come elsewhere.
func TestWaitMovesAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		w := s.client(t, hour)
		start := time.Now()
		err := w.Wait(t.Context(), wakeOne("o"), tryFunc(func() (wait.Answer, error) {
			return wait.Answer{Outage: true, Moved: true, RetryIn: -1}, nil
		}))
		require.ErrorIs(t, err, wait.ErrMoved)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err = w.Wait(ctx, wakeOne("o"), tryFunc(func() (wait.Answer, error) {
			return wait.Answer{Outage: true, Moved: true, RetryIn: -1}, nil
		}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, s.subscribes)
	})
}

// TestWaitPassesOnItsWakeUp: a woken waiter that leaves without an answer wakes the next, wherever it leaves.
func TestWaitPassesOnItsWakeUp(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]tryFunc{
		"by an error": func() (wait.Answer, error) { return wait.Answer{}, io.EOF },
		"in a pause":  func() (wait.Answer, error) { return wait.Answer{Outage: true, RetryIn: -1}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				s := newServer(1)
				w, free, next := s.client(t, hour), atomic.Bool{}, make(chan error, 1)
				first := tryFunc(func() (wait.Answer, error) {
					if free.Load() {
						return leaves()
					}
					return wait.Answer{RetryIn: -1}, nil
				})
				second := tryFunc(func() (wait.Answer, error) { return wait.Answer{Granted: free.Load(), RetryIn: -1}, nil })
				ctx, leave := context.WithCancel(t.Context())
				go func() { _ = w.Wait(ctx, wakeOne("o"), first) }()
				time.Sleep(time.Second)
				go func() { next <- w.Wait(t.Context(), wakeOne("o"), second) }()
				time.Sleep(time.Second)
				free.Store(true)
				s.publish("0")
				time.Sleep(50 * time.Millisecond)
				leave()
				time.Sleep(time.Second)
				require.Len(t, next, 1)
			})
		})
	}
}

// TestWaitForgetsTheWakeUpOfALeaver: what a message had for one that has left makes nobody try for whom the next message has too little.
func TestWaitForgetsTheWakeUpOfALeaver(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		w, want, tries := s.client(t, hour), wakeOne("o"), atomic.Int32{}
		want.FreeUnits = func(free string) int { return len(free) }
		during := func(message string, granted bool) tryFunc {
			return func() (wait.Answer, error) {
				tries.Add(1)
				time.Sleep(time.Second)
				s.publish(message)
				time.Sleep(time.Second)
				return wait.Answer{Granted: granted, RetryIn: -1}, nil
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		other := want
		other.Need = 6 // It stays in the queue.
		go func() {
			_ = w.Wait(ctx, other, tryFunc(func() (wait.Answer, error) { return wait.Answer{RetryIn: -1}, nil }))
		}()
		time.Sleep(time.Second)
		require.NoError(t, w.Wait(ctx, want, during("12345", true)))
		want.Need = 5
		go func() { _ = w.Wait(ctx, want, during("1", false)) }()
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, tries.Load())
	})
}

type tryFunc func() (wait.Answer, error)

func (f tryFunc) Try(context.Context) (wait.Answer, error) { return f() }

// TestWaitSubscribesAgainWhateverThePoll fails to subscribe twice, with polls an hour apart: the
// message of the release arrives all the same.
func TestWaitSubscribesAgainWhateverThePoll(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.refusals = true, 2
		w := s.client(t, hour)
		done := make(chan error, 1)
		go func() { done <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
		time.Sleep(5 * time.Second)
		s.set(func() { require.Equal(t, 3, s.subscribes) })
		tries := s.tried()
		time.Sleep(time.Minute)
		require.Equal(t, tries, s.tried(), "subscribed, it does not poll")
		start := time.Now()
		s.release()
		require.NoError(t, <-done)
		require.Less(t, time.Since(start), time.Second)
	})
}

// TestWaitListensAfterTheMessage: a message comes between the refusal of a waiter's first try and its joining of a queue,
// in which by then somebody waits for more.
func TestWaitListensAfterTheMessage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := &pool{server: newServer(1)}
		w := p.client(t, hour)
		start, tries, done := time.Now(), 0, make(chan error)
		go func() {
			done <- w.Wait(t.Context(), p.wants(1), tryFunc(func() (wait.Answer, error) {
				tries++
				time.Sleep(time.Minute)
				return wait.Answer{Granted: tries == 2, RetryIn: -1}, nil
			}))
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = w.Wait(ctx, p.wants(9), units{p, 9}) }()
		time.Sleep(time.Minute / 2)
		p.give(1)
		require.NoError(t, <-done)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}

// TestWaitGivesTheOthersNeeds: before a try, a waiter gets the needs of those that are parked, not its own.
func TestWaitGivesTheOthersNeeds(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := &pool{server: newServer(1)}
		w := p.client(t, hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got [][2]int
		var all sync.WaitGroup
		for _, need := range []int{4, 2, 7, 3} {
			want := p.wants(need)
			if need == 3 {
				want.Others = func(least, most int) { got = append(got, [2]int{least, most}) }
			}
			all.Go(func() { _ = w.Wait(ctx, want, units{p, need}) })
			time.Sleep(10 * time.Second)
		}
		all.Wait()
		require.Equal(t, [][2]int{{2, 7}}, got)
	})
}
