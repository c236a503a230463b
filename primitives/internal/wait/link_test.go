package wait_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// link leads several clients to a server. The mutex guards what the server has, too.
type link struct {
	sync.Mutex
	rng        *rand.Rand
	random     bool // latencies, failures, lost replies, gaps
	latency    time.Duration
	ackAfter   time.Duration // each subscription is acknowledged
	tries      int
	subscribes int
	refusals   int                  // subscriptions that fail
	lossy      bool                 // messages are lost
	mute       bool                 // no pub/sub
	leavers    []context.CancelFunc // of waiters that may give up in the instant of a message
	handlers   map[*subscription]backend.Handler
}

// newLink returns a link whose random schedule follows from the seed.
func newLink(seed uint64) *link {
	return &link{
		rng:      rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		handlers: make(map[*subscription]backend.Handler),
	}
}

// set changes fields that others may be reading.
func (s *link) set(change func()) {
	s.Lock()
	defer s.Unlock()
	change()
}

// tried returns the number of tries.
func (s *link) tried() int {
	s.Lock()
	defer s.Unlock()
	return s.tries
}

// subscribed returns the number of subscriptions.
func (s *link) subscribed() int {
	s.Lock()
	defer s.Unlock()
	return len(s.handlers)
}

func (s *link) delay() {
	s.Lock()
	d, yields := s.latency, 0
	if s.random {
		d = time.Duration(s.rng.IntN(3)) * 5 * time.Millisecond
		if s.rng.IntN(10) == 0 {
			d = 50 * time.Millisecond
		}
		yields = s.rng.IntN(8)
	}
	s.Unlock()
	time.Sleep(d)
	for range yields {
		runtime.Gosched() // Of what happens at one time, each may be the first.
	}
}

// chance reports true in one of n calls of a random schedule.
func (s *link) chance(n int) bool {
	s.Lock()
	defer s.Unlock()
	return s.random && s.rng.IntN(n) == 0
}

// send makes a request. In a random schedule one in twenty never arrives, and of one in twenty the reply is lost. A grant
// whose reply is lost, or whose caller has left, is given back.
func (s *link) send(ctx context.Context, run func() wait.Answer, giveBack func()) (none wait.Answer, err error) {
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	replies := make(chan wait.Answer) // closed: there is none
	go func() {
		defer close(replies)
		s.delay()
		if s.chance(20) {
			time.Sleep(100 * time.Millisecond)
			return
		}
		answer := run()
		s.delay()
		if !s.chance(20) {
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
		return none, errors.New("reply lost")
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// publish sends a message to each subscription, over links that may have a gap.
func (s *link) publish(payload string) {
	s.Lock()
	lossy := s.lossy
	s.Unlock()
	for _, h := range s.subscribers() {
		kind := backend.EventMessage
		if s.chance(10) {
			kind = backend.EventResubscribed
		}
		go func() {
			s.delay()
			if s.chance(10) {
				s.leave()
			}
			if !lossy {
				h(backend.Event{Kind: kind, Payload: payload})
			}
		}()
	}
}

// subscribers returns the handlers of all subscriptions.
func (s *link) subscribers() (all []backend.Handler) {
	s.Lock()
	defer s.Unlock()
	for _, h := range s.handlers {
		all = append(all, h)
	}
	return all
}

// leave makes one waiter give up.
func (s *link) leave() {
	s.Lock()
	defer s.Unlock()
	if len(s.leavers) > 0 {
		s.leavers[0]()
		s.leavers = s.leavers[1:]
	}
}

type subscription struct{ s *link }

// Cancel implements [backend.Subscription].
func (sub *subscription) Cancel() {
	sub.s.Lock()
	defer sub.s.Unlock()
	delete(sub.s.handlers, sub)
}

// Subscribe implements [backend.Subscriber].
func (s *link) Subscribe(_ context.Context, _ string, h backend.Handler) (backend.Subscription, error) {
	time.Sleep(s.ackAfter)
	s.delay()
	refused := s.chance(6)
	s.Lock()
	defer s.Unlock()
	s.subscribes++
	if refused || s.refusals > 0 {
		s.refusals = max(0, s.refusals-1)
		return nil, errors.New("refused")
	}
	sub := &subscription{s}
	s.handlers[sub] = h
	return sub, nil
}

// Capabilities implements [backend.Backend].
func (s *link) Capabilities() backend.Capabilities { return backend.Capabilities{PubSub: !s.mute} }

// Run implements [backend.ScriptRunner]. Waiters run no scripts of their own.
func (s *link) Run(context.Context, *backend.Script, []string, []string) (backend.Reply, error) {
	panic("not used")
}

// Close implements [backend.Backend].
func (s *link) Close() error { return nil }
