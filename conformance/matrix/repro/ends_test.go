package repro

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// step is one call of an object, what it must return, and the error.
type step struct {
	what string
	call func(ctx context.Context) (any, error)
	want any
	err  error
}

// get makes a call of a method that returns a value and an error.
func get[T any](call func(ctx context.Context) (T, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return call(ctx) }
}

// with is get for a method of one argument.
func with[A, T any](call func(context.Context, A) (T, error), arg A) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return call(ctx, arg) }
}

// only makes a call of a method that returns an error alone.
func only[A any](call func(context.Context, A) error, arg A) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return nil, call(ctx, arg) }
}

// ends are the numbers of all objects at the ends of their ranges, or beyond what a double has exactly. The steps of
// each are made in their order.
func ends(c *primitives.Client) map[string][]step {
	const most, least, inexact = math.MaxInt64, math.MinInt64, int64(1<<53 + 1)
	overflow := primitives.ErrOverflow
	long, double := c.NewAtomicLong("long"), c.NewAtomicDouble("double")
	latch, ids, spent := c.NewCountDownLatch("latch"), c.NewIDGenerator("ids"), c.NewIDGenerator("spent")
	ranged, whole := c.NewIDGenerator("ranged"), c.NewIDGenerator("whole")
	semaphore := c.NewSemaphore("semaphore", nil)
	permits := c.NewPermitSemaphore("permits", nil)
	limiter := c.NewRateLimiter("limiter", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	fenced, token, counted := c.NewFencedLock("fenced", nil), c.NewAtomicLong("redisson_lock_token:{fenced}"), c.NewAtomicLong("latch")
	free := func(ctx context.Context) (int, error) {
		d, err := limiter.State(ctx)
		return d.Remaining, err
	}
	grant := func(ctx context.Context) (any, error) {
		lease, err := fenced.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return lease.Token(), lease.Release(ctx)
	}
	init := func(g *primitives.IDGenerator, first, size int64) step {
		return step{"Init", func(ctx context.Context) (any, error) { return g.Init(ctx, first, size) }, true, nil}
	}
	next := func(g *primitives.IDGenerator, want int64) step { return step{"Next", get(g.Next), want, nil} }
	none := func(g *primitives.IDGenerator) step { return step{"Next", get(g.Next), int64(0), overflow} }
	return map[string][]step{
		"AtomicLong": {
			{"Store", only(long.Store, int64(most)), nil, nil},
			{"ExpireAt", with(long.ExpireAt, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), true, nil},
			{"TTL", get(long.TTL), primitives.NoExpiry - 1, nil}, // A duration has 292 years.
			{"Add", with(long.Add, 1), int64(0), overflow},
			{"Load", get(long.Load), int64(most), nil},
			{"Decrement", get(long.Decrement), int64(most - 1), nil},
			{"LoadAndAdd", with(long.LoadAndAdd, 1), int64(most - 1), nil},
			{"Swap", with(long.Swap, int64(least)), int64(most), nil},
			{"Add", with(long.Add, -1), int64(0), overflow},
			{"Swap", with(long.Swap, inexact), int64(least), nil},
			{"Increment", get(long.Increment), inexact + 1, nil},
			{"LoadAndDelete", get(long.LoadAndDelete), inexact + 1, nil},
		},
		"AtomicDouble": {
			{"Store", only(double.Store, math.MaxFloat64), nil, nil},
			{"Add", with(double.Add, 9e291), math.MaxFloat64, nil},
			{"Add", with(double.Add, 9e291), math.MaxFloat64, nil},
			{"Load", get(double.Load), math.MaxFloat64, nil},
			{"Add", with(double.Add, 1e292), 0.0, overflow},
			{"Add", with(double.Add, -9e291), math.MaxFloat64 - 9e291, nil},
			{"Swap", with(double.Swap, -math.MaxFloat64), math.MaxFloat64 - 9e291, nil},
			{"Add", with(double.Add, -9e291), -math.MaxFloat64, nil},
			{"Add", with(double.Add, math.MaxFloat64), 0.0, nil},
			{"Add", with(double.Add, 1e-17), 1e-17, nil}, // The server keeps as many digits.
			{"Store", only(double.Store, math.SmallestNonzeroFloat64), nil, nil},
			{"Load", get(double.Load), math.SmallestNonzeroFloat64, nil},
		},
		"CountDownLatch": {
			{"InitCount", with(latch.InitCount, int64(most)), true, nil},
			{"CountDown", get(latch.CountDown), int64(most - 1), nil},
			{"Count", get(latch.Count), int64(most - 1), nil},
			{"Delete", get(latch.Delete), true, nil},
			{"InitCount", with(latch.InitCount, inexact+1), true, nil},
			{"CountDown", get(latch.CountDown), inexact, nil},
			{"Store", only(counted.Store, int64(least)), nil, nil}, // Redisson's trySetCount may do so.
			{"CountDown", get(latch.CountDown), int64(0), nil},
		},
		"FencedLock": { // The clock has not passed these tokens.
			{"Store", only(token.Store, inexact), nil, nil},
			{"Lock", grant, inexact + 1, nil},
			{"Store", only(token.Store, int64(1e16-1)), nil, nil},
			{"Lock", grant, int64(1e16), nil},
			{"Store", only(token.Store, int64(most-1)), nil, nil},
			{"Lock", grant, int64(most), nil},
			{"Lock", grant, nil, primitives.ErrConflict},
			{"LastToken", get(fenced.LastToken), int64(most), nil},
		},
		"IDGenerator": {
			init(ids, most-9, 5), next(ids, most-9), next(ids, most-8), next(ids, most-7), next(ids, most-6),
			next(ids, most-5), next(ids, most-4), next(ids, most-3), next(ids, most-2), next(ids, most-1),
			next(ids, most), none(ids), none(ids),
			init(spent, most, 1), next(spent, most), none(spent),
			init(ranged, least, most), next(ranged, least), next(ranged, least+1),
			init(whole, 1, most), next(whole, 1), next(whole, 2),
		},
		"Semaphore": {
			{"InitPermits", with(semaphore.InitPermits, math.MaxInt32), true, nil},
			{"AddPermits", only(semaphore.AddPermits, 1), nil, overflow},
			{"Release", only(semaphore.Release, 1), nil, overflow},
			{"TryAcquire", only(semaphore.TryAcquire, math.MaxInt32), nil, nil},
			{"AvailablePermits", get(semaphore.AvailablePermits), 0, nil},
		},
		"PermitSemaphore": {
			{"InitPermits", with(permits.InitPermits, math.MaxInt32), true, nil},
			{"AddPermits", only(permits.AddPermits, 1), nil, overflow},
			{"TotalPermits", get(permits.TotalPermits), math.MaxInt32, nil},
			{"AddPermits", only(permits.AddPermits, -math.MaxInt32), nil, nil},
			{"TotalPermits", get(permits.TotalPermits), 0, nil},
		},
		"RateLimiter": {
			{"SetRate", only(limiter.SetRate, primitives.Rate{Permits: math.MaxInt32, Interval: primitives.NoExpiry / 1e6 * 1e6}), nil, nil},
			{"Wait", only(limiter.Wait, math.MaxInt32), nil, nil},
			{"State", get(free), 0, nil},
			{"Return", only(limiter.Return, math.MaxInt32), nil, nil},
			{"State", get(free), math.MaxInt32, nil},
		},
	}
}

// TestNumbersAtTheirEnds: each number that a method takes or returns is right at the ends of its range, and where a
// double has no whole number of its own for it.
func TestNumbersAtTheirEnds(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	for object, steps := range ends(client(t, s.Addr())) {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			for i, step := range steps {
				got, err := step.call(t.Context())
				at := fmt.Sprintf("step %d, %s", i, step.what)
				require.ErrorIs(t, err, step.err, at)
				require.Equal(t, step.want, got, at)
			}
		})
	}
}

// shareable are the kinds of leased, and those that two owners can hold.
func shareable(c *primitives.Client, name string) map[string]func(context.Context) (*primitives.Lease, error) {
	all := leased(c, name)
	arrival := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	permits := c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: 2})
	all["ByTimeOfTwo"] = c.NewCountingSemaphore(name, 2, nil).Acquire
	all["ByArrivalOfTwo"] = c.NewCountingSemaphore(name, 2, arrival).Acquire
	all["OnePermit"] = func(ctx context.Context) (*primitives.Lease, error) { return permits.Acquire(ctx, 1) }
	preferred := c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{PreferWriters: true})
	all["PreferringReadLock"], all["PreferringWriteLock"] = preferred.ReadLock().Lock, preferred.WriteLock().Lock
	all["Described"] = c.NewLock(name, &primitives.LockOptions{Metadata: "of me"}).Lock
	return all
}

// TestNoScriptShortensAnotherCallsHold has a holder of each kind, with a lease of a minute, and sends again what it
// sent before, as if that came late: its tries, beats and renewals. Then others, with leases of 3 s, use every kind
// by the same name: they try, wait, hold, renew, leave and release. After none of all these scripts the hold ends
// earlier on the server. A late beat of a Mutex could have made it 10 s.
func TestNoScriptShortensAnotherCallsHold(t *testing.T) {
	t.Parallel()
	for kind := range shareable(cells.Over(t, backendOf(t, embedded.NewServer()), nil), "x") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { shortensNothing(t, kind) })
		})
	}
}

func shortensNothing(t *testing.T, kind string) {
	t.Helper()
	server := embedded.NewServer()
	client := func(lease time.Duration, run func(r *cells.Runner, c backend.Call) (backend.Reply, error)) *primitives.Client {
		r := &cells.Runner{Backend: backendOf(t, server)}
		r.Instead = func(_ context.Context, c backend.Call) (backend.Reply, error) { return run(r, c) }
		return cells.Over(t, r, &primitives.Options{WatchdogLease: lease})
	}
	good := func(r *cells.Runner, c backend.Call) (backend.Reply, error) { return r.Good(t.Context(), c) }
	first := cells.Got(shareable(client(time.Minute, good), "x")[kind](t.Context()))(t)
	time.AfterFunc(6*time.Second, func() { _ = first.Release(t.Context()) })
	sent := make(chan backend.Call, 1000)
	lease, err := shareable(client(time.Minute, func(r *cells.Runner, c backend.Call) (backend.Reply, error) {
		sent <- c
		return good(r, c)
	}), "x")[kind](t.Context())
	require.NoError(t, err)
	time.Sleep(30 * time.Second) // It has been renewed.

	var one sync.Mutex // No other script runs while the test reads when the hold ends.
	ran := 0
	keeps := func(r *cells.Runner, c backend.Call) (backend.Reply, error) {
		one.Lock()
		defer one.Unlock()
		before := endsOf(t, server, lease.Owner())
		reply, err := good(r, c)
		after := endsOf(t, server, lease.Owner())
		for place, end := range before {
			if after[place] < end { // It may be a goroutine of the client.
				t.Errorf("%s: %s ended at %d, and ends at %d", c.Script.Name, place, end, after[place])
			}
		}
		ran++
		return reply, err
	}
	late := &cells.Runner{Backend: backendOf(t, server)}
	for n := len(sent); n > 0; n-- {
		_, _ = keeps(late, <-sent)
	}
	require.GreaterOrEqual(t, ran, 2, "a try and a renewal")
	require.NotEmpty(t, endsOf(t, server, lease.Owner()))
	for _, use := range shareable(client(3*time.Second, keeps), "x") {
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		if other, err := use(ctx); err == nil {
			time.Sleep(2 * time.Second)
			_ = other.Release(ctx)
		}
		cancel()
	}
	time.Sleep(20 * time.Second) // What the others have left to the background has ended.
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Release(t.Context()))
}

// endsOf returns when an owner's hold ends on a server, in milliseconds: the expiries of all keys that name it, and its
// scores there.
func endsOf(t *testing.T, server *embedded.Server, owner string) map[string]int64 {
	t.Helper()
	ends := map[string]int64{}
	owner = owner[:min(len(owner), 16)] // Of permits the first.
	for _, key := range cells.Texts(t, server, "KEYS", "*") {
		named := strings.Contains(key, owner)
		switch cells.Text(t, server, "TYPE", key) {
		case "string":
			named = named || strings.HasPrefix(cells.Text(t, server, "GET", key), owner)
		case "hash":
			fields := strings.Join(cells.Texts(t, server, "HKEYS", key), " ")
			named = named || strings.Contains(fields, owner)
		case "zset":
			members := cells.Texts(t, server, "ZRANGE", key, "0", "-1", "WITHSCORES")
			for i := 0; i < len(members); i += 2 {
				if named = strings.HasPrefix(members[i], owner); named {
					score := cells.Got(strconv.ParseFloat(members[i+1], 64))(t)
					ends[key+" score"] = int64(score)
					break
				}
			}
		}
		if named {
			if ends[key] = int64(cells.Number(t, server, "PEXPIRETIME", key)); ends[key] < 0 {
				ends[key] = math.MaxInt64
			}
		}
	}
	return ends
}
