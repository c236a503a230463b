package wait_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// latest is after how long every client of a crowd has tried, if no other message comes.
func latest(crowd int) time.Duration {
	return 2*time.Millisecond + time.Duration(crowd)*500*time.Microsecond
}

// waitTogether has so many clients wait for an object that is held, with a waiter each. Each knows how many
// heard its last release.
func waitTogether(t *testing.T, crowd int) *server {
	t.Helper()
	s := newServer(1)
	s.held = true
	for range crowd {
		s.waitAsOneOf(t, crowd)
	}
	time.Sleep(time.Second)
	return s
}

// waitAsOneOf has one of so many clients wait.
func (s *server) waitAsOneOf(t *testing.T, crowd int) {
	t.Helper()
	w := s.client(t, hour)
	w.NoteCrowd("c", int64(crowd))
	go func() { _ = w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
}

// triesAfter lets time pass, and returns how many have tried since there were so many tries.
func (s *server) triesAfter(d time.Duration, before int) int {
	time.Sleep(d)
	synctest.Wait()
	return s.tried() - before
}

// deliver gives an event to all who have subscribed.
func (s *server) deliver(event backend.Event) {
	for _, h := range s.subscribers() {
		h(event)
	}
}

func TestCrowdOfADozenTriesAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := waitTogether(t, 12)
		before := s.tried()
		s.publish("0")
		require.Equal(t, 12, s.triesAfter(0, before))
		require.Equal(t, 12, s.triesAfter(time.Second, before))
	})
}

// TestCrowdTriesLittleByLittle: of those who hear of one unit about two try at once, and each of the others
// once, later.
func TestCrowdTriesLittleByLittle(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const crowd, rounds = 100, 50
		s := waitTogether(t, crowd)
		atOnce := 0
		for range rounds {
			before := s.tried()
			s.publish("0")
			first := s.triesAfter(0, before)
			require.Equal(t, first, s.triesAfter(2*time.Millisecond-1, before))
			require.InDelta(t, crowd/2, s.triesAfter(latest(crowd)/2, before), 25, "they are spread over the time")
			require.Equal(t, crowd, s.triesAfter(latest(crowd)/2, before))
			require.Equal(t, crowd, s.triesAfter(time.Second, before))
			atOnce += first
		}
		require.InDelta(t, 2*rounds, atOnce, rounds)
	})
}

// TestCrowdIsBounded notes more clients than a server can have: the try that is put off comes within five seconds.
func TestCrowdIsBounded(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		s.waitAsOneOf(t, math.MaxInt)
		time.Sleep(time.Second)
		before := s.tried()
		s.deliver(backend.Event{Kind: backend.EventMessage, Payload: "0"})
		require.Positive(t, s.triesAfter(latest(10_000), before))
	})
}

// TestCrowdDrawsAnewForTheNextMessage: who has not tried yet when the next message comes tries once for both.
func TestCrowdDrawsAnewForTheNextMessage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const crowd = 100
		s := waitTogether(t, crowd)
		for range 20 {
			before := s.tried()
			s.publish("0")
			atOnce := s.triesAfter(time.Millisecond, before)
			s.publish("0")
			require.Equal(t, crowd+atOnce, s.triesAfter(time.Second, before))
		}
	})
}

// TestCrowdTriesTheSoonerTheMoreItHasPassed has messages come faster than anybody tries later: a client tries at
// once for one of a few, about as many as the square root of the crowd.
func TestCrowdTriesTheSoonerTheMoreItHasPassed(t *testing.T) {
	t.Parallel()
	const messages = 400
	for crowd, tries := range map[int]int{100: 44, 400: 22} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(1)
			s.held = true
			s.waitAsOneOf(t, crowd)
			time.Sleep(time.Second)
			tried, before, passed := 0, s.tried(), 0
			for range messages {
				s.publish("0")
				passed++
				if now := s.triesAfter(time.Millisecond, before); now > tried {
					tried, passed = now, 0
				}
				require.Less(t, passed, crowd/2)
			}
			require.InDelta(t, tries, tried, 0.75*float64(tries), "more than six standard deviations off")
		})
	}
}

// TestCrowdTriesAtOnce in four cases: more units than one are free, a message may have been missed, the crowd
// has become small, and the crowd has been forgotten.
func TestCrowdTriesAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(w *wait.Waiters)
		event     backend.Event
	}{
		"two units": {func(*wait.Waiters) {}, backend.Event{Payload: "2"}},
		"a gap":     {func(*wait.Waiters) {}, backend.Event{Kind: backend.EventResubscribed}},
		"few":       {func(w *wait.Waiters) { w.NoteCrowd("c", 12) }, backend.Event{Payload: "1"}},
		"forgotten": {func(w *wait.Waiters) {
			for i := range 1000 {
				w.NoteCrowd(strconv.Itoa(i), 100)
			}
		}, backend.Event{Payload: "1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pool{server: newServer(1)}
			w := p.client(t, hour)
			w.NoteCrowd("c", 1e6)
			go func() { _ = w.Wait(t.Context(), p.wants(1), units{p, 1}) }()
			time.Sleep(time.Second)
			c.meanwhile(w)
			before := p.tried()
			p.deliver(c.event)
			require.Equal(t, 1, p.triesAfter(0, before), name)
		})
	}
}

// TestCrowdEndsWithTheClient closes a client that has put off a message, and looks for the timer, whose time
// does not come meanwhile.
func TestCrowdEndsWithTheClient(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		client := listen.New(s, hour, zap.NewNop())
		w := wait.NewWaiters(client)
		w.NoteCrowd("c", 1e9)
		ended := make(chan error, 1)
		go func() { ended <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
		synctest.Wait()
		require.Equal(t, 2, s.tried())
		s.deliver(backend.Event{Payload: "0"})
		client.Close()
		client.AwaitEnd()
		require.ErrorIs(t, <-ended, backend.ErrClosed)
		forgotten := weak.Make(s.link)
		for range 100 {
			time.Sleep(time.Nanosecond) // The runtime forgets timers that were stopped.
			if runtime.GC(); forgotten.Value() == nil {
				return
			}
		}
		t.Error("a timer keeps the closed client")
	})
}

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
