package wait_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

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
	lossy      bool                 // messages are lost
	mute       bool                 // no pub/sub
	silent     bool                 // subscriptions are not acknowledged
	waiting    int                  // subscriptions that wait for that
	leavers    []context.CancelFunc // of those who may give up in the instant of a message
	handlers   map[*subscription]backend.Handler
}

func newServer(seed uint64) *server {
	return &server{
		rng:      rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // A test's schedule.
		handlers: make(map[*subscription]backend.Handler),
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
