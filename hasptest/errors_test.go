package hasptest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

const errorsFile = "testdata/errors.txt"

var update = flag.Bool("update", false, "write "+errorsFile)

// TestErrorTexts compares the texts of errors with a file: one line for each situation that a user can meet. With
// -update it writes the file. Each text says once what failed, on which object, and why, and what to do where that is
// not plain.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	b := &book{}
	for _, write := range []func(*testing.T, *book){
		optionErrors, argumentErrors, everyObject, leaseErrors, deadlockErrors, severalServers, permitErrors, numberErrors,
		adderErrors, clientErrors,
	} {
		synctest.Test(t, func(t *testing.T) { write(t, b) })
	}
	if *update {
		require.NoError(t, os.WriteFile(errorsFile, []byte(b.text.String()), 0o600))
	}
	want, err := os.ReadFile(errorsFile)
	require.NoError(t, err)
	require.Equal(t, string(want), b.text.String(), "run go test -run TestErrorTexts -update")
}

// book has a line for each situation.
type book struct{ text strings.Builder }

// note writes the text of the last result, which must be an error.
func (b *book) note(t *testing.T, situation string, results ...any) {
	t.Helper()
	err, _ := results[len(results)-1].(error)
	require.Error(t, err, situation)
	fmt.Fprintf(&b.text, "%s: %s\n", situation, strings.ReplaceAll(err.Error(), "\n", "\\n"))
}

// faulty is a backend whose scripts all fail, if err is not nil. It has no batches, and waits for no replicas.
type faulty struct {
	backend.Backend
	err error
}

func (f *faulty) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	if f.err != nil {
		return backend.Reply{}, fmt.Errorf("script %s: %w", s.Name, f.err)
	}
	return f.Backend.Run(ctx, s, keys, args)
}

// newFaulty returns a client over a backend that the test can make fail.
func newFaulty(t *testing.T, s *hasptest.Server) (*primitives.Client, *faulty) {
	t.Helper()
	f := &faulty{Backend: s.Backend()}
	c, err := primitives.New(f, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		f.err = nil
		_ = c.Close(context.Background())
	})
	return c, f
}

// use is the first call that a user makes of an object.
type use struct {
	kind string
	call func(ctx context.Context) error
}

// uses are those of all objects called name.
func uses(c *primitives.Client, name string) []use {
	lease := func(acquire func(context.Context) (*primitives.Lease, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := acquire(ctx)
			return err
		}
	}
	rw := c.NewReadWriteLock(name, nil)
	return []use{
		{"lock", lease(c.NewLock(name, nil).Lock)},
		{"fair lock", lease(c.NewFairLock(name, nil).Lock)},
		{"fenced lock", lease(c.NewFencedLock(name, nil).Lock)},
		{"spin lock", lease(c.NewSpinLock(name, nil).Lock)},
		{"mutex", lease(c.NewMutex(name, nil).Lock)},
		{"read lock", lease(rw.ReadLock().Lock)},
		{"write lock", lease(rw.WriteLock().Lock)},
		{"multi lock", lease(primitives.NewMultiLock(c.NewLock(name, nil)).Lock)},
		{"red lock", lease(primitives.NewRedLock([]*primitives.Client{c}, name, nil).Lock)},
		{"semaphore", func(ctx context.Context) error { return c.NewSemaphore(name, nil).Acquire(ctx, 1) }},
		{"permit semaphore", lease(func(ctx context.Context) (*primitives.Lease, error) {
			return c.NewPermitSemaphore(name, nil).Acquire(ctx, 1)
		})},
		{"counting semaphore", lease(c.NewCountingSemaphore(name, 1, nil).Acquire)},
		{"counting semaphore by arrival", lease(c.NewCountingSemaphore(name, 1, byArrival).Acquire)},
		{"rate limiter", func(ctx context.Context) error { return c.NewRateLimiter(name, nil).Acquire(ctx, 1) }},
		{"latch", func(ctx context.Context) error { return c.NewCountDownLatch(name).Wait(ctx) }},
		{"atomic long", func(ctx context.Context) error { return c.NewAtomicLong(name).Store(ctx, 1) }},
		{"atomic double", func(ctx context.Context) error { return c.NewAtomicDouble(name).Store(ctx, 1) }},
		{"id generator", func(ctx context.Context) error {
			_, err := c.NewIDGenerator(name).Next(ctx)
			return err
		}},
		{"long adder", func(ctx context.Context) error {
			a, err := c.OpenLongAdder(ctx, name)
			if err == nil {
				_, err = a.Sum(ctx)
				err = errors.Join(err, a.Close())
			}
			return err
		}},
	}
}

var byArrival = &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}

// everyObject has what can happen to all objects.
func everyObject(t *testing.T, b *book) {
	t.Helper()
	s := hasptest.New(t)
	c, f := newFaulty(t, s)
	for _, u := range uses(c, "") {
		b.note(t, u.kind+", no name", u.call(t.Context()))
	}
	for _, fault := range []struct {
		situation string
		err       error
	}{
		{"no server", fmt.Errorf("%w: dial tcp: connection refused", backend.ErrUnavailable)},
		{"outcome unknown", backend.Indeterminate(errors.New("connection reset"))},
		{"denied a channel", &backend.ServerError{
			Code: "NOPERM", Message: "the user has no right to publish redisson_lock__channel:{x}",
		}},
		{"denied a command", &backend.ServerError{
			Code: "NOPERM", Message: "User app has no permissions to run the 'evalsha' command",
		}},
		{"denied a key", &backend.ServerError{Code: "NOPERM", Message: "No permissions to access a key"}},
		{"old server", &backend.ServerError{
			Code: "ERR", Message: "attempt to call field 'acl_check_cmd' (a nil value)",
		}},
		{"no memory", &backend.ServerError{
			Code: "OOM", Message: "command not allowed when used memory > 'maxmemory'.",
		}},
		{"backend closed", backend.ErrClosed},
	} {
		f.err = fault.err
		for _, u := range uses(c, "x") {
			b.note(t, u.kind+", "+fault.situation, u.call(t.Context()))
		}
	}
	f.err = nil
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("shutting down"))
	for _, u := range uses(c, "x") {
		b.note(t, u.kind+", context ended before", u.call(ended))
	}
	otherKinds(t, b, s, c)
	_ = c.Close(t.Context()) // What the texts made fail is not released.
	for _, u := range uses(c, "x") {
		b.note(t, u.kind+", client closed", u.call(t.Context()))
	}
}

// otherKinds has keys that hold something else.
func otherKinds(t *testing.T, b *book, s *hasptest.Server, c *primitives.Client) {
	t.Helper()
	for situation, set := range map[string][]string{"list": {"RPUSH"}} {
		for _, key := range []string{"x", "hasp_mutex:{x}"} {
			_, err := s.Embedded().Do(append(set, key, "a")...)
			require.NoError(t, err)
		}
		for _, u := range uses(c, "x") {
			if u.kind != "long adder" { // It has no key of its own.
				b.note(t, u.kind+", key holds a "+situation, u.call(t.Context()))
			}
		}
	}
	_, err := s.Embedded().Do("SET", "text", "a")
	require.NoError(t, err)
	for _, u := range uses(c, "text") {
		switch u.kind {
		case "semaphore", "permit semaphore", "latch", "atomic long", "atomic double", "id generator":
			b.note(t, u.kind+", key holds a text", u.call(t.Context()))
		}
	}
	b.note(t, "atomic long, add to a text", last(c.NewAtomicLong("text").Add(t.Context(), 1)))
	b.note(t, "atomic long, load a text", last(c.NewAtomicLong("text").Load(t.Context())))
	_, err = s.Embedded().Do("HSET", "hash", "a", "b")
	require.NoError(t, err)
	b.note(t, "lock, key holds another program's hash", last(c.NewLock("hash", nil).TryLock(t.Context())))
	_, err = s.Embedded().Do("HSET", "redisson_lock_token:{token}", "a", "b")
	require.NoError(t, err)
	b.note(t, "lock, token key holds a hash", last(c.NewLock("token", nil).TryLock(t.Context())))
	_, err = c.NewPermitSemaphore("twin", nil).InitPermits(t.Context(), 1)
	require.NoError(t, err)
	b.note(t, "permit semaphore, name in braces", last(c.NewPermitSemaphore("{twin}", nil).InitPermits(t.Context(), 1)))
}

// last returns the last of several results.
func last(_ any, err error) error { return err }

// optionErrors has options out of bounds.
func optionErrors(t *testing.T, b *book) {
	t.Helper()
	s := hasptest.New(t)
	ctx := t.Context()
	fresh := func(o *primitives.Options) error { return last(primitives.New(s.Backend(), o)) }
	b.note(t, "client, no backend", last(primitives.New(nil, nil)))
	b.note(t, "client, WatchdogLease negative", fresh(&primitives.Options{WatchdogLease: -1}))
	b.note(t, "client, WatchdogLease short", fresh(&primitives.Options{WatchdogLease: time.Millisecond}))
	b.note(t, "client, MaxHold short", fresh(&primitives.Options{MaxHold: time.Second}))
	b.note(t, "client, ClockDrift large", fresh(&primitives.Options{ClockDrift: time.Minute}))
	b.note(t, "client, PollInterval short", fresh(&primitives.Options{PollInterval: time.Microsecond}))
	b.note(t, "client, TokenTTL short", fresh(&primitives.Options{TokenTTL: time.Millisecond}))
	c, _ := newFaulty(t, s)
	lock := func(o primitives.LockOptions) error { return last(c.NewLock("x", &o).TryLock(ctx)) }
	b.note(t, "lock, Lease negative", lock(primitives.LockOptions{Lease: -1}))
	b.note(t, "lock, Lease short", lock(primitives.LockOptions{Lease: 99999 * time.Microsecond}))
	b.note(t, "lock, Replicas negative", lock(primitives.LockOptions{Replicas: -1}))
	b.note(t, "lock, Replicas with another backend", lock(primitives.LockOptions{Replicas: 1}))
	b.note(t, "lock, ReplicaTimeout long", lock(primitives.LockOptions{ReplicaTimeout: time.Hour}))
	b.note(t, "lock, ReplicaTimeout negative", lock(primitives.LockOptions{ReplicaTimeout: -1}))
	b.note(t, "fair lock, WaiterTimeout negative",
		last(c.NewFairLock("x", &primitives.FairLockOptions{WaiterTimeout: -1}).TryLock(ctx)))
	b.note(t, "spin lock, FirstDelay negative",
		last(c.NewSpinLock("x", &primitives.SpinLockOptions{FirstDelay: -1}).TryLock(ctx)))
	b.note(t, "spin lock, MaxDelay short", last(c.NewSpinLock("x",
		&primitives.SpinLockOptions{FirstDelay: time.Second, MaxDelay: time.Millisecond}).TryLock(ctx)))
	b.note(t, "mutex, Replicas", last(c.NewMutex("x", &primitives.LockOptions{Replicas: 1}).TryLock(ctx)))
	b.note(t, "mutex, Lease negative", last(c.NewMutex("x", &primitives.LockOptions{Lease: -1}).TryLock(ctx)))
	b.note(t, "counting semaphore, limit",
		last(c.NewCountingSemaphore("x", 0, nil).TryAcquire(ctx)))
	b.note(t, "counting semaphore, Order",
		last(c.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: 2}).TryAcquire(ctx)))
	b.note(t, "semaphore, Permits",
		c.NewSemaphore("x", &primitives.SemaphoreOptions{Permits: -1}).TryAcquire(ctx, 1))
	b.note(t, "semaphore, TTL", c.NewSemaphore("x", &primitives.SemaphoreOptions{TTL: -1}).TryAcquire(ctx, 1))
	b.note(t, "permit semaphore, Permits",
		last(c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: -1}).TryAcquire(ctx, 1)))
	rate := func(r primitives.Rate) error {
		return c.NewRateLimiter("x", &primitives.RateLimiterOptions{Rate: r}).TryAcquire(ctx, 1)
	}
	b.note(t, "rate limiter, Permits", rate(primitives.Rate{Interval: time.Second}))
	b.note(t, "rate limiter, Interval", rate(primitives.Rate{Permits: 1}))
	b.note(t, "rate limiter, Mode", rate(primitives.Rate{Permits: 1, Interval: time.Second, Mode: 2}))
	b.note(t, "rate limiter, KeepAlive",
		rate(primitives.Rate{Permits: 1, Interval: time.Second, KeepAlive: time.Millisecond}))
	b.note(t, "multi lock, no locks", last(primitives.NewMultiLock().Lock(ctx)))
	b.note(t, "multi lock, nil", last(primitives.NewMultiLock(nil).Lock(ctx)))
	b.note(t, "multi lock, a lock twice", last(primitives.NewMultiLock(c.NewLock("x", nil), c.NewLock("x", nil)).Lock(ctx)))
	red := func(o *primitives.RedLockOptions, clients ...*primitives.Client) error {
		return last(primitives.NewRedLock(clients, "x", o).TryLock(ctx))
	}
	b.note(t, "red lock, no clients", red(nil))
	b.note(t, "red lock, nil", red(nil, nil))
	b.note(t, "red lock, a client twice", red(nil, c, c))
	b.note(t, "red lock, NodeTimeout", red(&primitives.RedLockOptions{NodeTimeout: -1}, c))
}

// argumentErrors has arguments out of bounds.
func argumentErrors(t *testing.T, b *book) {
	t.Helper()
	c, ctx := hasptest.New(t).Client(nil), t.Context()
	id, err := primitives.ParsePermitID(strings.Repeat("0", 32))
	require.NoError(t, err)
	sem, permits := c.NewSemaphore("x", nil), c.NewPermitSemaphore("x", nil)
	b.note(t, "semaphore, acquire 0", sem.Acquire(ctx, 0))
	b.note(t, "semaphore, release 0", sem.Release(ctx, 0))
	b.note(t, "semaphore, expire", last(sem.Expire(ctx, 0)))
	b.note(t, "permit semaphore, acquire many", last(permits.Acquire(ctx, 1001)))
	b.note(t, "permit semaphore, release nothing", permits.Release(ctx))
	b.note(t, "permit semaphore, release an id twice", permits.Release(ctx, id, id))
	b.note(t, "permit semaphore, update to nothing", permits.UpdateLease(ctx, id, 0))
	b.note(t, "permit id, no digits", last(primitives.ParsePermitID("x")))
	b.note(t, "rate limiter, acquire 0", c.NewRateLimiter("x", nil).Acquire(ctx, 0))
	b.note(t, "rate limiter, set nothing", c.NewRateLimiter("x", nil).SetRate(ctx, primitives.Rate{}))
	b.note(t, "latch, set 0", last(c.NewCountDownLatch("x").InitCount(ctx, 0)))
	b.note(t, "latch, ttl", last(c.NewCountDownLatch("x").InitCountWithTTL(ctx, 1, 0)))
	b.note(t, "id generator, blockSize", last(c.NewIDGenerator("x").Init(ctx, 1, 0)))
	b.note(t, "atomic double, store NaN", c.NewAtomicDouble("x").Store(ctx, math.NaN()))
	b.note(t, "atomic double, add infinity", last(c.NewAtomicDouble("x").Add(ctx, math.Inf(1))))
	counting := c.NewCountingSemaphore("x", 1, nil)
	b.note(t, "counting semaphore, refresh nil", counting.Refresh(ctx, nil))
	lease, err := c.NewLock("x1", nil).Lock(ctx)
	require.NoError(t, err)
	b.note(t, "counting semaphore, refresh a lock's lease", counting.Refresh(ctx, lease))
}

// leaseErrors has refusals, losses and releases.
func leaseErrors(t *testing.T, b *book) {
	t.Helper()
	s := hasptest.New(t)
	c, other, ctx := s.Client(nil), s.Client(nil), t.Context()
	holders := uses(other, "x")
	for i, u := range uses(c, "x")[:9] {
		holder := holders[i]
		if u.kind == "read lock" {
			holder = holders[i+1]
		}
		require.NoError(t, holder.call(ctx), u.kind)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		b.note(t, u.kind+", held until a context ended", u.call(soon))
		cancel()
		s.Lose("x")
	}
	lock := c.NewLock("y", &primitives.LockOptions{Lease: time.Minute})
	lease, err := lock.Lock(ctx)
	require.NoError(t, err)
	b.note(t, "lock, held", last(other.NewLock("y", nil).TryLock(ctx)))
	b.note(t, "lock, other lease re-entered", last(c.NewLock("y", nil).Lock(lease.Reenter(ctx))))
	work := lease.Context(ctx)
	require.NoError(t, lease.Release(ctx))
	b.note(t, "lease, released twice", lease.Release(ctx))
	b.note(t, "lock, under the context of a lease that was released", last(c.NewLock("z", nil).Lock(work)))
	lease, err = lock.Lock(ctx)
	require.NoError(t, err)
	s.Lose("y")
	b.note(t, "lease, lost and released", lease.Release(ctx))
	b.note(t, "lock, do with an error", lock.Do(ctx, func(context.Context, *primitives.Lease) error {
		s.Lose("y")
		return errors.New("work failed")
	}))
	lease, err = lock.Lock(ctx)
	require.NoError(t, err)
	_, err = s.Embedded().Do("DEL", "y")
	require.NoError(t, err)
	_, err = s.Embedded().Do("SET", "y", "a")
	require.NoError(t, err)
	b.note(t, "lease, overwritten and released", lease.Release(ctx))
	lease, err = c.NewLock("away", nil).Lock(ctx)
	require.NoError(t, err)
	s.Away(time.Second)
	b.note(t, "lease, released without a server", lease.Release(ctx))
	time.Sleep(time.Minute)
	s.LoseAnswers(1)
	b.note(t, "lock, answer lost", last(c.NewLock("z", nil).Lock(ctx)))
	b.note(t, "lock, too few replicas",
		last(c.NewLock("replicas", &primitives.LockOptions{Replicas: 1}).TryLock(ctx)))
	counting := c.NewCountingSemaphore("counting", 1, nil)
	lease, err = counting.Acquire(ctx)
	require.NoError(t, err)
	b.note(t, "counting semaphore, full", last(counting.TryAcquire(ctx)))
	s.Lose("counting")
	b.note(t, "counting semaphore, refresh a lost lease", counting.Refresh(ctx, lease))
	lease, err = c.NewLock("closed", nil).Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Close(ctx))
	b.note(t, "lease, released after Close", lease.Release(ctx))
	b.note(t, "lease, after Close", lease.Err())
}

// deadlockErrors has calls that would wait for themselves.
func deadlockErrors(t *testing.T, b *book) {
	t.Helper()
	c, ctx := hasptest.New(t).Client(nil), t.Context()
	lock, rw := c.NewLock("x", nil), c.NewReadWriteLock("rw", nil)
	lease, err := lock.Lock(ctx)
	require.NoError(t, err)
	b.note(t, "lock, under its own lease", last(lock.Lock(lease.Context(ctx))))
	mutex := c.NewMutex("mutex", nil)
	lease, err = mutex.Lock(ctx)
	require.NoError(t, err)
	b.note(t, "mutex, under its own lease", last(mutex.Lock(lease.Context(ctx))))
	lease, err = rw.ReadLock().Lock(ctx)
	require.NoError(t, err)
	b.note(t, "write lock, under a read lease", last(rw.WriteLock().Lock(lease.Context(ctx))))
	b.note(t, "write lock, re-entering a read lease", last(rw.WriteLock().Lock(lease.Reenter(ctx))))
}

// severalServers has locks on servers of which some are away.
func severalServers(t *testing.T, b *book) {
	t.Helper()
	ctx := t.Context()
	var servers []*hasptest.Server
	var clients []*primitives.Client
	var locks []primitives.Locker
	for range 3 {
		s := hasptest.New(t)
		servers, clients = append(servers, s), append(clients, s.Client(nil))
		locks = append(locks, clients[len(clients)-1].NewLock("x", nil))
	}
	red, multi := primitives.NewRedLock(clients, "x", nil), primitives.NewMultiLock(locks...)
	held, err := locks[1].Lock(ctx)
	require.NoError(t, err)
	b.note(t, "multi lock, one held", last(multi.TryLock(ctx)))
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b.note(t, "multi lock, one held until a context ended", last(multi.Lock(soon)))
	require.NoError(t, held.Release(ctx))
	lease, err := red.Lock(ctx)
	require.NoError(t, err)
	b.note(t, "red lock, held", last(red.TryLock(ctx)))
	servers[0].Lose("x")
	servers[1].Lose("x")
	b.note(t, "red lock, lost on two nodes and released", lease.Release(ctx))
	servers[0].Away(time.Minute)
	servers[1].Away(time.Minute)
	b.note(t, "multi lock, servers away", last(multi.TryLock(ctx)))
	b.note(t, "red lock, servers away", last(red.TryLock(ctx)))
}

// permitErrors has too few permits, and too many.
func permitErrors(t *testing.T, b *book) {
	t.Helper()
	c, ctx := hasptest.New(t).Client(nil), t.Context()
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sem := c.NewSemaphore("semaphore", &primitives.SemaphoreOptions{Permits: 3})
	b.note(t, "semaphore, too few", sem.TryAcquire(ctx, 4))
	b.note(t, "semaphore, too few until a context ended", sem.Acquire(soon, 4))
	b.note(t, "semaphore, overflow", sem.Release(ctx, math.MaxInt32))
	soon, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	permits := c.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 3})
	lease, err := permits.Acquire(ctx, 2)
	require.NoError(t, err)
	b.note(t, "permit semaphore, too few", last(permits.TryAcquire(ctx, 2)))
	b.note(t, "permit semaphore, too few until a context ended", last(permits.Acquire(soon, 2)))
	b.note(t, "permit semaphore, more than there are", last(permits.Acquire(ctx, 4)))
	b.note(t, "permit semaphore, overflow", permits.AddPermits(ctx, math.MaxInt32))
	ids := primitives.PermitIDs(lease)
	require.NoError(t, lease.Release(ctx))
	b.note(t, "permit semaphore, release of unknown ids", permits.Release(ctx, ids...))
	b.note(t, "permit semaphore, update of an unknown id", permits.UpdateLease(ctx, ids[0], time.Second))
	limiter := c.NewRateLimiter("limiter", nil)
	b.note(t, "rate limiter, no rate", limiter.Acquire(ctx, 1))
	b.note(t, "rate limiter, rate of none", last(limiter.Rate(ctx)))
	b.note(t, "rate limiter, release without a rate", limiter.Release(ctx, 1))
	require.NoError(t, limiter.SetRate(ctx, primitives.Rate{Permits: 3, Interval: time.Minute}))
	b.note(t, "rate limiter, more than an interval has", limiter.Acquire(ctx, 5))
	require.NoError(t, limiter.Acquire(ctx, 3))
	b.note(t, "rate limiter, too few", limiter.TryAcquire(ctx, 1))
	soon, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	b.note(t, "rate limiter, too few until a context ended", limiter.Acquire(soon, 1))
}

// numberErrors has numbers that leave their ranges, and a latch that stays set.
func numberErrors(t *testing.T, b *book) {
	t.Helper()
	s := hasptest.New(t)
	c, ctx := s.Client(nil), t.Context()
	long, double, latch := c.NewAtomicLong("long"), c.NewAtomicDouble("double"), c.NewCountDownLatch("latch")
	require.NoError(t, long.Store(ctx, math.MaxInt64))
	b.note(t, "atomic long, overflow", last(long.Add(ctx, 1)))
	require.NoError(t, double.Store(ctx, math.MaxFloat64))
	b.note(t, "atomic double, overflow", last(double.Add(ctx, math.MaxFloat64)))
	ids := c.NewIDGenerator("ids")
	_, err := ids.Init(ctx, math.MaxInt64-1, 10)
	require.NoError(t, err)
	b.note(t, "id generator, exhausted", last(ids.Next(ctx)))
	_, err = s.Embedded().Do("SET", "{ids}:allocation", "-1")
	require.NoError(t, err)
	b.note(t, "id generator, bad size of blocks", last(c.NewIDGenerator("ids").Next(ctx)))
	_, err = latch.InitCount(ctx, 1)
	require.NoError(t, err)
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b.note(t, "latch, until a context ended", latch.Wait(soon))
	soon, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	b.note(t, "latch, not set until a context ended", c.NewCountDownLatch("none").WaitUntilSet(soon))
}

// adderErrors has adders that do not go together, and some that do not answer.
func adderErrors(t *testing.T, b *book) {
	t.Helper()
	s := hasptest.New(t)
	c, ctx := s.Client(nil), t.Context()
	adder, err := c.OpenLongAdder(ctx, "x")
	require.NoError(t, err)
	b.note(t, "double adder, there is a long one", last(c.OpenDoubleAdder(ctx, "x")))
	silent, err := s.Backend().Subscribe(ctx, "{x}:adder-topic", func(backend.Event) {})
	require.NoError(t, err)
	b.note(t, "long adder, a silent one", last(adder.Sum(ctx)))
	soon, cancel := context.WithTimeout(ctx, time.Second/2)
	defer cancel()
	b.note(t, "long adder, a silent one until a context ended", adder.Reset(soon))
	silent.Cancel()
	second, err := s.Client(nil).OpenLongAdder(ctx, "x")
	require.NoError(t, err)
	adder.Add(math.MaxInt64)
	second.Add(1)
	b.note(t, "long adder, overflow", last(adder.Sum(ctx)))
	require.NoError(t, adder.Close())
	b.note(t, "long adder, closed", last(adder.Sum(ctx)))
}

// clientErrors has clients that cannot release.
func clientErrors(t *testing.T, b *book) {
	t.Helper()
	for _, names := range [][]string{{"x"}, {"x", "y"}} {
		s := hasptest.New(t)
		backend := s.Backend()
		c, err := primitives.New(backend, nil)
		require.NoError(t, err)
		for _, name := range names {
			_, err := c.NewLock(name, nil).Lock(t.Context())
			require.NoError(t, err)
		}
		if len(names) == 1 {
			require.NoError(t, backend.Close())
			b.note(t, "client, closed after its backend", c.Close(t.Context()))
			continue
		}
		s.Away(time.Hour)
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		b.note(t, "client, closed without a server", c.Close(soon))
		cancel()
	}
}
