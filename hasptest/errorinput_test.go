package hasptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// clientOptions has options of clients out of bounds.
func clientOptions(b *book) {
	s := hasptest.New(b)
	fresh := func(o primitives.Options) error { return last(primitives.New(s.Backend(), &o)) }
	b.invalid("client, no backend", last(primitives.New(nil, nil)))
	b.invalid("client, WatchdogLease negative", fresh(primitives.Options{WatchdogLease: -1}))
	b.invalid("client, WatchdogLease short", fresh(primitives.Options{WatchdogLease: time.Millisecond}))
	b.invalid("client, MaxHold short", fresh(primitives.Options{MaxHold: time.Second}))
	b.invalid("client, ClockDrift large", fresh(primitives.Options{ClockDrift: time.Minute}))
	b.invalid("client, ClockDrift of half the whole milliseconds", fresh(primitives.Options{WatchdogLease: 200900 * time.Microsecond, ClockDrift: 100200 * time.Microsecond}))
	b.invalid("client, PollInterval short", fresh(primitives.Options{PollInterval: time.Microsecond}))
	b.invalid("client, TokenTTL short", fresh(primitives.Options{TokenTTL: time.Millisecond}))
	b.invalid("client, Replicas negative", fresh(primitives.Options{Replicas: -1}))
	b.invalid("client, IDPrefix with a colon", fresh(primitives.Options{IDPrefix: "pod:1"}))
	b.invalid("client, IDPrefix long", fresh(primitives.Options{IDPrefix: strings.Repeat("a", 65)}))
}

// lockOptions has options of locks out of bounds: nothing is sent.
func lockOptions(b *book) {
	c, f := newFaulty(b, hasptest.New(b))
	try := func(l primitives.Locker) error { return last(l.TryLock(b.Context())) }
	lock := func(o primitives.LockOptions) error { return try(c.NewLock("x", &o)) }
	b.invalid("lock, Lease negative", lock(primitives.LockOptions{Lease: -1}))
	b.invalid("lock, Lease short", lock(primitives.LockOptions{Lease: 99999 * time.Microsecond}))
	b.invalid("lock, MaxHold short", lock(primitives.LockOptions{MaxHold: time.Second}))
	b.invalid("lock, MaxHold with Lease", lock(primitives.LockOptions{MaxHold: time.Hour, Lease: time.Minute}))
	long := strings.Repeat("m", 1025)
	b.invalid("lock, Metadata long", lock(primitives.LockOptions{Metadata: long}))
	b.invalid("lock, Replicas negative", lock(primitives.LockOptions{Replicas: -2}))
	b.invalid("lock, Replicas with another backend", lock(primitives.LockOptions{Replicas: 1}))
	b.invalid("lock, ReplicaTimeout long", lock(primitives.LockOptions{ReplicaTimeout: time.Hour}))
	b.invalid("lock, ReplicaTimeout negative", lock(primitives.LockOptions{ReplicaTimeout: -1}))
	b.invalid("lock, query with a short Lease",
		last(c.NewLock("x", &primitives.LockOptions{Lease: 1}).IsLocked(b.Context())))
	b.invalid("fenced lock, Replicas", try(c.NewFencedLock("x", &primitives.LockOptions{Replicas: 1})))
	fair := func(o primitives.FairLockOptions) error { return try(c.NewFairLock("x", &o)) }
	b.invalid("fair lock, WaiterTimeout negative", fair(primitives.FairLockOptions{WaiterTimeout: -1}))
	b.invalid("fair lock, Lease", fair(primitives.FairLockOptions{Lease: -1}))
	b.invalid("fair lock, Replicas", fair(primitives.FairLockOptions{Replicas: 1}))
	spin := func(o primitives.SpinLockOptions) error { return try(c.NewSpinLock("x", &o)) }
	b.invalid("spin lock, FirstDelay negative", spin(primitives.SpinLockOptions{FirstDelay: -1}))
	b.invalid("spin lock, MaxDelay short",
		spin(primitives.SpinLockOptions{FirstDelay: time.Second, MaxDelay: time.Millisecond}))
	b.invalid("spin lock, Lease, not MaxDelay", spin(primitives.SpinLockOptions{FirstDelay: time.Second, Lease: 1}))
	b.invalid("spin lock, Replicas", spin(primitives.SpinLockOptions{Replicas: 1}))
	b.invalid("mutex, Replicas", try(c.NewMutex("x", &primitives.MutexOptions{Replicas: 1})))
	b.invalid("mutex, Lease negative", try(c.NewMutex("x", &primitives.MutexOptions{Lease: -1})))
	rw := c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{Lease: 1})
	b.invalid("read lock, Lease", try(rw.ReadLock()))
	b.invalid("write lock, Lease", try(rw.WriteLock()))
	rw = c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{Replicas: 1})
	b.invalid("read lock, Replicas", try(rw.ReadLock()))
	b.invalid("write lock, Replicas", try(rw.WriteLock()))
	b.invalid("multi lock, no locks", try(primitives.NewMultiLock()))
	b.invalid("multi lock, nil", try(primitives.NewMultiLock(nil)))
	b.invalid("multi lock, a lock twice", try(primitives.NewMultiLock(c.NewLock("x", nil), c.NewLock("x", nil))))
	red := func(o primitives.RedLockOptions, clients ...*primitives.Client) error {
		return try(primitives.NewRedLock(clients, "x", &o))
	}
	b.invalid("red lock, no clients", red(primitives.RedLockOptions{}))
	b.invalid("red lock, nil", red(primitives.RedLockOptions{}, c, nil))
	b.invalid("red lock, a client twice", red(primitives.RedLockOptions{}, c, c))
	b.invalid("red lock, NodeTimeout", red(primitives.RedLockOptions{NodeTimeout: -1}, c))
	b.invalid("red lock, Lease", red(primitives.RedLockOptions{Lease: 1}, c))
	require.Zero(b, f.runs.Load())
}

// semaphoreOptions has options of semaphores and limiters out of bounds: nothing is sent.
func semaphoreOptions(b *book) {
	c, f := newFaulty(b, hasptest.New(b))
	ctx := b.Context()
	b.invalid("counting semaphore, limit", last(c.NewCountingSemaphore("x", 0, nil).TryAcquire(ctx)))
	counting := func(o primitives.CountingSemaphoreOptions) *primitives.CountingSemaphore {
		return c.NewCountingSemaphore("x", 1, &o)
	}
	b.invalid("counting semaphore, Order", last(counting(primitives.CountingSemaphoreOptions{Order: 2}).TryAcquire(ctx)))
	b.invalid("counting semaphore, Lease", last(counting(primitives.CountingSemaphoreOptions{Lease: 1}).Holders(ctx)))
	b.invalid("counting semaphore, WaiterTimeout", last(counting(primitives.CountingSemaphoreOptions{
		Order: primitives.ByArrival, WaiterTimeout: 1,
	}).Acquire(ctx)))
	b.invalid("semaphore, Permits", c.NewSemaphore("x", &primitives.SemaphoreOptions{Permits: -1}).TryAcquire(ctx, 1))
	b.invalid("semaphore, TTL", c.NewSemaphore("x", &primitives.SemaphoreOptions{TTL: -1}).TryAcquire(ctx, 1))
	permits := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: -1})
	b.invalid("permit semaphore, Permits", last(permits.TryAcquire(ctx, 1)))
	b.invalid("permit semaphore, release with bad Permits", permits.Release(ctx, primitives.PermitID{1}))
	rate := func(r primitives.Rate) error { return c.NewRateLimiter("x", r, rateRefuse).SetRate(ctx, r) }
	b.invalid("rate limiter, Permits", rate(primitives.Rate{Interval: time.Second}))
	b.invalid("rate limiter, Interval", rate(primitives.Rate{Permits: 1}))
	b.invalid("rate limiter, Interval with a fraction", rate(primitives.Rate{Permits: 1, Interval: 1500 * time.Microsecond}))
	b.invalid("rate limiter, Mode", rate(primitives.Rate{Permits: 1, Interval: time.Second, Mode: 2}))
	b.invalid("rate limiter, KeepAlive",
		rate(primitives.Rate{Permits: 1, Interval: time.Second, KeepAlive: time.Millisecond}))
	b.invalid("rate limiter, no Unavailable", c.NewRateLimiter("x", primitives.Rate{}, nil).Wait(ctx, 1))
	b.invalid("rate limiter, LocalShare without a rate",
		c.NewRateLimiter("x", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.LocalShare(1)}).Wait(ctx, 1))
	limit := func(l primitives.Limit) error { return last(c.NewThrottle("x", l, refuse).Allow(ctx, 1)) }
	b.invalid("throttle, Permits", limit(primitives.Limit{Interval: time.Second}))
	b.invalid("throttle, Interval", limit(primitives.Limit{Permits: 1, Interval: 1500 * time.Nanosecond}))
	b.invalid("throttle, Interval with a fraction", limit(primitives.Limit{Permits: 1, Interval: time.Second + 1}))
	b.invalid("throttle, Burst", limit(primitives.Limit{Permits: 1, Interval: time.Second, Burst: -1}))
	b.invalid("throttle, a Burst of 27 years", limit(primitives.Limit{Permits: 1, Interval: 24 * time.Hour, Burst: 10_000}))
	require.Zero(b, f.runs.Load())
}

// argumentErrors has arguments out of bounds: nothing is sent.
func argumentErrors(b *book) {
	c, f := newFaulty(b, hasptest.New(b))
	ctx := b.Context()
	id := must(primitives.ParsePermitID(strings.Repeat("0", 32)))(b)
	sem, permits := c.NewSemaphore("x", nil), c.NewPermitSemaphore("x", nil)
	b.invalid("semaphore, acquire 0", sem.Acquire(ctx, 0))
	b.invalid("semaphore, release 0", sem.Release(ctx, 0))
	b.invalid("semaphore, expire", last(sem.Expire(ctx, 0)))
	b.invalid("permit semaphore, acquire many", last(permits.Acquire(ctx, 1001)))
	b.invalid("permit semaphore, release nothing", permits.Release(ctx))
	b.invalid("permit semaphore, release an id twice", permits.Release(ctx, id, id))
	b.invalid("permit semaphore, release many", permits.Release(ctx, make([]primitives.PermitID, 1001)...))
	b.invalid("permit semaphore, set -1", permits.SetPermits(ctx, -1))
	b.invalid("permit semaphore, update to nothing", permits.UpdateLease(ctx, id, 0))
	b.invalid("permit id, no digits", last(primitives.ParsePermitID("x")))
	b.invalid("rate limiter, take 0", c.NewRateLimiter("x", primitives.Rate{}, rateRefuse).Wait(ctx, 0))
	b.invalid("rate limiter, set nothing", c.NewRateLimiter("x", primitives.Rate{}, rateRefuse).SetRate(ctx, primitives.Rate{}))
	b.invalid("throttle, acquire 0", c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Second}, refuse).Wait(ctx, 0))
	user := c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Second}, refuse)
	b.invalid("multi throttle, no take", primitives.NewMultiThrottle(nil).Wait(ctx))
	b.invalid("multi throttle, take 0", primitives.NewMultiThrottle(nil, user.Take(0)).Wait(ctx))
	b.invalid("multi throttle, a name twice", primitives.NewMultiThrottle(nil, user.Take(1), user.Take(1)).Wait(ctx))
	b.invalid("latch, set 0", last(c.NewCountDownLatch("x").InitCount(ctx, 0)))
	b.invalid("latch, ttl of parts", last(c.NewPartsLatch("x").Init(ctx, 1, 0)))
	b.invalid("latch, no id of a part", last(c.NewPartsLatch("x").CountDown(ctx, "")))
	b.invalid("latch, ttl", last(c.NewCountDownLatch("x").InitCountWithTTL(ctx, 1, 0)))
	b.invalid("id generator, blockSize", last(c.NewIDGenerator("x").Init(ctx, 1, 0)))
	runs := func(job *primitives.PeriodicJob, at time.Time) error { return last(job.Do(ctx, at, nil)) }
	b.invalid("periodic job, period", runs(c.NewPeriodicJob("x", 0, nil), time.Now()))
	b.invalid("periodic job, period with a fraction", runs(c.NewPeriodicJob("x", 1500*time.Microsecond, nil), time.Now()))
	b.invalid("periodic job, TTL", runs(c.NewPeriodicJob("x", time.Hour, &primitives.PeriodicJobOptions{TTL: 1}), time.Now()))
	b.invalid("periodic job, no time", runs(c.NewPeriodicJob("x", time.Hour, nil), time.Time{}))
	memo := primitives.NewMemo[string](c, "x", nil)
	b.invalid("memo, Keep", remember(ctx, primitives.NewMemo[string](c, "x", &primitives.MemoOptions{Keep: 1}), nil))
	b.invalid("memo, MaxBytes", remember(ctx, primitives.NewMemo[string](c, "x", &primitives.MemoOptions{MaxBytes: -1}), nil))
	b.invalid("memo, Marshal alone", remember(ctx, primitives.NewMemo[string](c, "x", &primitives.MemoOptions{Marshal: json.Marshal}), nil))
	b.invalid("memo, long fingerprint", remember(ctx, memo.With(&primitives.MemoCall{Fingerprint: strings.Repeat("f", 1020)}), nil))
	b.invalid("memo, no key", last(memo.Forget(ctx, "")))
	leader := func(o primitives.ElectionOptions) error { return last(c.NewElection("x", &o).Leader(ctx)) }
	b.invalid("election, ID of two lines", leader(primitives.ElectionOptions{ID: "a\nb"}))
	b.invalid("election, short Lease", leader(primitives.ElectionOptions{Lease: time.Millisecond}))
	b.invalid("election, long Value", leader(primitives.ElectionOptions{ID: "a", Value: strings.Repeat("b", 1000)}))
	b.invalid("atomic double, store NaN", c.NewAtomicDouble("x").Store(ctx, math.NaN()))
	b.invalid("atomic double, add infinity", last(c.NewAtomicDouble("x").Add(ctx, math.Inf(1))))
	counting := c.NewCountingSemaphore("x", 1, nil)
	b.invalid("counting semaphore, refresh nil", counting.Refresh(ctx, nil))
	require.Zero(b, f.runs.Load())
	lease := b.held(c.NewLock("x1", nil).Lock(ctx))
	b.invalid("counting semaphore, refresh a lock's lease", counting.Refresh(ctx, lease))
}

// FuzzDrawn draws within bounds, whatever the input is.
func FuzzDrawn(f *testing.F) {
	hasptest.FuzzScript(f, func(_ context.Context, _ backend.ScriptRunner, in *hasptest.Drawn) error {
		for _, bounds := range [][2]int64{{1, 1}, {-3, 5}, {7, math.MaxInt64}, {math.MinInt64, math.MaxInt64}, {math.MinInt64, -9}} {
			if n := in.Int(bounds[0], bounds[1]); n < bounds[0] || n > bounds[1] {
				return fmt.Errorf("%d is not in %v", n, bounds)
			}
		}
		if all := hasptest.Several(3, func() *string { return hasptest.Maybe(in, in.Text()) }); len(all) != 3 {
			return fmt.Errorf("%d of 3", len(all))
		}
		return nil
	})
}
