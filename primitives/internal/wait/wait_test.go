package wait_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// hour is a poll that no test waits for: what wakes a waiter must be a message.
const hour = time.Hour

// linger is how long a subscription outlives its last waiter.
const linger = 500 * time.Millisecond

func TestWaitGrantedAtOnceDoesNotSubscribe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		w := s.client(t, hour)
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Zero(t, s.subscribes)
		require.Equal(t, 1, s.tries)
	})
}

func TestWaitTriesAgainAfterAcknowledgement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		// The release is published before the subscription is acknowledged: nobody receives it.
		s.ackAfter = time.Second
		time.AfterFunc(500*time.Millisecond, s.release)
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Less(t, time.Since(start), 2*time.Second)
		require.Equal(t, 2, s.tries)
	})
}

func TestWaitOneSubscriptionForAllWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := w.Wait(t.Context(), wakeOne("o"), s.attempt()); err == nil {
					s.release()
				}
			})
		}
		time.Sleep(time.Second)
		tries := s.tried()
		s.release()
		all.Wait()
		require.Equal(t, 1, s.subscribes)
		// One wake-up, one try: however many wait, passing the lock on costs a script or two.
		require.LessOrEqual(t, s.tried()-tries, 2*50)
	})
}

// TestWaitServesInTurn: the waiters of one client get the object in the order in which they came.
func TestWaitServesInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
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

// TestWaitOneTriesForEachMessage announces releases faster than a try takes, while others are always
// quicker: those that are trying must not all try again for each.
func TestWaitOneTriesForEachMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.latency = true, 25*time.Millisecond
		w := s.client(t, hour)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := w.Wait(t.Context(), wakeOne("o"), s.attempt()); err == nil {
					s.release()
				}
			})
		}
		time.Sleep(time.Second)
		tries := s.tried()
		for range 200 {
			s.publish("0")
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Second)
		require.InDelta(t, 200, s.tried()-tries, 20)
		s.release()
		all.Wait()
	})
}

// TestWaitOneMessageAmongManyTries lets one message come while many are trying and none is parked:
// one of them tries again, and if that fails, the next.
func TestWaitOneMessageAmongManyTries(t *testing.T) {
	t.Parallel()
	for failures := range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(1)
			s.held = true
			w := s.client(t, hour)
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() { first <- w.Wait(ctx, wakeOne("o"), s.attempt()) }()
			time.Sleep(time.Second)
			s.set(func() { s.latency = 10 * time.Millisecond })
			done := make(chan error, 20)
			for range cap(done) {
				go func() { done <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
			}
			synctest.Wait()
			cancel() // It stays no longer, so that nobody is parked.
			require.Error(t, <-first)
			time.Sleep(15 * time.Millisecond) // All are refused, and do not know it yet.
			tries := s.tried()
			s.set(func() { s.latency, s.failNext = 0, failures })
			s.release()
			time.Sleep(time.Second)
			require.Equal(t, failures+1, s.tried()-tries)
			for range failures {
				require.Error(t, <-done)
			}
			for range cap(done) - failures {
				require.NoError(t, <-done)
				s.release()
			}
		})
	}
}

// TestWaitAllAreWoken opens a gate for all while some are parked and some have just seen it shut.
func TestWaitAllAreWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newServer(1), &gate{}
		w := s.client(t, hour)
		var all sync.WaitGroup
		through := func() {
			gateFor := wakeOne("o")
			gateFor.FreeUnits = func(string) int { return wait.AllUnits }
			if err := w.Wait(t.Context(), gateFor, g); err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			all.Go(through)
		}
		time.Sleep(time.Minute)
		for range 3 {
			all.Go(through)
		}
		time.Sleep(time.Millisecond)
		g.open.Store(true)
		s.publish("0")
		start := time.Now()
		all.Wait()
		require.Less(t, time.Since(start), 3*time.Second)
	})
}

// gate grants every attempt once it is open. Each answer takes a second.
type gate struct{ open atomic.Bool }

// Try implements wait.Attempt.
func (g *gate) Try(context.Context) (wait.Answer, error) {
	defer time.Sleep(time.Second)
	return wait.Answer{Granted: g.open.Load(), RetryIn: -1}, nil
}

// TestWaitAgainIsNotPolled waits twice in a row: the second waiter finds the subscription of the
// first, and not its timer.
func TestWaitAgainIsNotPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		time.AfterFunc(time.Second, s.release)
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		time.Sleep(linger / 2)
		time.AfterFunc(time.Minute, s.release)
		tries := s.tried()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Equal(t, 2, s.tried()-tries)
		require.Equal(t, 1, s.subscribes)
	})
}

func TestWaitPollsWithoutPubSub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

func TestWaitPollsWhenMessagesAreLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.lossy = true, true
		w := s.client(t, 5*time.Second)
		time.AfterFunc(30*time.Second, s.release)
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Less(t, time.Since(start), 36*time.Second)
		require.Less(t, s.tries, 12)
	})
}

// TestWaitConditionsPollEachByItself has two wait for one object: of what the first waits for nothing comes,
// and nobody tells the second that what it waits for is there.
func TestWaitConditionsPollEachByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

func TestWaitLongestPoll(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(1)
			s.held = true
			w := s.client(t, math.MaxInt64)
			time.AfterFunc(time.Minute, s.release)
			require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
			require.Equal(t, 3, s.tries)
		})
	}
}

func TestWaitRetriesWhenTheServerSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.lossy = true, true
		s.expires = time.Now().Add(3 * time.Second)
		w := s.client(t, hour)
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.InDelta(t, 3, time.Since(start).Seconds(), 0.1)
		require.LessOrEqual(t, s.tries, 3)
	})
}

// TestWaitKnowsTheEndOfItsClientsOwnLease: the first of two waiters is granted a lease that expires without
// a message.
func TestWaitKnowsTheEndOfItsClientsOwnLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
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

// TestWaitRetriesNotBeforeTheEnd waits for a holder whose lease is as long as a Duration can say.
func TestWaitRetriesNotBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.expires = true, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		require.Equal(t, time.Duration(math.MaxInt64), time.Until(s.expires))
		w := s.client(t, hour)
		time.AfterFunc(time.Minute, s.release)
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), s.attempt()))
		require.Equal(t, 3, s.tries)
	})
}

func TestWaitSubscribesAgainAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.refusals = true, 2
		w := s.client(t, 5*time.Second)
		done := make(chan error, 1)
		go func() { done <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
		time.Sleep(time.Minute)
		tries := s.tried()
		s.release()
		require.NoError(t, <-done)
		require.Equal(t, 3, s.subscribes)
		require.Less(t, s.tried()-tries, 3)
	})
}

func TestWaitCancelledLeavesNoSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Wait(ctx, wakeOne("o"), s.attempt()), context.DeadlineExceeded)
		time.Sleep(time.Second)
		require.Equal(t, 1, s.subscribes)
		require.Zero(t, s.subscribed())
	})
}

// TestWaitPrivateDoesNotLinger: nobody else needs the subscription.
func TestWaitPrivateDoesNotLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
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

// TestWaitMoves pauses after an attempt without an answer, and then lets the caller wait elsewhere.
func TestWaitMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newServer(1).client(t, hour)
		start := time.Now()
		tries := 0
		err := w.Wait(t.Context(), wakeOne("o"), tryFunc(func() (wait.Answer, error) {
			tries++
			return wait.Answer{Outage: tries > 1, Moved: tries > 1, RetryIn: -1}, nil
		}))
		require.ErrorIs(t, err, wait.ErrMoved)
		require.Equal(t, 2, tries)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
	})
}

// TestWaitMovesAtOnce moves again when the first attempt at the new channel gets no answer either: the
// attempt is another owner's then, whose messages come elsewhere.
func TestWaitMovesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

type tryFunc func() (wait.Answer, error)

func (f tryFunc) Try(context.Context) (wait.Answer, error) { return f() }

// TestWaitGivesUpSubscribing leaves queues whose subscriptions are never acknowledged.
func TestWaitGivesUpSubscribing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held, s.silent = true, true
		w := s.client(t, hour)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, w.Wait(ctx, wakeOne("o"), s.attempt()), context.DeadlineExceeded)
			cancel()
			require.Equal(t, 1, s.subscribing())
			time.Sleep(time.Second)
			require.Zero(t, s.subscribing())
		}
		go func() { _ = w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
		time.Sleep(time.Second)
		w.Close()
		w.AwaitEnd()
		require.Zero(t, s.subscribing())
	})
}

func TestWaitClosedEndsWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		done := make(chan error, 1)
		go func() { done <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
		time.Sleep(time.Second)
		w.Close()
		require.ErrorIs(t, <-done, backend.ErrClosed)
		require.Zero(t, s.subscribed())
	})
}

// TestWaitWakeIsPassedOn cancels or fails the waiter that a release woke, at each place where it
// can be: the next one must get the lock without a poll.
func TestWaitWakeIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, leave := range []string{"CancelledInFlight", "FailedInFlight", "CancelledParked"} {
		t.Run(leave, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(1)
				s.held, s.latency = true, 10*time.Millisecond
				w := s.client(t, hour)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- w.Wait(ctx, wakeOne("o"), s.attempt()) }()
				time.Sleep(time.Second)
				go func() { second <- w.Wait(t.Context(), wakeOne("o"), s.attempt()) }()
				time.Sleep(time.Second)
				start := time.Now()
				switch leave {
				case "CancelledInFlight":
					// It never runs: were it granted, giving that back would wake the other.
					s.set(func() { s.failNext = 1 })
					s.release()
					time.AfterFunc(15*time.Millisecond, cancel)
				case "FailedInFlight":
					s.set(func() { s.failNext = 1 })
					s.release()
				case "CancelledParked":
					s.set(func() { s.onMessage = cancel })
					s.release()
				}
				require.Error(t, <-first)
				require.NoError(t, <-second)
				require.Less(t, time.Since(start), time.Second)
			})
		})
	}
}

// TestWaitJoinsAfterTheMessage lets the only release happen between a waiter's first try, made
// when nobody waited, and its joining of a queue that others have made meanwhile.
func TestWaitJoinsAfterTheMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		w := s.client(t, hour)
		slow := &slowReply{Attempt: s.attempt(), arrive: func() {
			time.AfterFunc(time.Second, s.release)
			// One more user, who gets no answer for long, keeps the queue from being dropped.
			time.AfterFunc(500*time.Millisecond, func() {
				_ = w.Wait(t.Context(), wakeOne("o"), noAnswer{})
			})
			if w.Wait(t.Context(), wakeOne("o"), s.attempt()) == nil {
				s.release()
			}
			time.Sleep(100 * time.Millisecond)
		}}
		start := time.Now()
		require.NoError(t, w.Wait(t.Context(), wakeOne("o"), slow))
		require.Less(t, time.Since(start), 2*time.Second)
	})
}

// slowReply lets something happen between the first try's run and its reply.
type slowReply struct {
	wait.Attempt
	arrive func()
}

func (r *slowReply) Try(ctx context.Context) (wait.Answer, error) {
	answer, err := r.Attempt.Try(ctx)
	arrive := r.arrive
	r.arrive = func() {}
	arrive()
	return answer, err
}

// noAnswer is an attempt that takes a minute and fails.
type noAnswer struct{}

func (noAnswer) Try(context.Context) (wait.Answer, error) {
	time.Sleep(time.Minute)
	return wait.Answer{}, errLost
}

// TestWaitSubscribesAgainWhateverThePoll fails to subscribe twice, with polls an hour apart: the
// message of the release arrives all the same.
func TestWaitSubscribesAgainWhateverThePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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

// TestWaitNeverLeavesAFreeLock runs random schedules of waiters that are cancelled, fail, lose
// requests and replies, fail to subscribe and miss messages, in virtual time. Whenever the lock stays free for longer
// than a wake-up takes while somebody waits, a wake-up was lost. In some schedules the first holder
// has died, so that only the end of its lease frees the lock; in some no message arrives, and only
// polls help; in some a client takes itself for one of many. Otherwise polls are an hour apart.
func TestWaitNeverLeavesAFreeLock(t *testing.T) {
	t.Parallel()
	eachSeed(t, runSchedule)
}

// eachSeed runs many random schedules.
func eachSeed(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	schedules := 3000
	if testing.Short() {
		schedules = 300
	}
	for seed := range uint64(schedules) {
		synctest.Test(t, func(t *testing.T) { run(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runSchedule(t *testing.T, seed uint64) {
	t.Helper()
	s := newServer(seed)
	s.random, s.lossy = true, seed%4 == 2
	rng := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // A test's schedule.
	poll := hour
	if s.lossy {
		poll = 100 * time.Millisecond
	}
	if seed%4 == 3 {
		s.held, s.expires = true, time.Now().Add(time.Duration(rng.IntN(300))*time.Millisecond)
	}
	clients := []*wait.Waiters{s.client(t, poll), s.client(t, poll)}
	if seed%3 == 0 {
		clients[0].NoteCrowd("c", 100) // It tries up to 52 ms later.
	}
	var all sync.WaitGroup
	for range 12 {
		w, who := clients[rng.IntN(2)], drawWaiter(rng)
		all.Go(func() {
			ctx, cancel := who.begin(t.Context(), s)
			defer cancel()
			began := time.Now()
			if err := w.Wait(ctx, wakeOne("o"), s.attempt()); err != nil {
				return
			}
			s.checkIdle(t, began)
			time.Sleep(who.hold)
			s.release()
		})
	}
	start := time.Now()
	all.Wait()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the schedule took %s: a waiter was stuck", took)
	}
}

// randomWaiter is what one waiter of a random schedule does. Its times are multiples of 5 ms, so that
// things happen at once.
type randomWaiter struct{ after, timeout, hold time.Duration }

func drawWaiter(rng *rand.Rand) randomWaiter {
	steps := func(n int) time.Duration { return time.Duration(rng.IntN(n)) * 5 * time.Millisecond }
	who := randomWaiter{after: steps(40), timeout: steps(80), hold: steps(8)}
	if rng.IntN(2) == 0 {
		who.timeout = hour / 2
	}
	return who
}

// begin returns when it is time, with the context of the waiting.
func (who randomWaiter) begin(
	ctx context.Context, s *server,
) (context.Context, context.CancelFunc) {
	time.Sleep(who.after)
	ctx, cancel := context.WithTimeout(ctx, who.timeout)
	s.set(func() { s.leavers = append(s.leavers, cancel) })
	return ctx, cancel
}

// TestWaitWakesAsManyAsFit gives five units to five waiters at once: they do not take turns.
func TestWaitWakesAsManyAsFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{server: newServer(1)}
		w := p.client(t, hour)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := w.Wait(t.Context(), p.wants(1), units{p, 1}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute)
		p.set(func() { p.latency = time.Second })
		start := time.Now()
		p.give(5)
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(start), "one message, one try")
	})
}

// TestWaitNeverLeavesFreeUnits is the same for objects of several units, of which waiters need one or
// many, and of which each release publishes how many are free. In every other schedule nobody gives back
// what he got: the units come in a few large lots, so that no later release covers up a lost wake-up,
// and sometimes somebody waits on each client for more than there ever is.
func TestWaitNeverLeavesFreeUnits(t *testing.T) {
	t.Parallel()
	eachSeed(t, runUnits)
}

func runUnits(t *testing.T, seed uint64) {
	t.Helper()
	p := &pool{server: newServer(seed), free: 5}
	p.random = true
	rng := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // A test's schedule.
	lots := seed%2 == 1
	if lots {
		p.free = 0
	}
	sum := 0
	clients := []*wait.Waiters{p.client(t, hour), p.client(t, hour)}
	var all sync.WaitGroup
	for range 12 {
		w, who, need := clients[rng.IntN(2)], drawWaiter(rng), 1+max(0, rng.IntN(8)-3)
		sum += need
		all.Go(func() {
			ctx, cancel := who.begin(t.Context(), p.server)
			defer cancel()
			if w.Wait(ctx, p.wants(need), units{p, need}) == nil && !lots {
				time.Sleep(who.hold)
				p.give(need)
			}
		})
	}
	if seed%4 == 1 {
		stop := p.waitInVain(t.Context(), clients)
		defer stop()
	}
	for lots && sum > 0 {
		lot := min(sum, 1+rng.IntN(30))
		sum -= lot
		after := time.Duration(rng.IntN(80)) * 5 * time.Millisecond
		all.Go(func() { time.Sleep(after); p.give(lot) })
	}
	start := time.Now()
	all.Wait()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the schedule took %s: a waiter was stuck", took)
	}
}

// waitInVain waits on each client for more units than there ever are, until stop is called.
func (p *pool) waitInVain(ctx context.Context, clients []*wait.Waiters) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	for _, w := range clients {
		go func() { _ = w.Wait(ctx, p.wants(1000), units{p, 1000}) }()
	}
	return stop
}

// wakeOne is what a waiter for a lock wants.
func wakeOne(object string) wait.Want {
	return wait.Want{Object: object, Channel: "c", FreeUnits: func(string) int { return 1 }}
}

// server is a lock on a server with latency, seen by several clients.
type server struct {
	mu         sync.Mutex
	rng        *rand.Rand
	random     bool // latencies, failures, lost replies, gaps
	latency    time.Duration
	ackAfter   time.Duration
	held       bool
	expires    time.Time // of the holder's lease; zero: no end
	freeSince  time.Time
	idle       time.Duration // how long the lock was free before the last grant
	tries      int
	subscribes int
	refusals   int                  // subscriptions that fail
	failNext   int                  // tries that fail unexecuted
	lossy      bool                 // messages are lost
	mute       bool                 // no pub/sub
	silent     bool                 // subscriptions are not acknowledged
	waiting    int                  // subscriptions that wait for that
	leavers    []context.CancelFunc // of those who may give up in the instant of a message
	onMessage  func()
	handlers   map[*subscription]backend.Handler
}

func newServer(seed uint64) *server {
	return &server{
		rng:      rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		handlers: make(map[*subscription]backend.Handler), onMessage: func() {},
	}
}

// set changes what others may be reading.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

func (s *server) client(t *testing.T, poll time.Duration) *wait.Waiters {
	t.Helper()
	w := wait.NewWaiters(s, poll, zap.NewNop())
	t.Cleanup(func() {
		w.Close()
		time.Sleep(time.Minute) // What is under way arrives.
	})
	return w
}

func (s *server) subscribed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.handlers)
}

func (s *server) delay() {
	s.mu.Lock()
	d, yields := s.latency, 0
	if s.random {
		d = time.Duration(s.rng.IntN(3)) * 5 * time.Millisecond
		if s.rng.IntN(10) == 0 {
			d = 50 * time.Millisecond
		}
		yields = s.rng.IntN(8)
	}
	s.mu.Unlock()
	time.Sleep(d)
	for range yields {
		runtime.Gosched() // Of what happens at one time, each may be the first.
	}
}

// chance reports true in one of n calls of a random schedule.
func (s *server) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random && s.rng.IntN(n) == 0
}

var errLost = errors.New("reply lost")

type attempt struct{ s *server }

func (s *server) attempt() wait.Attempt { return attempt{s} }

// Try implements wait.Attempt.
func (a attempt) Try(ctx context.Context) (wait.Answer, error) {
	return a.s.send(ctx, a.s.run, a.s.release)
}

// send makes a request over the link. In a random schedule one in twenty never arrives, and of one in
// twenty the reply is lost. A grant whose reply is lost, or whose asker has left, is given back.
func (s *server) send(
	ctx context.Context, run func() (wait.Answer, bool), giveBack func(),
) (wait.Answer, error) {
	if ctx.Err() != nil {
		return wait.Answer{}, ctx.Err()
	}
	replies := make(chan wait.Answer) // closed: there is none
	go func() {
		defer close(replies)
		s.delay()
		if s.chance(20) {
			time.Sleep(100 * time.Millisecond)
			return
		}
		answer, ok := run()
		s.delay()
		if ok && !s.chance(20) {
			select {
			case replies <- answer:
				return
			case <-ctx.Done():
			}
		}
		if answer.Granted {
			s.delay()
			giveBack()
		}
	}()
	select {
	case answer, ok := <-replies:
		if ok {
			return answer, nil
		}
		return wait.Answer{}, errLost
	case <-ctx.Done():
		return wait.Answer{}, ctx.Err()
	}
}

func (s *server) run() (wait.Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.failNext > 0 {
		s.failNext--
		return wait.Answer{}, false
	}
	now := time.Now()
	if s.held && (s.expires.IsZero() || now.Before(s.expires)) {
		left := time.Duration(-1)
		if !s.expires.IsZero() {
			left = s.expires.Sub(now)
		}
		return wait.Answer{RetryIn: left}, true
	}
	if s.held {
		s.freeSince = s.expires
	}
	s.held, s.expires = true, time.Time{}
	s.idle = now.Sub(s.freeSince)
	return wait.Answer{Granted: true}, true
}

// checkIdle fails if the lock was free for long before the last grant, to one who waited since.
func (s *server) checkIdle(t *testing.T, began time.Time) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle > 2*time.Second && time.Since(began) > s.idle {
		t.Errorf("the lock was free for %s with a waiter", s.idle)
	}
}

// release frees the lock and publishes, over links that may have a gap.
func (s *server) release() {
	s.set(func() { s.held, s.freeSince = false, time.Now() })
	s.publish("0")
}

func (s *server) publish(payload string) {
	s.mu.Lock()
	lossy := s.lossy
	var handlers []backend.Handler
	for _, h := range s.handlers {
		handlers = append(handlers, h)
	}
	s.mu.Unlock()
	for _, h := range handlers {
		kind := backend.EventMessage
		if s.chance(10) {
			kind = backend.EventResubscribed
		}
		go func() {
			s.delay()
			s.mu.Lock()
			onMessage := s.onMessage
			s.mu.Unlock()
			onMessage()
			if s.chance(10) {
				s.leave()
			}
			if !lossy {
				h(backend.Event{Kind: kind, Payload: payload})
			}
		}()
	}
}

// leave makes one waiter give up.
func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.leavers) > 0 {
		s.leavers[0]()
		s.leavers = s.leavers[1:]
	}
}

type subscription struct{ s *server }

func (sub *subscription) Cancel() {
	sub.s.mu.Lock()
	defer sub.s.mu.Unlock()
	delete(sub.s.handlers, sub)
}

func (s *server) subscribing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (s *server) Subscribe(
	ctx context.Context, _ string, h backend.Handler,
) (backend.Subscription, error) {
	if s.silent {
		s.set(func() { s.waiting++ })
		<-ctx.Done()
		s.set(func() { s.waiting-- })
		return nil, ctx.Err()
	}
	time.Sleep(s.ackAfter)
	s.delay()
	refused := s.chance(6)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribes++
	if refused || s.refusals > 0 {
		s.refusals = max(0, s.refusals-1)
		return nil, errors.New("refused")
	}
	sub := &subscription{s}
	s.handlers[sub] = h
	return sub, nil
}

func (s *server) Capabilities() backend.Capabilities {
	return backend.Capabilities{PubSub: !s.mute}
}

func (s *server) Run(
	context.Context, *backend.Script, []string, []string,
) (backend.Reply, error) {
	panic("not used")
}

func (s *server) Close() error { return nil }

// pool is a number of units on a server with latency, seen by several clients: each release
// publishes how many are free then.
type pool struct {
	*server
	free int
}

// wants is what a waiter for n units wants.
func (p *pool) wants(n int) wait.Want {
	return wait.Want{Object: "o", Channel: "c", Need: n, FreeUnits: func(payload string) int {
		free, err := strconv.Atoi(payload)
		if err != nil {
			panic(err)
		}
		return free
	}}
}

// give frees n units.
func (p *pool) give(n int) {
	p.mu.Lock()
	p.free += n
	payload := strconv.Itoa(p.free)
	p.mu.Unlock()
	p.publish(payload)
}

// units is an attempt to take n units. It gives back what comes too late.
type units struct {
	*pool
	n int
}

// Try implements wait.Attempt.
func (u units) Try(ctx context.Context) (wait.Answer, error) {
	return u.send(ctx, u.take, func() { u.give(u.n) })
}

func (u units) take() (wait.Answer, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tries++
	if u.free < u.n {
		return wait.Answer{RetryIn: -1, Free: u.free}, true
	}
	u.free -= u.n
	return wait.Answer{Granted: true, Free: u.free}, true
}
