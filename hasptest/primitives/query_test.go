package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
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
		both, spin := c.NewReadWriteLock("x", nil), c.NewSpinLock("x", nil)
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
