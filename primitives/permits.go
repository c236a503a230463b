package primitives

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// permits is one attempt to acquire.
type permits struct {
	*Semaphore
	n    int
	sent attended
	refusals
}

// Try implements [wait.Attempt]. Permits have no owner: after an unknown outcome nobody knows who has
// them, and the attempt ends.
func (p *permits) Try(ctx context.Context) (wait.Answer, error) {
	p.sent = attended{client: p.client, heir: p}
	result, err := p.run(ctx, &p.sent)
	answer := wait.Answer{Granted: result.Taken, RetryIn: -1, Free: int(max(result.Left, 0))}
	return p.note(ctx, answer, err, false)
}

func (p *permits) run(
	ctx context.Context, r backend.ScriptRunner,
) (script.SemaphoreAcquireResult, error) {
	return script.SemaphoreAcquire(ctx, r, p.key, int64(p.n))
}

// inherit implements heir.
func (p *permits) inherit(r backend.ScriptRunner) {
	taken := 0
	result, err := p.run(context.Background(), r)
	if result.Taken {
		taken = p.n
	}
	p.unclaimed(taken, err)
}

// addition is one change of the number of free permits.
type addition struct {
	*Semaphore
	by     int
	create bool
	sent   attended
}

// send sends the change, also if ctx has ended.
func (a *addition) send(ctx context.Context) (added bool, err error) {
	a.sent = attended{client: a.client, heir: a}
	a.sent.Must = true
	return a.run(ctx, &a.sent)
}

func (a *addition) run(ctx context.Context, r backend.ScriptRunner) (added bool, err error) {
	return script.SemaphoreAdd(ctx, r,
		a.key, int64(a.by), a.create, a.client.publish, a.want.Channel)
}

// inherit implements heir. What was surely not sent is sent again: its caller's error said that it
// may be executed yet.
func (a *addition) inherit(r backend.ScriptRunner) {
	_, err := a.run(context.Background(), r)
	switch {
	case unsent(err):
		a.putBack(a.by, a.create)
	case err != nil:
		a.lostPermits(err)
	}
}

// drain takes all free permits.
type drain struct {
	*Semaphore
	sent attended
}

func (d *drain) send(ctx context.Context) (int, error) {
	d.sent = attended{client: d.client, heir: d}
	return d.run(ctx, &d.sent)
}

func (d *drain) run(ctx context.Context, r backend.ScriptRunner) (int, error) {
	n, err := script.SemaphoreDrain(ctx, r, d.key)
	return int(n), err
}

// inherit implements heir.
func (d *drain) inherit(r backend.ScriptRunner) {
	n, err := d.run(context.Background(), r)
	d.unclaimed(n, err)
}

// unclaimed releases the n permits that a request has taken whose caller had left. What was surely
// not sent has taken none.
func (s *Semaphore) unclaimed(n int, err error) {
	switch {
	case n > 0:
		s.putBack(n, false)
	case backend.MayHaveRun(err):
		s.lostPermits(err)
	}
}

// putBack adds n permits in the background, by one request at a time for all that come meanwhile,
// which is sent again while it surely was not executed. create is as for [Semaphore.add].
func (s *Semaphore) putBack(n int, create bool) {
	to := account{s.key, create}
	if s.client.owed.add(to, n) {
		return // They go along with those that are being sent.
	}
	s.client.background(func(ctx context.Context) {
		pause := firstRepeat
		for n := s.client.owed.take(to); n != 0; n = s.client.owed.take(to) {
			err := s.addOnce(ctx, n, create)
			if unsent(err) && sleep(ctx, pause) {
				s.client.owed.add(to, n)
				pause = min(2*pause, mostRepeat)
			} else if err != nil {
				s.lostPermits(err)
			}
		}
	})
}

func (s *Semaphore) addOnce(ctx context.Context, n int, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	_, err := (&addition{Semaphore: s, by: n, create: create}).run(ctx, s.client.ownWork)
	return err
}

// unsent reports whether a request failed that surely was not executed, but may be if it is sent
// again: no server took it, or time ended before it was sent.
func unsent(err error) bool {
	return err != nil && !backend.MayHaveRun(err) &&
		!errors.Is(err, backend.ErrClosed) && !errors.Is(err, backend.ErrNotSupported)
}

// lostPermits reports an error after which permits may be gone, and whose caller had left.
func (s *Semaphore) lostPermits(err error) {
	s.client.opts.Logger.Warn("permits may be lost", append(zapObject(s.object), zap.Error(err))...)
}

// owed counts permits that a client has yet to add in the background.
type owed struct {
	mu      sync.Mutex
	permits map[account]int // those at 0 are being sent
}

// account is a semaphore's key, and whether the permits also make it.
type account struct {
	key    string
	create bool
}

// add counts n more, and reports whether somebody sends them already.
func (o *owed) add(to account, n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, sending := o.permits[to]
	if o.permits == nil {
		o.permits = make(map[account]int)
	}
	o.permits[to] = before + n
	return sending
}

// take returns what is to be sent; after 0 the caller sends no more.
func (o *owed) take(to account) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.permits[to]
	if n == 0 {
		delete(o.permits, to)
	} else {
		o.permits[to] = 0
	}
	return n
}

// sleep pauses for d, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
