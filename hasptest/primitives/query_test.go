package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/primitives"
)

// silentLink loses the answers to all scripts: the connection breaks at once, or never.
type silentLink struct {
	*server
	hangs bool
}

var errReset = errors.New("connection reset")

// Run implements backend.ScriptRunner.
func (l *silentLink) Run(
	ctx context.Context, script *backend.Script, _, _ []string,
) (backend.Reply, error) {
	if l.hangs {
		<-ctx.Done()
		return backend.Reply{}, unknown(script, ctx.Err())
	}
	if script.Retry.Writes() {
		return backend.Reply{}, backend.Indeterminate(errReset)
	}
	return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, errReset) // As adapters do.
}

// TestNothingIsUnknownAfterAQuery loses the answer to each query, or ends its context: the error does not say that
// something may have been changed.
func TestNothingIsUnknownAfterAQuery(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := &silentLink{server: s}
		c := link.over(t, link, nil)
		lock, fair, mutex := c.NewLock("x", nil), c.NewFairLock("x", nil), c.NewMutex("x", nil)
		both, spin, plain := c.NewReadWriteLock("x", nil), c.NewSpinLock("x", nil), c.NewPlainLock("x", nil)
		slots, permits := c.NewCountingSemaphore("x", 1, nil), c.NewPermitSemaphore("x", nil)
		long, double, latch := c.NewAtomicLong("x"), c.NewAtomicDouble("x"), c.NewCountDownLatch("x")
		throttle, rates := c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Second}, refuse), c.NewRateLimiter("x", primitives.Rate{}, rateRefuse)
		for name, query := range map[string]func(ctx context.Context) error{
			"Lock.IsLocked":    func(ctx context.Context) error { return errOf(lock.IsLocked(ctx)) },
			"Lock.IsHeldBy":    func(ctx context.Context) error { return errOf(lock.IsHeldBy(ctx, "a:1")) },
			"Lock.Remaining":   func(ctx context.Context) error { return errOf(lock.Remaining(ctx)) },
			"Lock.Holder":      func(ctx context.Context) error { return errOf(lock.Holder(ctx)) },
			"FairLock.Holder":  func(ctx context.Context) error { return errOf(fair.Holder(ctx)) },
			"Mutex.Holder":     func(ctx context.Context) error { return errOf(mutex.Holder(ctx)) },
			"WriteLock.Holder": func(ctx context.Context) error { return errOf(both.WriteLock().Holder(ctx)) },
			"ReadLock.Holders": func(ctx context.Context) error { return errOf(both.ReadLock().Holders(ctx)) },
			"FairLock":         func(ctx context.Context) error { return errOf(fair.IsLocked(ctx)) },
			"SpinLock":         func(ctx context.Context) error { return errOf(spin.IsLocked(ctx)) },
			"Mutex.IsLocked":   func(ctx context.Context) error { return errOf(mutex.IsLocked(ctx)) },
			"Mutex.Remaining":  func(ctx context.Context) error { return errOf(mutex.Remaining(ctx)) },
			"PlainLock":        func(ctx context.Context) error { return errOf(plain.Remaining(ctx)) },
			"ReadLock":         func(ctx context.Context) error { return errOf(both.ReadLock().Remaining(ctx)) },
			"WriteLock":        func(ctx context.Context) error { return errOf(both.WriteLock().Remaining(ctx)) },
			"Holders":          func(ctx context.Context) error { return errOf(slots.Holders(ctx)) },
			"AvailablePermits": func(ctx context.Context) error { return errOf(permits.AvailablePermits(ctx)) },
			"TotalPermits":     func(ctx context.Context) error { return errOf(permits.TotalPermits(ctx)) },
			"Remaining":        func(ctx context.Context) error { return errOf(permits.Remaining(ctx, primitives.PermitID{})) },
			"Semaphore":        func(ctx context.Context) error { return errOf(c.NewSemaphore("x", nil).AvailablePermits(ctx)) },
			"RateLimiter":      func(ctx context.Context) error { return errOf(rates.State(ctx)) },
			"RateLimiter.Rate": func(ctx context.Context) error { return errOf(rates.Rate(ctx)) },
			"Throttle":         func(ctx context.Context) error { return errOf(throttle.State(ctx)) },
			"AtomicLong":       func(ctx context.Context) error { return errOf(long.Load(ctx)) },
			"AtomicDouble":     func(ctx context.Context) error { return errOf(double.Load(ctx)) },
			"Exists":           func(ctx context.Context) error { return errOf(long.Exists(ctx)) },
			"TTL":              func(ctx context.Context) error { return errOf(long.TTL(ctx)) },
			"Latch.Count":      func(ctx context.Context) error { return errOf(latch.Count(ctx)) },
			"Latch.Wait":       latch.Wait,
			"PartsLatch.Wait":  c.NewPartsLatch("x").Wait,
			"Election":         func(ctx context.Context) error { return errOf(c.NewElection("x", nil).Leader(ctx)) },
		} {
			link.hangs = false
			err := query(t.Context())
			require.ErrorIs(t, err, primitives.ErrUnavailable, name)
			require.NotErrorIs(t, err, primitives.ErrIndeterminate, name)
			require.NotContains(t, err.Error(), "outcome unknown", name)
			link.hangs = true
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err = query(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.NotErrorIs(t, err, primitives.ErrIndeterminate, name)
		}
	})
}

// driven is a server behind the part that adapters share.
type driven struct {
	*server
	runner *evalsha.Runner
}

// driver sends scripts to a server, which has them all.
type driver struct{ *server }

func (d driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return d.Run(ctx, cmd.Script, cmd.Keys, cmd.Args)
}

func (d driver) SendAll(ctx context.Context, cmds []evalsha.Command) (outcomes []backend.Outcome) {
	for _, cmd := range cmds {
		reply, err := d.Send(ctx, cmd)
		outcomes = append(outcomes, backend.Outcome{Reply: reply, Err: err})
	}
	return outcomes
}

func (driver) Node(string) string                                  { return "" }
func (driver) Load(context.Context, *backend.Script, string) error { return nil }
func (driver) LoadAll(context.Context, *backend.Script) error      { return nil }

// RunBatch is as for [backend.Batcher].
func (d driven) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	d.runner.RunBatch(ctx, driver{d.server}, calls, report)
}

// TestRefusalRenewsAtOnce lets a server take the place of another, which a call learns of by a refusal. The backend
// repeats the call with success, and a holder learns that the new server does not have its lock.
func TestRefusalRenewsAtOnce(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"READONLY You can't write against a read only replica.", "MOVED 1 127.0.0.1:2", "CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			c := s.over(t, driven{s, evalsha.New(driver{s}, nil)}, nil)
			kept := must(c.NewLock("kept", nil).Lock(t.Context()))(t)
			lost := must(c.NewLock("lost", nil).Lock(t.Context()))(t)
			time.Sleep(time.Second)
			refused := false
			s.set(func() {
				s.fault = func(string) (f fault) {
					if !refused {
						refused, f.err = true, backend.ParseServerError(refusal)
					}
					return f
				}
			})
			require.NoError(t, errOf(s.embedded.Do("DEL", "lost")))
			require.NoError(t, lost.Err())
			require.NoError(t, errOf(c.NewLock("another", nil).TryLock(t.Context())))
			time.Sleep(100 * time.Millisecond)
			require.ErrorIs(t, lost.Err(), primitives.ErrLost)
			require.NoError(t, kept.Err())
		})
	}
}
