package hasptest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// The causes of errors.
var (
	errRefused    = errors.New("hasptest: the request was not sent")
	errUnanswered = errors.New("hasptest: the answer was lost")
	errAway       = errors.New("hasptest: the server is away")
)

// FailAcquires makes the next n requests to acquire fail: they are not sent, and the call that made them
// gets an error that wraps primitives.ErrUnavailable. Nothing is held then.
//
// A Lock that was already refused because another holds the lock does not return that error: it waits,
// and tries again. So do other methods that wait.
//
// Requests of FailAcquires and [Server.LoseAnswers] come in the order of the calls. While the server is
// away none is used up. It panics if n is not positive.
func (s *Server) FailAcquires(n int) { s.spoil(refused, Acquires, n) }

// LoseAnswers makes the next n requests to acquire lose their answers, as if the connection broke: they are
// executed, and the call that made them gets an error that wraps primitives.ErrIndeterminate, at once.
// What they took is released in the background: the lock is free soon after, without waiting for the
// lease.
//
// As with [Server.FailAcquires], a Lock that already waits goes on waiting, as another owner. So do other
// methods that wait for a lease. Acquire of a Semaphore, or Wait of a limit, whose permits have no owners,
// returns the error. It panics if n is not positive.
func (s *Server) LoseAnswers(n int) { s.LoseAnswersOf(Acquires, n) }

// LoseAnswersOf makes the next n of these requests lose their answers, as [Server.LoseAnswers] does: they are executed,
// and the call that made them gets an error that wraps primitives.ErrIndeterminate, at once. After a Release the lock is
// free; after a CountDown the count is decremented. It panics if n is not positive.
func (s *Server) LoseAnswersOf(requests Requests, n int) { s.spoil(unanswered, requests, n) }

// Requests are requests of a sort, or those of the script of this name, if it writes.
type Requests string

const (
	Acquires   Requests = "acquires"    // each try of a Lock or Acquire
	Releases   Requests = "releases"    // Release
	CountDowns Requests = "count downs" // CountDown of a latch
)

// scripts have the names of a sort's scripts. An author's script is of no sort, whatever its name ends in.
var scripts = map[Requests][]string{
	Acquires: {
		"arrival_acquire", "counting_acquire", "counting_admit", "fair_acquire", "holder_acquire", "lock_acquire", "memo_acquire", "mutex_acquire",
		"periodic_acquire", "permit_acquire", "plain_acquire", "plain_adopt", "plain_set", "rate_acquire", "read_acquire",
		"semaphore_acquire", "semaphore_set_and_acquire", "write_acquire",
	},
	Releases: {
		"arrival_release", "counting_release", "fair_release", "holder_release", "lock_release", "mutex_release",
		"permit_release", "plain_release", "rate_release", "read_release", "spin_release", "tagged_release",
		"write_release",
	},
	CountDowns: {"latch_count_down", "latch_parts_count_down"},
}

// match reports whether script is one of the requests.
func (r Requests) match(script *backend.Script) bool {
	return script.Retry.Writes() && (script.Name == string(r) || slices.Contains(scripts[r], script.Name))
}

// SetLatency makes the link of each client slow from now on: a request is executed half of d after it was sent, and
// its answer takes the other half. If its caller leaves before, by a context that ends, the request is executed all the
// same. Messages to subscriptions are not delayed. Zero makes the link fast again. It panics if d is negative.
func (s *Server) SetLatency(d time.Duration) {
	if d < 0 {
		panic("hasptest: a negative latency")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

func (s *Server) currentLatency() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latency
}

// Crash is, for the server and for others, what a crash of the process is in which client works: nothing reaches the
// server from now on, so no lease is renewed or released, and others can acquire only when the leases have ended. The
// code under test goes on, other than after a crash: its calls fail with primitives.ErrClosed, and its leases are lost
// at their end. It works for what [Server.Client] returned, otherwise the test fails and ends; Close of a [Backend] is
// the same for a client over it.
func (s *Server) Crash(client *primitives.Client) {
	s.tb.Helper()
	s.mu.Lock()
	b := s.clients[client]
	s.mu.Unlock()
	if b == nil {
		s.tb.Fatalf("hasptest: crash: the client is not of this server's Client")
		return
	}
	_ = b.Close()
}

// Away makes the server unreachable for d, from now on: it keeps its data, and its clock goes on, but
// each request of a client fails at once with an error that wraps primitives.ErrUnavailable, and is not
// executed. Subscriptions receive nothing, and new ones wait. Then all is as before: each subscription
// gets an [backend.EventResubscribed] event, so waiters try again. A second call while the server is away
// ends the outage at the later of the two times.
//
// A lease is not lost before it ends: a holder's renewals are tried again, and a lock with a
// watchdog survives an outage of up to half its lease. In an outage as long as a lease it is lost: its
// contexts end with the cause primitives.ErrLost before others can acquire it. A TryLock, or the first try of a
// Lock, returns primitives.ErrUnavailable; a Lock that already waits goes on waiting. It panics if d is
// not positive.
func (s *Server) Away(d time.Duration) {
	if d <= 0 {
		panic("hasptest: Away for a duration that is not positive")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	backAt := time.Now().Add(d)
	switch {
	case s.outage == nil:
		s.outage = make(chan struct{})
	case backAt.Before(s.backAt):
		return
	default:
		s.back.Stop()
	}
	s.backAt, s.back = backAt, time.AfterFunc(d, s.endOutageInTime)
}

// endOutageInTime is endOutage, unless the outage was prolonged while its timer fired.
func (s *Server) endOutageInTime() {
	s.mu.Lock()
	early := time.Now().Before(s.backAt)
	s.mu.Unlock()
	if !early {
		s.endOutage()
	}
}

// endOutage ends an outage, if there is one, and reports to all subscriptions that they may have missed
// messages.
func (s *Server) endOutage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outage == nil {
		return
	}
	s.back.Stop()
	close(s.outage)
	s.outage = nil
	for b := range s.backends {
		b.resubscribed()
	}
}

// currentOutage returns a channel that is closed when the outage ends; nil if there is none.
func (s *Server) currentOutage() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outage
}

// fate is what becomes of a script.
type fate int

const (
	sent       fate = iota
	refused         // it is not sent
	unanswered      // it is executed, and its answer is lost
	stranded        // it is not sent: no server can be reached
)

// plan is the fate of one of the next requests.
type plan struct {
	fate     fate
	requests Requests
}

// spoil plans the fate of the next n requests.
func (s *Server) spoil(f fate, requests Requests, n int) {
	if n <= 0 {
		panic("hasptest: the number of requests must be positive")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = append(s.plans, slices.Repeat([]plan{{f, requests}}, n)...)
}

// next returns the fate of a script that is about to be sent.
func (s *Server) next(script *backend.Script) fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outage != nil {
		return stranded
	}
	i := slices.IndexFunc(s.plans, func(p plan) bool { return p.requests.match(script) })
	if i < 0 {
		return sent
	}
	f := s.plans[i].fate
	s.plans = slices.Delete(s.plans, i, i+1)
	return f
}

// refusal returns the error of a script that is not to be sent; nil if it is.
func (f fate) refusal() error {
	switch f {
	case refused:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, errRefused)
	case stranded:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, errAway)
	}
	return nil
}

// spoil returns what the caller gets of a script's outcome. It leaves an error alone that proves that the
// script was not executed.
func (f fate) spoil(o backend.Outcome) backend.Outcome {
	if f == unanswered && (o.Err == nil || backend.MayHaveRun(o.Err)) {
		return backend.Outcome{Err: backend.Indeterminate(errUnanswered)}
	}
	return o
}
