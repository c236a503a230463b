package hasptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
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

// refuse are the options of throttles.
var (
	refuse     = &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}
	rateRefuse = &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}
)

// TestErrorTexts compares the texts of errors with a file: one line for each situation that a user can meet. With
// -update it writes the file. Each text says once what failed, on which object, and why, and what to do where that is
// not plain.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	b := &book{}
	for _, write := range []func(*book){
		clientOptions, badOptions, everyObject, leaseErrors, deadlockErrors, severalServers,
		permitErrors, numberErrors, electionErrors, memoErrors, adderErrors, clientErrors,
	} {
		synctest.Test(t, func(t *testing.T) {
			b.T = t
			write(b)
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(errorsFile, []byte(b.text.String()), 0o600))
	}
	want := must(os.ReadFile(errorsFile))(t)
	require.Equal(t, string(want), b.text.String(), "run go test -run TestErrorTexts -update")
}

// book has a line for each situation. T is the test of the situations that are being written.
type book struct {
	*testing.T
	text strings.Builder
}

// note writes the text of err, which must not be nil.
func (b *book) note(situation string, err error) {
	b.Helper()
	require.Error(b, err, situation)
	require.NotContains(b, err.Error(), "\n", situation)
	fmt.Fprintf(&b.text, "%s: %s\n", situation, err)
}

// invalid writes the text of the error of an option or an argument, which is a FieldError.
func (b *book) invalid(situation string, err error) {
	b.Helper()
	require.ErrorAs(b, err, new(*primitives.FieldError), situation)
	b.note(situation, err)
}

// noteUntil writes the text of what call returns when its context ends after half a second.
func (b *book) noteUntil(situation string, call func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Second/2)
	defer cancel()
	b.note(situation+" until a context ended", call(ctx))
}

// held returns the lease of an acquire that must succeed.
func (b *book) held(lease *primitives.Lease, err error) *primitives.Lease {
	b.Helper()
	require.NoError(b, err)
	return lease
}

// do has the server execute a command.
func (b *book) do(s *hasptest.Server, command ...string) {
	b.Helper()
	require.NoError(b, errOf(s.Embedded().Do(command...)))
}

// faulty is a backend whose scripts all fail, after fail with an error. It counts them. It has no batches, and
// waits for no replicas.
type faulty struct {
	backend.Backend
	runs  atomic.Int32
	fault atomic.Pointer[error] // also read by releases in the background
}

// fail has scripts fail with err from now on. With nil they run again.
func (f *faulty) fail(err error) { f.fault.Store(&err) }

func (f *faulty) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	f.runs.Add(1)
	if err := f.fault.Load(); err != nil && *err != nil {
		return backend.Reply{}, fmt.Errorf("script %s: %w", s.Name, *err)
	}
	return f.Backend.Run(ctx, s, keys, args)
}

// newFaulty returns a client over a backend that the test can make fail.
func newFaulty(b *book, s *hasptest.Server) (*primitives.Client, *faulty) {
	b.Helper()
	f := &faulty{Backend: s.Backend()}
	c := must(primitives.New(f, nil))(b)
	b.Cleanup(func() {
		f.fail(nil)
		_ = c.Close(context.Background())
	})
	return c, f
}

// use is the first call that a user makes of an object.
type use struct {
	kind string
	call func(ctx context.Context) error
}

// last returns the last of several results.
func last(_ any, err error) error { return err }

// leasing returns the acquire of a lease as a call that has an error only.
func leasing(acquire func(context.Context) (*primitives.Lease, error)) func(context.Context) error {
	return func(ctx context.Context) error { return last(acquire(ctx)) }
}

// uses are those of all objects called name.
func uses(c *primitives.Client, name string) []use {
	rw := c.NewReadWriteLock(name, nil)
	return []use{
		{"lock", leasing(c.NewLock(name, nil).Lock)},
		{"fair lock", leasing(c.NewFairLock(name, nil).Lock)},
		{"fenced lock", leasing(c.NewFencedLock(name, nil).Lock)},
		{"spin lock", leasing(c.NewSpinLock(name, nil).Lock)},
		{"mutex", leasing(c.NewMutex(name, nil).Lock)},
		{"plain lock", leasing(c.NewPlainLock(name, nil).Lock)},
		{"read lock", leasing(rw.ReadLock().Lock)},
		{"write lock", leasing(rw.WriteLock().Lock)},
		{"multi lock", leasing(primitives.NewMultiLock(c.NewLock(name, nil)).Lock)},
		{"red lock", leasing(primitives.NewRedLock([]*primitives.Client{c}, name, nil).Lock)},
		{"semaphore", func(ctx context.Context) error { return c.NewSemaphore(name, nil).Acquire(ctx, 1) }},
		{"permit semaphore", func(ctx context.Context) error {
			return last(c.NewPermitSemaphore(name, nil).Acquire(ctx, 1))
		}},
		{"counting semaphore", leasing(c.NewCountingSemaphore(name, 1, nil).Acquire)},
		{"counting semaphore by arrival", leasing(c.NewCountingSemaphore(name, 1, byArrival).Acquire)},
		{"rate limiter", func(ctx context.Context) error {
			return c.NewRateLimiter(name, primitives.Rate{}, rateRefuse).Wait(ctx, 1)
		}},
		{"throttle", func(ctx context.Context) error {
			return c.NewThrottle(name, primitives.Limit{Permits: 1, Interval: time.Second}, refuse).Wait(ctx, 1)
		}},
		{"latch", func(ctx context.Context) error { return c.NewCountDownLatch(name).Wait(ctx) }},
		{"atomic long", func(ctx context.Context) error { return c.NewAtomicLong(name).Store(ctx, 1) }},
		{"atomic double", func(ctx context.Context) error { return c.NewAtomicDouble(name).Store(ctx, 1) }},
		{"id generator", func(ctx context.Context) error { return last(c.NewIDGenerator(name).Next(ctx)) }},
		{"periodic job", func(ctx context.Context) error {
			work := func(context.Context, primitives.JobRun) error { return nil }
			return last(c.NewPeriodicJob(name, time.Hour, nil).Do(ctx, time.Now(), work))
		}},
		{"memo", func(ctx context.Context) error {
			return remember(ctx, primitives.NewMemo[string](c, name, nil), func(primitives.MemoRun) {})
		}},
		{"election", func(ctx context.Context) error { return last(c.NewElection(name, nil).Leader(ctx)) }},
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
func everyObject(b *book) {
	s := hasptest.New(b)
	c, f := newFaulty(b, s)
	for _, u := range uses(c, "") {
		b.invalid(u.kind+", no name", u.call(b.Context()))
	}
	for _, fault := range []struct {
		situation string
		err       error
	}{
		{"no server", fmt.Errorf("%w: dial tcp: connection refused", backend.ErrUnavailable)},
		{"outcome unknown", backend.Indeterminate(errors.New("connection reset"))},
		{"denied a channel", &backend.ServerError{
			Code: "NOPERM", Message: "the user may not publish redisson_lock__channel:{x}",
		}},
		{"denied a command", &backend.ServerError{
			Code: "NOPERM", Message: "User app has no permissions to run the 'evalsha' command",
		}},
		{"denied a key", &backend.ServerError{Code: "NOPERM", Message: "No permissions to access a key"}},
		{"old server", &backend.ServerError{
			Code: "ERR", Message: "Unknown Redis command called from Lua script",
		}},
		{"no memory", &backend.ServerError{
			Code: "OOM", Message: "command not allowed when used memory > 'maxmemory'.",
		}},
		{"backend closed", backend.ErrClosed},
	} {
		f.fail(nil)
		must(c.NewAtomicLong("answered").Load(b.Context()))(b.T) // So the server is not away for the throttle.
		f.fail(fault.err)
		for _, u := range uses(c, "x") {
			b.note(u.kind+", "+fault.situation, u.call(b.Context()))
		}
	}
	f.fail(nil)
	ended, end := context.WithCancelCause(b.Context())
	end(errors.New("shutting down"))
	for _, u := range uses(c, "x") {
		b.note(u.kind+", context ended before", u.call(ended))
	}
	otherKinds(b, s, c)
	_ = c.Close(b.Context()) // What the texts made fail is not released.
	for _, u := range uses(c, "x") {
		b.note(u.kind+", client closed", u.call(b.Context()))
	}
}

// otherKinds has keys that hold something else.
func otherKinds(b *book, s *hasptest.Server, c *primitives.Client) {
	b.do(s, "RPUSH", "x", "a")
	b.do(s, "RPUSH", "hasp_mutex:{x}", "a")
	b.do(s, "RPUSH", "x:k", "a")
	for _, u := range uses(c, "x") {
		if u.kind != "long adder" { // It has no key of its own.
			b.note(u.kind+", key holds a list", u.call(b.Context()))
		}
	}
	b.do(s, "SET", "text", "a")
	for _, u := range uses(c, "text") {
		switch u.kind {
		case "semaphore", "permit semaphore", "latch", "atomic long", "atomic double", "id generator":
			b.note(u.kind+", key holds a text", u.call(b.Context()))
		}
	}
	b.note("atomic long, add to a text", last(c.NewAtomicLong("text").Add(b.Context(), 1)))
	b.note("atomic long, load a text", last(c.NewAtomicLong("text").Load(b.Context())))
	b.do(s, "HSET", "hash", "a", "b")
	b.note("lock, key holds another program's hash", last(c.NewLock("hash", nil).TryLock(b.Context())))
	b.do(s, "HSET", "redisson_lock_token:{token}", "a", "b")
	b.note("lock, token key holds a hash", last(c.NewLock("token", nil).TryLock(b.Context())))
	require.NoError(b, errOf(c.NewPermitSemaphore("twin", nil).InitPermits(b.Context(), 1)))
	b.note("permit semaphore, name in braces", last(c.NewPermitSemaphore("{twin}", nil).InitPermits(b.Context(), 1)))
}

// leaseErrors has refusals, losses and releases.
func leaseErrors(b *book) {
	s := hasptest.New(b)
	c, other, ctx := s.Client(nil), s.Client(nil), b.Context()
	holders := uses(other, "x")
	for i, u := range uses(c, "x")[:10] {
		holder := holders[i]
		if u.kind == "read lock" {
			holder = holders[i+1]
		}
		require.NoError(b, holder.call(ctx), u.kind)
		b.noteUntil(u.kind+", held", u.call)
		s.Lose("x")
	}
	lock := c.NewLock("y", &primitives.LockOptions{Lease: time.Minute})
	lease := b.held(lock.Lock(ctx))
	b.note("lock, held", last(other.NewLock("y", nil).TryLock(ctx)))
	b.note("lock, other lease re-entered", last(c.NewLock("y", nil).Lock(lease.Reenter(ctx))))
	b.invalid("lease, extended for a short time", lease.Extend(ctx, time.Millisecond))
	work := lease.Context(ctx)
	require.NoError(b, lease.Release(ctx))
	b.note("lease, released twice", lease.Release(ctx))
	b.note("lease, released and extended", lease.Extend(ctx, time.Minute))
	b.note("lock, under the context of a lease that was released", last(c.NewLock("z", nil).Lock(work)))
	lease = b.held(lock.Lock(ctx))
	s.Lose("y")
	b.note("lease, lost and released", lease.Release(ctx))
	lease = b.held(lock.Lock(ctx))
	s.Lose("y")
	b.note("lease, lost and extended", lease.Extend(ctx, time.Minute))
	b.note("lock, do with an error", lock.Do(ctx, func(context.Context, *primitives.Lease) error {
		s.Lose("y")
		return errors.New("work failed")
	}))
	lease = b.held(lock.Lock(ctx))
	b.do(s, "DEL", "y")
	b.do(s, "SET", "y", "a")
	b.note("lease, overwritten and released", lease.Release(ctx))
	b.note("lock, holder of a free lock", last(c.NewLock("free", nil).Holder(ctx)))
	lease = b.held(c.NewLock("away", nil).Lock(ctx))
	b.invalid("lease of the watchdog, extended", lease.Extend(ctx, time.Minute))
	s.Away(time.Second)
	b.note("lease, released without a server", lease.Release(ctx))
	time.Sleep(time.Minute)
	s.LoseAnswers(1)
	b.note("lock, answer lost", last(c.NewLock("z", nil).Lock(ctx)))
	b.note("lock, too few replicas",
		last(c.NewLock("replicas", &primitives.LockOptions{Replicas: 1}).TryLock(ctx)))
	counting := c.NewCountingSemaphore("counting", 1, nil)
	lease = b.held(counting.Acquire(ctx))
	b.note("counting semaphore, full", last(counting.TryAcquire(ctx)))
	s.Lose("counting")
	b.note("counting semaphore, refresh a lost lease", counting.Refresh(ctx, lease))
	lease = b.held(c.NewLock("closed", nil).Lock(ctx))
	require.NoError(b, c.Close(ctx))
	b.note("lease, released after Close", lease.Release(ctx))
	b.note("lease, after Close", lease.Err())
}

// deadlockErrors has calls that would wait for themselves.
func deadlockErrors(b *book) {
	c, ctx := hasptest.New(b).Client(nil), b.Context()
	lock, rw := c.NewLock("x", nil), c.NewReadWriteLock("rw", nil)
	lease := b.held(lock.Lock(ctx))
	b.note("lock, under its own lease", last(lock.Lock(lease.Context(ctx))))
	mutex := c.NewMutex("mutex", nil)
	lease = b.held(mutex.Lock(ctx))
	b.note("mutex, under its own lease", last(mutex.Lock(lease.Context(ctx))))
	lease = b.held(rw.ReadLock().Lock(ctx))
	b.note("write lock, under a read lease", last(rw.WriteLock().Lock(lease.Context(ctx))))
	b.note("write lock, re-entering a read lease", last(rw.WriteLock().Lock(lease.Reenter(ctx))))
}

// severalServers has locks on servers of which some are away.
func severalServers(b *book) {
	ctx := b.Context()
	var servers []*hasptest.Server
	var clients []*primitives.Client
	var locks []primitives.Locker
	for range 3 {
		s := hasptest.New(b)
		servers, clients = append(servers, s), append(clients, s.Client(nil))
		locks = append(locks, clients[len(clients)-1].NewLock("x", nil))
	}
	red, multi := primitives.NewRedLock(clients, "x", nil), primitives.NewMultiLock(locks...)
	held := b.held(locks[1].Lock(ctx))
	b.note("multi lock, one held", last(multi.TryLock(ctx)))
	b.noteUntil("multi lock, one held", leasing(multi.Lock))
	require.NoError(b, held.Release(ctx))
	lease := b.held(red.Lock(ctx))
	b.note("red lock, held", last(red.TryLock(ctx)))
	servers[0].Lose("x")
	servers[1].Lose("x")
	b.note("red lock, lost on two nodes and released", lease.Release(ctx))
	servers[0].Away(time.Minute)
	servers[1].Away(time.Minute)
	b.note("multi lock, servers away", last(multi.TryLock(ctx)))
	b.note("red lock, servers away", last(red.TryLock(ctx)))
}

// permitErrors has too few permits, and too many.
func permitErrors(b *book) {
	c, ctx := hasptest.New(b).Client(nil), b.Context()
	sem := c.NewSemaphore("semaphore", &primitives.SemaphoreOptions{Permits: 3})
	b.note("semaphore, too few", sem.TryAcquire(ctx, 4))
	b.noteUntil("semaphore, too few", func(ctx context.Context) error { return sem.Acquire(ctx, 4) })
	b.note("semaphore, overflow", sem.Release(ctx, math.MaxInt32))
	permits := c.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 3})
	lease := b.held(permits.Acquire(ctx, 2))
	b.note("permit semaphore, too few", last(permits.TryAcquire(ctx, 2)))
	b.noteUntil("permit semaphore, too few", func(ctx context.Context) error { return last(permits.Acquire(ctx, 2)) })
	b.note("permit semaphore, more than there are", last(permits.Acquire(ctx, 4)))
	b.note("permit semaphore, overflow", permits.AddPermits(ctx, math.MaxInt32))
	ids := permits.IDs(lease)
	require.NoError(b, lease.Release(ctx))
	b.note("permit semaphore, release of unknown ids", permits.Release(ctx, ids...))
	b.note("permit semaphore, update of an unknown id", permits.UpdateLease(ctx, ids[0], time.Second))
	limiter := c.NewRateLimiter("limiter", primitives.Rate{}, rateRefuse)
	b.note("rate limiter, no rate", limiter.Wait(ctx, 1))
	b.note("rate limiter, rate of none", last(limiter.Rate(ctx)))
	b.note("rate limiter, return without a rate", limiter.Return(ctx, 1))
	require.NoError(b, limiter.SetRate(ctx, primitives.Rate{Permits: 3, Interval: time.Minute}))
	b.note("rate limiter, more than an interval has", limiter.Wait(ctx, 5))
	require.NoError(b, limiter.Wait(ctx, 3))
	b.noteUntil("rate limiter, too few", func(ctx context.Context) error { return limiter.Wait(ctx, 1) })
	throttle := c.NewThrottle("throttle", primitives.Limit{Permits: 3, Interval: time.Hour}, refuse)
	b.note("throttle, more than the burst", throttle.Wait(ctx, 5))
	require.NoError(b, throttle.Wait(ctx, 3))
	b.noteUntil("throttle, too few", func(ctx context.Context) error { return throttle.Wait(ctx, 1) })
}

// numberErrors has numbers that leave their ranges, and a latch that stays set.
func numberErrors(b *book) {
	s := hasptest.New(b)
	c, ctx := s.Client(nil), b.Context()
	long, double, latch := c.NewAtomicLong("long"), c.NewAtomicDouble("double"), c.NewCountDownLatch("latch")
	require.NoError(b, long.Store(ctx, math.MaxInt64))
	b.note("atomic long, overflow", last(long.Add(ctx, 1)))
	require.NoError(b, double.Store(ctx, math.MaxFloat64))
	b.note("atomic double, overflow", last(double.Add(ctx, math.MaxFloat64)))
	ids := c.NewIDGenerator("ids")
	require.NoError(b, errOf(ids.Init(ctx, math.MaxInt64-1, 10)))
	b.note("id generator, exhausted", last(ids.Next(ctx)))
	b.do(s, "SET", "{ids}:allocation", "-1")
	b.note("id generator, bad size of blocks", last(c.NewIDGenerator("ids").Next(ctx)))
	require.NoError(b, errOf(latch.InitCount(ctx, 1)))
	b.noteUntil("latch, set", latch.Wait)
	b.noteUntil("latch, not set", c.NewCountDownLatch("none").WaitUntilSet)
	parts := c.NewPartsLatch("latch")
	b.note("latch without parts, waiting for them", parts.Wait(ctx))
	b.note("latch without parts, counting one", last(parts.CountDown(ctx, "1")))
	b.noteUntil("latch without parts, not set", parts.WaitUntilSet)
}

// electionErrors has elections without a leader, and jobs that do not run, or are not recorded.
func electionErrors(b *book) {
	s := hasptest.New(b)
	c, f := newFaulty(b, s)
	ctx, job := b.Context(), c.NewPeriodicJob("job", time.Hour, nil)
	during := func(work func()) error {
		return last(job.Do(ctx, time.Now(), func(context.Context, primitives.JobRun) error { work(); return nil }))
	}
	b.note("election, no leader", last(c.NewElection("election", nil).Leader(ctx)))
	b.note("election, lock lost at the end", c.NewElection("lost", nil).Run(ctx,
		func(context.Context, *primitives.Lease) error { s.Lose("lost"); return nil }))
	b.note("periodic job, clock ahead", last(job.Do(ctx, time.Now().Add(24*time.Hour), nil)))
	b.note("periodic job, lock lost", during(func() {
		b.note("periodic job, tried while running", last(job.TryDo(ctx, time.Now(), nil)))
		b.noteUntil("periodic job, waiting", func(ctx context.Context) error { return last(job.Do(ctx, time.Now(), nil)) })
		s.Lose("job")
	}))
	b.note("periodic job, no server at the end", during(func() { f.fail(backend.ErrUnavailable) }))
	f.fail(nil)
	time.Sleep(time.Minute)
	b.do(s, "SET", "{job}:completed", "yesterday")
	b.note("periodic job, record of another program", during(nil))
	b.do(s, "RPUSH", "{list}:completed", "1")
	b.note("periodic job, record of another kind", last(c.NewPeriodicJob("list", time.Hour, nil).Do(ctx, time.Now(), nil)))
}

// remember runs work once for the key k, and returns the error alone.
func remember(ctx context.Context, m *primitives.Memo[string], work func(primitives.MemoRun)) error {
	_, _, err := m.Do(ctx, "k", func(_ context.Context, run primitives.MemoRun) (string, error) {
		work(run)
		return "result", nil
	})
	return err
}

// memoErrors has memos whose results are not kept, or are others'.
func memoErrors(b *book) {
	s := hasptest.New(b)
	c, f := newFaulty(b, s)
	ctx, small := b.Context(), primitives.NewMemo[string](c, "small", &primitives.MemoOptions{MaxBytes: 5})
	m, nothing := primitives.NewMemo[string](c, "memo", nil), func(primitives.MemoRun) {}
	b.note("memo, lock lost", remember(ctx, m, func(run primitives.MemoRun) {
		_, _, err := m.TryDo(ctx, "k", nil)
		b.note("memo, tried while running", err)
		b.noteUntil("memo, waiting", func(ctx context.Context) error { return remember(ctx, m, nothing) })
		b.note("memo, in its own work", remember(run.Lease.Context(ctx), m, nothing))
		b.note("memo, another fingerprint", remember(ctx, m.With(&primitives.MemoCall{Fingerprint: "f"}), nothing))
		s.Lose("memo:k")
	}))
	b.note("memo, lock lost before KeepNothing", remember(ctx, m, func(run primitives.MemoRun) {
		s.Lose("memo:k")
		b.note("memo, KeepNothing after the loss", run.KeepNothing(ctx))
	}))
	b.note("memo, no server at the end", remember(ctx, m, func(primitives.MemoRun) { f.fail(backend.ErrUnavailable) }))
	f.fail(nil)
	b.note("memo, a large result", remember(ctx, small, nothing))
	b.note("memo, a result that is not kept", remember(ctx, small, nothing))
	chans := primitives.NewMemo[chan int](c, "chan", nil)
	_, _, err := chans.Do(ctx, "k", func(context.Context, primitives.MemoRun) (chan int, error) { return make(chan int), nil })
	b.note("memo, a result that cannot be encoded", err)
	time.Sleep(time.Minute)
	require.NoError(b, remember(ctx, m, nothing))
	_, _, err = primitives.NewMemo[int](c, "memo", nil).Do(ctx, "k", nil)
	require.ErrorIs(b, err, primitives.ErrUndecodable)
	b.note("memo, a result of another type", err)
	half, ran, err := primitives.NewMemo[string](c, "memo", &primitives.MemoOptions{Marshal: json.Marshal, Unmarshal: func(_ []byte, result any) error {
		*result.(*string) = "half"
		return errors.New("cut off")
	}}).Do(ctx, "k", nil)
	require.ErrorIs(b, err, primitives.ErrUndecodable)
	require.False(b, half != "" || ran, "half of a result is none")
	b.do(s, "SET", "{other:k}:memo", "1")
	b.note("memo, record of another kind", remember(ctx, primitives.NewMemo[string](c, "other", nil), nothing))
}

// adderErrors has adders that do not go together, and some that do not answer.
func adderErrors(b *book) {
	s := hasptest.New(b)
	c, ctx := s.Client(nil), b.Context()
	adder := must(c.OpenLongAdder(ctx, "x"))(b)
	b.note("double adder, there is a long one", last(c.OpenDoubleAdder(ctx, "x")))
	silent := must(s.Backend().Subscribe(ctx, "{x}:adder-topic", func(backend.Event) {}))(b)
	b.note("long adder, a silent one", last(adder.Sum(ctx)))
	b.noteUntil("long adder, a silent one", adder.Reset)
	silent.Cancel()
	second := must(s.Client(nil).OpenLongAdder(ctx, "x"))(b)
	adder.Add(math.MaxInt64)
	second.Add(1)
	b.note("long adder, overflow", last(adder.Sum(ctx)))
	require.NoError(b, adder.Close())
	b.note("long adder, closed", last(adder.Sum(ctx)))
}

// clientErrors has clients that cannot release.
func clientErrors(b *book) {
	for _, names := range [][]string{{"x"}, {"x", "y"}} {
		s := hasptest.New(b)
		backend := s.Backend()
		c := must(primitives.New(backend, nil))(b)
		for _, name := range names {
			require.NoError(b, errOf(c.NewLock(name, nil).Lock(b.Context())))
		}
		if len(names) == 1 {
			require.NoError(b, backend.Close())
			b.note("client, closed after its backend", c.Close(b.Context()))
			continue
		}
		s.Away(time.Hour)
		time.Sleep(21 * time.Second)
		b.note("client, not healthy", c.Healthy(b.Context()))
		b.noteUntil("client, closed without a server", c.Close)
	}
}
