package primitives

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

const (
	initialBackoff = 50 * time.Millisecond
	maxBackoff     = 500 * time.Millisecond

	// releaseTimeout is how long the client waits for the reply to a release without a caller.
	releaseTimeout = 5 * time.Second
)

// permitAttempt is one attempt to acquire n permits, which may make the semaphore.
type permitAttempt struct {
	*Semaphore
	n       int
	request extend.Request
}

// Try implements [extend.Attempt]. Permits have no owner: if the outcome is unknown, the client
// cannot find out whether the permits were taken, so the attempt ends.
func (p *permitAttempt) Try(ctx context.Context) (extend.Answer, error) {
	p.request = extend.Request{Object: &p.base, Late: p}
	result, err := p.run(ctx, &p.request)
	return extend.Answer{Granted: result.Taken, Free: int(max(result.Left, 0))}, err
}

func (p *permitAttempt) run(ctx context.Context, r backend.ScriptRunner) (script.SemaphoreAcquireResult, error) {
	if p.permits == 0 {
		return script.SemaphoreAcquire(ctx, r, p.base.Key(), int64(p.n), p.publish(), p.want.Channel)
	}
	result, err := script.SemaphoreSetAndAcquire(ctx, r,
		p.base.Key(), int64(p.n), int64(p.permits), p.ttl, p.publish(), p.want.Channel)
	return script.SemaphoreAcquireResult(result), err
}

// HandleLate implements [extend.LateHandler].
func (p *permitAttempt) HandleLate(r backend.ScriptRunner) {
	taken := 0
	result, err := p.run(context.Background(), r)
	if result.Taken {
		taken = p.n
	}
	p.releaseUnclaimed(taken, err)
}

// late handles a late answer.
type late func(r backend.ScriptRunner)

// HandleLate implements [extend.LateHandler].
func (l late) HandleLate(r backend.ScriptRunner) { l(r) }

// change changes the number of free permits.
func (s *Semaphore) change(ctx context.Context, r backend.ScriptRunner, by int, create bool) (changed bool, err error) {
	return script.SemaphoreAdd(ctx, r, s.base.Key(), int64(by), create, s.publish(), s.want.Channel)
}

// handleLateChange handles the late answer to a change. If the request was certainly not executed, the client
// sends it again: the caller's error said that it may yet be executed.
func (s *Semaphore) handleLateChange(r backend.ScriptRunner, by int, create bool) {
	_, err := s.change(context.Background(), r, by, create)
	switch {
	case canResend(err):
		s.putBack(by, create)
	case err != nil:
		s.warnPermitsLost(err)
	}
}

// drain takes all free permits.
func (s *Semaphore) drain(ctx context.Context, r backend.ScriptRunner) (int, error) {
	n, err := script.SemaphoreDrain(ctx, r, s.base.Key())
	return int(n), err
}

// releaseUnclaimed releases the n permits that a request without a caller has taken. If the request
// failed, and may have been executed, it logs that permits may be lost.
func (s *Semaphore) releaseUnclaimed(n int, err error) {
	switch {
	case n > 0:
		s.putBack(n, false)
	case backend.MayHaveRun(err):
		s.warnPermitsLost(err)
	}
}

// putBack adds n permits in the background. It sends one request at a time, for all permits since
// the last request, and repeats the request as long as it was certainly not executed. create is as
// for [Semaphore.add].
func (s *Semaphore) putBack(n int, create bool) {
	key := pendingKey{s.base.Key(), create}
	if s.client.pendingPermits.add(key, n) {
		return // The goroutine that sends others sends them, too.
	}
	s.base.Go(func(ctx context.Context, r backend.ScriptRunner) {
		pause := initialBackoff
		for n := s.client.pendingPermits.take(key); n != 0; n = s.client.pendingPermits.take(key) {
			err := s.addOnce(ctx, r, n, create)
			if canResend(err) && sleep(ctx, pause) {
				s.client.pendingPermits.add(key, n)
				pause = min(2*pause, maxBackoff)
			} else if err != nil {
				s.warnPermitsLost(err)
			}
		}
	})
}

func (s *Semaphore) addOnce(ctx context.Context, r backend.ScriptRunner, n int, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	_, err := s.change(ctx, r, n, create)
	return err
}

// canResend reports whether err is the failure of a request that was certainly not executed and may
// succeed if it is sent again: no server took it, or its context ended before it was sent.
func canResend(err error) bool {
	return err != nil && !backend.MayHaveRun(err) &&
		!errors.Is(err, backend.ErrClosed) && !errors.Is(err, backend.ErrNotSupported)
}

// warnPermitsLost logs an error that no call returns, and after which permits may be lost.
func (s *Semaphore) warnPermitsLost(err error) {
	s.base.Logger().Warn("permits may be lost", zap.Error(err))
}

// pendingPermits counts the permits that a client has yet to add in the background.
type pendingPermits struct {
	mu     sync.Mutex
	counts map[pendingKey]int // a count of 0: a goroutine is sending
}

// pendingKey is a semaphore's key, and whether adding permits may create the semaphore.
type pendingKey struct {
	key    string
	create bool
}

// add adds n to the count, and reports whether a goroutine is sending already.
func (p *pendingPermits) add(key pendingKey, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, sending := p.counts[key]
	if p.counts == nil {
		p.counts = make(map[pendingKey]int)
	}
	p.counts[key] = before + n
	return sending
}

// take returns the permits to send. After 0 the caller's goroutine must end.
func (p *pendingPermits) take(key pendingKey) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.counts[key]
	if n == 0 {
		delete(p.counts, key)
	} else {
		p.counts[key] = 0
	}
	return n
}

// sleep pauses for d, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
