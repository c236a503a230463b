package wait_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
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

// wakeOne is what a waiter for a lock wants.
func wakeOne(object string) wait.Want {
	return wait.Want{Object: object, Spec: wait.Spec{Channel: "c", FreeUnits: func(string) int { return 1 }}}
}

// server has a lock.
type server struct {
	*link
	held      bool
	expires   time.Time // of the holder's lease; zero: no end
	freeSince time.Time
	idle      time.Duration // how long the lock was free before the last grant
}

func newServer(seed uint64) *server { return &server{link: newLink(seed)} }

func (s *server) client(t *testing.T, poll time.Duration) *wait.Waiters {
	t.Helper()
	client := listen.New(s, poll, zap.NewNop())
	w := wait.NewWaiters(client)
	t.Cleanup(func() {
		client.Close()
		time.Sleep(time.Minute) // What is under way arrives.
	})
	return w
}

type attempt struct{ s *server }

func (s *server) attempt() wait.Attempt { return attempt{s} }

// Try implements wait.Attempt.
func (a attempt) Try(ctx context.Context) (wait.Answer, error) {
	return a.s.send(ctx, a.s.run, a.s.release)
}

func (s *server) run() wait.Answer {
	s.Lock()
	defer s.Unlock()
	s.tries++
	now := time.Now()
	if s.held && (s.expires.IsZero() || now.Before(s.expires)) {
		left := time.Duration(-1)
		if !s.expires.IsZero() {
			left = s.expires.Sub(now)
		}
		return wait.Answer{RetryIn: left}
	}
	if s.held {
		s.freeSince = s.expires
	}
	s.held, s.expires = true, time.Time{}
	s.idle = now.Sub(s.freeSince)
	return wait.Answer{Granted: true}
}

// checkIdle fails if the lock was free for long before the last grant, to one who waited since.
func (s *server) checkIdle(t *testing.T, began time.Time) {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	if s.idle > 2*time.Second && time.Since(began) > s.idle {
		t.Errorf("the lock was free for %s with a waiter", s.idle)
	}
}

// release frees the lock and publishes, over links that may have a gap.
func (s *server) release() {
	s.set(func() { s.held, s.freeSince = false, time.Now() })
	s.publish("0")
}

// pool is a number of units on a server with latency, seen by several clients: each release
// publishes how many are free then.
type pool struct {
	*server
	free int
}

// wants is what a waiter for n units wants.
func (p *pool) wants(n int) wait.Want {
	return wait.Want{Object: "o", Spec: wait.Spec{Channel: "c", Need: n, FreeUnits: func(payload string) int {
		free, err := strconv.Atoi(payload)
		if err != nil {
			panic(err)
		}
		return free
	}}}
}

// give frees n units.
func (p *pool) give(n int) {
	p.Lock()
	p.free += n
	payload := strconv.Itoa(p.free)
	p.Unlock()
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

func (u units) take() wait.Answer {
	u.Lock()
	defer u.Unlock()
	u.tries++
	if u.free < u.n {
		return wait.Answer{RetryIn: -1, Free: u.free}
	}
	u.free -= u.n
	return wait.Answer{Granted: true, Free: u.free}
}

// virtual runs a test in virtual time, beside other tests.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// onHeld is virtual with a client of a server whose lock is held.
func onHeld(t *testing.T, test func(t *testing.T, s *server, w *wait.Waiters)) {
	t.Helper()
	virtual(t, func(t *testing.T) {
		s := newServer(1)
		s.held = true
		test(t, s, s.client(t, hour))
	})
}
