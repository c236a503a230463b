package wait_test

import (
	"math"
	"runtime"
	"strconv"
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
