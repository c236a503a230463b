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
	b.invalid("client, ClockDrift of half the whole milliseconds", fresh(primitives.Options{WatchdogLease: 200900 * time.Microsecond, ClockDrift: 100200 * time.Microsecond}))
	b.invalid("client, IDPrefix with a colon", fresh(primitives.Options{IDPrefix: "pod:1"}))
	b.invalid("client, IDPrefix long", fresh(primitives.Options{IDPrefix: strings.Repeat("a", 65)}))
}

// badOptions has options and arguments that are no numbers out of bounds, of which hasptest/primitives has a table: nothing
// is sent.
func badOptions(b *book) {
	c, f := newFaulty(b, hasptest.New(b))
	try := func(l primitives.Locker) error { return last(l.TryLock(b.Context())) }
	lock := func(o primitives.LockOptions) error { return try(c.NewLock("x", &o)) }
	b.invalid("lock, MaxHold with Lease", lock(primitives.LockOptions{MaxHold: time.Hour, Lease: time.Minute}))
	b.invalid("lock, Metadata long", lock(primitives.LockOptions{Metadata: strings.Repeat("m", 1025)}))
	b.invalid("lock, Replicas with another backend", lock(primitives.LockOptions{Replicas: 1}))
	b.invalid("lock, query with a short Lease",
		last(c.NewLock("x", &primitives.LockOptions{Lease: 1}).IsLocked(b.Context())))
	spin := func(o primitives.SpinLockOptions) error { return try(c.NewSpinLock("x", &o)) }
	b.invalid("spin lock, MaxDelay short",
		spin(primitives.SpinLockOptions{FirstDelay: time.Second, MaxDelay: time.Millisecond}))
	b.invalid("spin lock, Lease, not MaxDelay", spin(primitives.SpinLockOptions{FirstDelay: time.Second, Lease: 1}))
	red := func(clients ...*primitives.Client) error { return try(primitives.NewRedLock(clients, "x", nil)) }
	b.invalid("red lock, no clients", red())
	b.invalid("red lock, nil", red(c, nil))
	b.invalid("red lock, a client twice", red(c, c))
	ctx := b.Context()
	permits := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: -1})
	b.invalid("permit semaphore, release with bad Permits", permits.Release(ctx, primitives.PermitID{1}))
	b.invalid("rate limiter, no Unavailable", c.NewRateLimiter("x", primitives.Rate{}, nil).Wait(ctx, 1))
	b.invalid("rate limiter, LocalShare without a rate",
		c.NewRateLimiter("x", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.LocalShare(1)}).Wait(ctx, 1))
	years := primitives.Limit{Permits: 1, Interval: 24 * time.Hour, Burst: 10_000}
	b.invalid("throttle, a Burst of 27 years", c.NewThrottle("x", years, refuse).Wait(ctx, 1))
	badArguments(b, c)
	require.Zero(b, f.runs.Load())
	lease := b.held(c.NewLock("x1", nil).Lock(ctx))
	b.invalid("counting semaphore, refresh a lock's lease", c.NewCountingSemaphore("x", 1, nil).Refresh(ctx, lease))
}

func badArguments(b *book, c *primitives.Client) {
	ctx, permits := b.Context(), c.NewPermitSemaphore("x", nil)
	id := must(primitives.ParsePermitID(strings.Repeat("0", 32)))(b)
	b.invalid("permit semaphore, release nothing", permits.Release(ctx))
	b.invalid("permit semaphore, release an id twice", permits.Release(ctx, id, id))
	b.invalid("permit semaphore, release many", permits.Release(ctx, make([]primitives.PermitID, 1001)...))
	b.invalid("permit id, no digits", last(primitives.ParsePermitID("x")))
	b.invalid("rate limiter, set nothing", c.NewRateLimiter("x", primitives.Rate{}, rateRefuse).SetRate(ctx, primitives.Rate{}))
	user := c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Second}, refuse)
	b.invalid("multi throttle, no take", primitives.NewMultiThrottle(nil).Wait(ctx))
	b.invalid("multi throttle, take 0", primitives.NewMultiThrottle(nil, user.Take(0)).Wait(ctx))
	b.invalid("latch, no id of a part", last(c.NewPartsLatch("x").CountDown(ctx, "")))
	b.invalid("periodic job, no time", last(c.NewPeriodicJob("x", time.Hour, nil).Do(ctx, time.Time{}, nil)))
	memo := primitives.NewMemo[string](c, "x", nil)
	b.invalid("memo, Marshal alone", remember(ctx, primitives.NewMemo[string](c, "x", &primitives.MemoOptions{Marshal: json.Marshal}), nil))
	b.invalid("memo, long fingerprint", remember(ctx, memo.With(&primitives.MemoCall{Fingerprint: strings.Repeat("f", 1020)}), nil))
	b.invalid("memo, no key", last(memo.Forget(ctx, "")))
	leader := func(o primitives.ElectionOptions) error { return last(c.NewElection("x", &o).Leader(ctx)) }
	b.invalid("election, ID of two lines", leader(primitives.ElectionOptions{ID: "a\nb"}))
	b.invalid("election, long Value", leader(primitives.ElectionOptions{ID: "a", Value: strings.Repeat("b", 1000)}))
	b.invalid("atomic double, store NaN", c.NewAtomicDouble("x").Store(ctx, math.NaN()))
	b.invalid("atomic double, add infinity", last(c.NewAtomicDouble("x").Add(ctx, math.Inf(1))))
	b.invalid("counting semaphore, refresh nil", c.NewCountingSemaphore("x", 1, nil).Refresh(ctx, nil))
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
