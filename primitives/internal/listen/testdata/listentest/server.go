// Package listentest has the fake server of the tests of waiters.
package listentest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Server is a server with latency, seen by several clients. A test embeds it in the object that the server has.
// The mutex guards that object, too.
type Server struct {
	sync.Mutex
	Rand       *rand.Rand
	Random     bool // latencies, failures, lost replies, gaps
	Latency    time.Duration
	AckAfter   time.Duration // each subscription is acknowledged
	Tries      int
	Subscribes int
	Refusals   int                  // subscriptions that fail
	Lossy      bool                 // messages are lost
	Mute       bool                 // no pub/sub
	Silent     bool                 // subscriptions are not acknowledged
	waiting    int                  // subscriptions that wait for that
	Leavers    []context.CancelFunc // of waiters that may give up in the instant of a message
	handlers   map[*subscription]backend.Handler
}

// New returns a server whose random schedule follows from the seed.
func New(seed uint64) *Server {
	return &Server{
		Rand:     rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		handlers: make(map[*subscription]backend.Handler),
	}
}

// Set changes fields that others may be reading.
func (s *Server) Set(change func()) {
	s.Lock()
	defer s.Unlock()
	change()
}

// Tried returns the number of tries.
func (s *Server) Tried() int {
	s.Lock()
	defer s.Unlock()
	return s.Tries
}

// Subscribed returns the number of subscriptions.
func (s *Server) Subscribed() int {
	s.Lock()
	defer s.Unlock()
	return len(s.handlers)
}

// Subscribing returns the number of subscriptions that a silent server has not acknowledged.
func (s *Server) Subscribing() int {
	s.Lock()
	defer s.Unlock()
	return s.waiting
}

func (s *Server) delay() {
	s.Lock()
	d, yields := s.Latency, 0
	if s.Random {
		d = time.Duration(s.Rand.IntN(3)) * 5 * time.Millisecond
		if s.Rand.IntN(10) == 0 {
			d = 50 * time.Millisecond
		}
		yields = s.Rand.IntN(8)
	}
	s.Unlock()
	time.Sleep(d)
	for range yields {
		runtime.Gosched() // Of what happens at one time, each may be the first.
	}
}

// chance reports true in one of n calls of a random schedule.
func (s *Server) chance(n int) bool {
	s.Lock()
	defer s.Unlock()
	return s.Random && s.Rand.IntN(n) == 0
}

// ErrLost means that there is no reply.
var ErrLost = errors.New("reply lost")

// Send makes a request over the link. In a random schedule one in twenty never arrives, and of one in
// twenty the reply is lost. A grant whose reply is lost, or whose caller has left, is given back.
func Send[A any](ctx context.Context, s *Server, run func() (answer A, granted bool), giveBack func()) (A, error) {
	var none A
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	replies := make(chan A) // closed: there is none
	go func() {
		defer close(replies)
		s.delay()
		if s.chance(20) {
			time.Sleep(100 * time.Millisecond)
			return
		}
		answer, granted := run()
		s.delay()
		if !s.chance(20) {
			select {
			case replies <- answer:
				return
			case <-ctx.Done():
			}
		}
		if granted {
			s.delay()
			giveBack()
		}
	}()
	select {
	case answer, ok := <-replies:
		if ok {
			return answer, nil
		}
		return none, ErrLost
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Publish sends a message to each subscription, over links that may have a gap.
func (s *Server) Publish(payload string) {
	s.Lock()
	lossy := s.Lossy
	s.Unlock()
	for _, h := range s.Handlers() {
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

// Handlers returns the handlers of all subscriptions.
func (s *Server) Handlers() (all []backend.Handler) {
	s.Lock()
	defer s.Unlock()
	for _, h := range s.handlers {
		all = append(all, h)
	}
	return all
}

// leave makes one waiter give up.
func (s *Server) leave() {
	s.Lock()
	defer s.Unlock()
	if len(s.Leavers) > 0 {
		s.Leavers[0]()
		s.Leavers = s.Leavers[1:]
	}
}

type subscription struct{ s *Server }

// Cancel implements [backend.Subscription].
func (sub *subscription) Cancel() {
	sub.s.Lock()
	defer sub.s.Unlock()
	delete(sub.s.handlers, sub)
}

// Subscribe implements [backend.Subscriber].
func (s *Server) Subscribe(ctx context.Context, _ string, h backend.Handler) (backend.Subscription, error) {
	if s.Silent {
		s.Set(func() { s.waiting++ })
		<-ctx.Done()
		s.Set(func() { s.waiting-- })
		return nil, ctx.Err()
	}
	time.Sleep(s.AckAfter)
	s.delay()
	refused := s.chance(6)
	s.Lock()
	defer s.Unlock()
	s.Subscribes++
	if refused || s.Refusals > 0 {
		s.Refusals = max(0, s.Refusals-1)
		return nil, errors.New("refused")
	}
	sub := &subscription{s}
	s.handlers[sub] = h
	return sub, nil
}

// Capabilities implements [backend.Backend].
func (s *Server) Capabilities() backend.Capabilities { return backend.Capabilities{PubSub: !s.Mute} }

// Run implements [backend.ScriptRunner]. Waiters run no scripts of their own.
func (s *Server) Run(context.Context, *backend.Script, []string, []string) (backend.Reply, error) {
	panic("not used")
}

// Close implements [backend.Backend].
func (s *Server) Close() error { return nil }
