package wait_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/internal/listen"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

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
