package rights

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// keyless are the commands of our scripts that take no key. Of any other the first argument is one.
var keyless = []string{"time", "publish", "spublish"}

// spy is put before a script: every command is written to the key luagen-spy, with its first
// argument. It stays on the first line, so no line moves.
const spy = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`local function spied(by) return function(...) local name, key = ...; ` +
	`real.call('rpush', 'luagen-spy', string.lower(name), key or ''); return real[by](...) end end; ` +
	`redis.call = spied('call'); redis.pcall = spied('pcall'); `

// lostReply begins the names of locks whose acquires get no reply.
const lostReply = "lost reply "

// recorder sees which keys each script touches on the embedded server.
type recorder struct {
	cells.Runner
	server *embedded.Server

	mu      sync.Mutex
	touched map[string]map[int]bool // by script: the places of KEYS that were touched
	faults  []string
	names   map[string]bool // the keys as ~key, and the channels as &channel

	// before, unless it is nil, is called before a script. What it returns is called after it, with the commands
	// that the script called.
	before func(c backend.Call) (after func(calls []string))
}

// run runs the script with the spy, and alone among all.
func (r *recorder) run(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if c.Script.Name == "read_release_all" {
		time.Sleep(time.Second) // Virtual: writers of the same locks go first.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	script := c.Script
	c.Script = backend.NewScript(script.Name, spy+script.Source, script.Keys, script.Retry)
	if script.Retry == backend.RetryReadOnly {
		c.Script.Retry = backend.RetryNever // the spy itself writes
	}
	after := func([]string) {}
	if r.before != nil {
		after = r.before(backend.Call{Script: script, Keys: c.Keys, Args: c.Args})
	}
	reply, err := r.Good(ctx, c)
	if spyErr := must.Catch(func() { after(r.note(script, c.Keys)) }); spyErr != nil {
		r.faults = append(r.faults, spyErr.Error())
	}
	if strings.HasSuffix(script.Name, "_acquire") && strings.HasPrefix(c.Keys[0], lostReply) {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// note compares what was touched with the keys that were given, and returns which commands were called.
func (r *recorder) note(script *backend.Script, keys []string) (calls []string) {
	words := must.Get(must.Get(r.server.Do("LRANGE", "luagen-spy", "0", "-1")).Items())
	must.Get(r.server.Do("DEL", "luagen-spy"))
	if r.touched[script.Name] == nil {
		r.touched[script.Name] = map[int]bool{}
	}
	for pair := range slices.Chunk(words, 2) {
		name, key := must.Get(pair[0].Text()), must.Get(pair[1].Text())
		calls = append(calls, name)
		switch {
		case strings.HasSuffix(name, "publish"):
			r.names["&"+key] = true
		case name != "time":
			r.names["~"+key] = true
		}
		place := slices.Index(keys, key)
		if place < 0 { // What begins with a key may be declared, too.
			place = slices.IndexFunc(keys, func(declared string) bool {
				return strings.HasPrefix(key, declared+":")
			})
		}
		switch {
		case slices.Contains(keyless, name):
		case place < 0:
			r.faults = append(r.faults, script.Name+": "+name+" of "+key)
		default:
			r.touched[script.Name][place] = true
		}
	}
	return calls
}

// TestScriptsTouchWhatTheyDeclare runs each script of the primitives: the keys that it touches are
// the declared ones, all of them, and no others. Of a list of keys all are one.
func TestScriptsTouchWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, client := newRecorder(t)
		r.useAll(t, client)
		require.Empty(t, r.faults)
		for name, text := range scripts(t) {
			if !strings.Contains(text, "---@library") && name != "rights_missing" { // It only asks about its key.
				declared := strings.Count("\n"+text, "\n---@key ")
				touched := map[int]bool{}
				for place := range r.touched[name] {
					touched[min(place, declared-1)] = true // All of a list, which is the last, are one.
				}
				require.Len(t, touched, declared, "%s: which of its keys were touched", name)
			}
		}
	})
}

// newRecorder returns a client on an embedded server, and what sees its scripts.
func newRecorder(t *testing.T) (*recorder, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	b := must.Get(embedded.New(server, nil))
	r := &recorder{server: server, touched: map[string]map[int]bool{}, names: map[string]bool{}}
	r.Backend, r.Instead = b, r.run
	return r, cells.Over(t, r, nil)
}

// useAll makes the client run each of its scripts, and closes it. Whether Close's releases of writers with readers of
// their own are sent together, the scheduler decides: other clients follow until they were.
func (r *recorder) useAll(t *testing.T, client *primitives.Client) {
	t.Helper()
	use := useAll
	for ; !r.touched["write_release_all"][1]; client, use = cells.Over(t, r, nil), useJointReleases {
		require.NoError(t, must.Catch(func() { use(t.Context(), client) }))
		require.NoError(t, client.Close(t.Context()))
	}
}

// useAll makes the client run each of its scripts, through all of their branches that touch a key.
func useAll(ctx context.Context, client *primitives.Client) {
	for _, use := range []func(context.Context, *primitives.Client){
		useLock, useDescribedLock, useSpinLock, useFairLock, useMutex, useReadWriteLock, useSemaphore, usePermits, useCountingSemaphores,
		useLatch, useNumbers, useIDGenerator, useRateLimiter, useThrottle, useAdders, usePeriodicJob,
	} {
		use(ctx, client)
	}
	fair := client.NewFairLock("declared:inspected", nil)
	must.Get(fair.Lock(ctx))
	waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	go func() { _, _ = fair.Lock(waiting) }()
	time.Sleep(time.Second) // virtual: it waits
	must.Get(inspect.Describe(ctx, client, fair.Name()))
	time.Sleep(2 * time.Second) // virtual: it has given up
}

func useLock(ctx context.Context, client *primitives.Client) {
	lock := client.NewLock("declared", nil)
	for range 2 { // the second token is compared with the first
		lease := must.Get(lock.TryLock(ctx))
		must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(lock.TryLock(ctx))
		must.Get(lock.IsHeldBy(ctx, lease.Owner()))
		must.Get(lock.HoldCount(ctx, lease.Owner()))
		must.Get(lock.IsHeldBy(ctx, "nobody"))
		must.Get(lock.HoldCount(ctx, "nobody"))
		time.Sleep(15 * time.Second) // virtual: the watchdog renews
		must.Do(lease.Release(ctx))
	}
	must.Get(client.NewFencedLock("declared", nil).LastToken(ctx))
	must.Do(must.Get(lock.TryLock(ctx)).Release(ctx))
	must.Get(lock.TryLock(ctx)) // at the same time as before, so its token is one more
	must.Get(lock.IsLocked(ctx))
	must.Get(lock.Remaining(ctx))
	must.Get(lock.Revoke(ctx, ""))
	must.Return("ForceUnlock", true)(lock.ForceUnlock(ctx))
	lost(ctx, "lock ", func(name string) primitives.Locker { return client.NewLock(name, nil) })
}

// lost makes two grants whose replies are lost.
func lost(ctx context.Context, kind string, of func(name string) primitives.Locker) {
	for i := range 2 {
		go func() { _, _ = of(fmt.Sprint(lostReply, kind, i)).Lock(ctx) }()
	}
	time.Sleep(time.Second) // virtual: both are given back together
}

// handedOver has a lock released while nobody waits, and while another does, and then freed by force twice.
func handedOver(ctx context.Context, lock interface {
	primitives.Locker
	ForceUnlock(ctx context.Context) (bool, error)
}) {
	for range 2 {
		must.Do(must.Get(lock.Lock(ctx)).Release(ctx))
		lease := must.Get(lock.Lock(ctx))
		waiting, cancel := context.WithCancel(ctx)
		go func() { _, _ = lock.Lock(waiting) }()
		time.Sleep(15 * time.Second) // virtual: it waits, and shows that it lives; the watchdog renews
		must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(lock.TryLock(ctx))
		must.Do(lease.Release(ctx))
		time.Sleep(time.Second) // virtual: it holds
		go func() { _, _ = lock.Lock(waiting) }()
		for range 2 {
			time.Sleep(time.Second)
			must.Return("ForceUnlock", true)(lock.ForceUnlock(ctx))
		}
		cancel()
	}
}

// useDescribedLock uses a lock that stores its holder.
func useDescribedLock(ctx context.Context, client *primitives.Client) {
	o := &primitives.LockOptions{Metadata: "text"}
	lock := client.NewLock("declared:described", o)
	lease := must.Get(lock.TryLock(ctx))
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(lock.TryLock(ctx))
	must.Get(lock.Holder(ctx))
	time.Sleep(15 * time.Second) // virtual: the watchdog renews
	must.Do(lease.Release(ctx))
	lost(ctx, "described ", func(name string) primitives.Locker { return client.NewLock(name, o) })
}

func useSpinLock(ctx context.Context, client *primitives.Client) {
	l := client.NewSpinLock("declared:spin", nil)
	must.Do(must.Get(l.TryLock(ctx)).Release(ctx))
	must.Get(l.TryLock(ctx))
	must.Get(l.Holder(ctx))
	must.Return("ForceUnlock", true)(l.ForceUnlock(ctx))
	lost(ctx, "spin ", func(name string) primitives.Locker { return client.NewSpinLock(name, nil) })
}

func useFairLock(ctx context.Context, client *primitives.Client) {
	lock := client.NewFairLock("declared:fair", nil)
	handedOver(ctx, lock)
	lost(ctx, "fair ", func(name string) primitives.Locker { return client.NewFairLock(name, nil) })
}

func useMutex(ctx context.Context, client *primitives.Client) {
	m := client.NewMutex("declared:mutex", nil)
	handedOver(ctx, m)
	must.Get(m.IsHeldBy(ctx, must.Get(m.Lock(ctx)).Owner()))
	must.Get(m.Remaining(ctx))
	must.Get(m.Revoke(ctx, ""))
	holder := client.NewAtomicLong("hasp_mutex:{declared:mutex}")
	for range 2 {
		go func() { _, _ = m.Lock(ctx) }()
		time.Sleep(time.Second) // virtual: it waits
	}
	must.Get(holder.Delete(ctx))
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(m.TryLock(ctx)) // The next one has it.
	time.Sleep(time.Second)                                                              // virtual: the client renews its new lease, the next time after 10 s
	must.Get(holder.Delete(ctx))
	time.Sleep(10 * time.Second) // virtual: a beat finds that nobody has it
	lost(ctx, "mutex ", func(name string) primitives.Locker { return client.NewMutex(name, nil) })
}

func useReadWriteLock(ctx context.Context, client *primitives.Client) {
	lock := client.NewReadWriteLock("declared:rw", &primitives.ReadWriteLockOptions{PreferWriters: true})
	read, write := lock.ReadLock(), lock.WriteLock()
	writer := must.Get(write.TryLock(ctx))
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(read.TryLock(ctx))
	must.Get(write.IsLocked(ctx))
	must.Get(write.IsHeldBy(ctx, writer.Owner()))
	must.Get(write.HoldCount(ctx, writer.Owner()))
	must.Return("ForceUnlock", false)(read.ForceUnlock(ctx))
	reader := must.Get(read.TryLock(writer.Reenter(ctx)))
	time.Sleep(15 * time.Second) // virtual: the watchdog renews
	must.Do(writer.Release(ctx))
	impatient, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	go func() { _, _ = write.Lock(impatient) }()
	time.Sleep(500 * time.Millisecond) // virtual
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(read.TryLock(ctx))
	time.Sleep(time.Second) // virtual: the writer has given up
	must.Get(read.Remaining(ctx))
	must.Get(read.Holders(ctx))
	must.Get(read.HoldCount(ctx, reader.Owner()))
	must.Get(read.HoldCount(ctx, "nobody"))
	must.Return("IsLocked", false)(write.IsLocked(ctx))
	must.Do(reader.Release(ctx))
	must.Get(read.TryLock(ctx))
	must.Get(write.Revoke(ctx, ""))
	must.Get(read.Revoke(ctx, ""))
	must.Return("ForceUnlock", true)(read.ForceUnlock(ctx))
	writer = must.Get(write.TryLock(ctx))
	time.Sleep(15 * time.Second) // virtual: the watchdog renews
	must.Do(writer.Release(ctx))
	must.Return("ForceUnlock", false)(write.ForceUnlock(ctx))
	must.Get(write.TryLock(ctx))
	must.Get(write.Revoke(ctx, ""))
	must.Return("ForceUnlock", true)(write.ForceUnlock(ctx))
	useJointReleases(ctx, client)
}

// useJointReleases has holds given back together: of readers, of writers, and of a writer with a reader of its own.
func useJointReleases(ctx context.Context, client *primitives.Client) {
	for i := range 2 {
		side := client.NewReadWriteLock(fmt.Sprint(lostReply, "rw", i), nil)
		go func() { _, _ = side.ReadLock().TryLock(ctx) }()
		other := client.NewReadWriteLock(fmt.Sprint(lostReply, "rw", i+2), nil)
		go func() { _, _ = other.WriteLock().TryLock(ctx) }()
	}
	time.Sleep(time.Second) // virtual: all are given back together
	for i := range 2 {      // Close gives back the writers.
		both := client.NewReadWriteLock(fmt.Sprint("declared:rw", i), nil)
		writer := must.Get(both.WriteLock().TryLock(ctx))
		must.Get(both.ReadLock().TryLock(writer.Reenter(ctx)))
	}
	time.Sleep(time.Second) // virtual: all are given back together
}

// useSemaphore uses what all numbers have, too.
func useSemaphore(ctx context.Context, client *primitives.Client) {
	s := client.NewSemaphore("declared:semaphore", nil)
	must.Get(s.InitPermits(ctx, 3))
	must.Get(s.AvailablePermits(ctx))
	must.Get(s.Expire(ctx, time.Hour))
	must.Get(s.TTL(ctx))
	must.Get(s.Persist(ctx))
	must.Get(s.Exists(ctx))
	must.Do(s.Acquire(ctx, 1))
	must.Do(s.Release(ctx, 1))
	must.Get(s.DrainPermits(ctx))
	must.Get(s.ExpireAt(ctx, time.Now().Add(time.Hour)))
	must.Get(s.Delete(ctx))
	for _, life := range []time.Duration{0, time.Hour} {
		made := client.NewSemaphore(s.Name(), &primitives.SemaphoreOptions{Permits: 3, TTL: life})
		must.Do(made.Acquire(ctx, 1))
		must.Do(made.Acquire(ctx, 2))
		must.Get(made.Delete(ctx))
	}
}

// useCountingSemaphores lets others wait for a slot, in both orders.
func useCountingSemaphores(ctx context.Context, client *primitives.Client) {
	for _, order := range []primitives.CountingOrder{primitives.ByTime, primitives.ByArrival} {
		of := func(name string) *primitives.CountingSemaphore {
			return client.NewCountingSemaphore(fmt.Sprint(name, order), 1, &primitives.CountingSemaphoreOptions{Order: order})
		}
		s := of("declared:counting")
		lease := must.Get(s.TryAcquire(ctx))
		must.Get(s.Holders(ctx))
		must.Do(s.Refresh(ctx, lease))
		waiting, cancel := context.WithTimeout(ctx, time.Second)
		_, _ = s.Acquire(waiting)
		cancel()
		must.Do(lease.Release(ctx))
		lost(ctx, "counting ", func(name string) primitives.Locker { return slot{of(name)} })
	}
}

func useLatch(ctx context.Context, client *primitives.Client) {
	l := client.NewCountDownLatch("declared:latch")
	must.Get(l.InitCountWithTTL(ctx, 2, time.Hour))
	must.Get(l.Count(ctx))
	must.Do(l.WaitUntilSet(ctx))
	must.Get(l.CountDown(ctx))
	must.Get(l.CountDown(ctx))
	must.Get(l.InitParts(ctx, 2, time.Hour))
	must.Get(l.CountDownOnce(ctx, "a"))
	must.Get(l.CountDownOnce(ctx, "b"))
	must.Do(l.WaitParts(ctx))
	must.Get(l.Delete(ctx))
}

func useIDGenerator(ctx context.Context, client *primitives.Client) {
	must.Get(client.NewIDGenerator("declared:defaults").Next(ctx))
	ids := client.NewIDGenerator("declared:ids")
	for range 2 {
		must.Get(ids.Init(ctx, 1, 1))
		must.Get(ids.Next(ctx))
	}
}

// usePeriodicJob has a job run twice, so the second record is compared with the first.
func usePeriodicJob(ctx context.Context, client *primitives.Client) {
	job := client.NewPeriodicJob("declared:job", time.Hour, nil)
	for hour := range time.Duration(2) {
		at := time.Now().Add(hour * time.Hour)
		work := func(context.Context, primitives.JobRun) error {
			_, _ = job.TryDo(ctx, at, nil) // Another replica finds that the job runs.
			return nil
		}
		must.Return("Do", true)(job.Do(ctx, at, work))
		must.Return("TryDo", false)(job.TryDo(ctx, at, work))
		must.Get(job.LastCompleted(ctx))
	}
}

func useAdders(ctx context.Context, client *primitives.Client) {
	long := must.Get(client.OpenLongAdder(ctx, "declared:adder"))
	long.Increment()
	must.Return("Sum", int64(1))(long.Sum(ctx))
	must.Do(long.Reset(ctx))
	double := must.Get(client.OpenDoubleAdder(ctx, "declared:double adder"))
	for _, x := range []float64{1, math.Inf(1)} {
		double.Add(x)
		_, _ = double.Sum(ctx)
	}
}

func useNumbers(ctx context.Context, client *primitives.Client) {
	long, double := client.NewAtomicLong("declared:long"), client.NewAtomicDouble("declared:double")
	must.Get(long.Load(ctx))
	must.Do(long.Store(ctx, 1))
	must.Get(long.Add(ctx, 1))
	must.Get(long.CompareAndSwap(ctx, 2, 3))
	must.Get(long.StoreIfLess(ctx, 4, 5))
	must.Get(long.StoreIfGreater(ctx, 4, 6))
	must.Get(long.Swap(ctx, 1))
	must.Get(long.LoadAndDelete(ctx))
	must.Get(double.Load(ctx))
	must.Do(double.Store(ctx, 1))
	must.Get(double.Add(ctx, 1))
	must.Get(double.CompareAndSwap(ctx, 2, 3))
	must.Get(double.StoreIfLess(ctx, 4, 5))
	must.Get(double.StoreIfGreater(ctx, 4, 6))
	must.Get(double.Swap(ctx, 1))
	must.Get(double.LoadAndDelete(ctx))
}

func useThrottle(ctx context.Context, client *primitives.Client) {
	t := client.NewThrottle("declared:throttle", primitives.Limit{Permits: 1, Interval: time.Second}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse})
	other := client.NewThrottle("declared:other", primitives.Limit{Permits: 9, Interval: time.Hour}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse})
	for _, used := range []int{0, 2} {
		work, _, err := other.Reserve(ctx, 1)
		must.Do(errors.Join(err, work.Settle(ctx, used)))
	}
	must.Get(primitives.NewMultiThrottle(nil, other.Take(1), t.Take(1)).Allow(ctx))
	must.Get(primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: true}, other.Take(1), t.Take(1)).Allow(ctx)) // Refused.
	must.Get(t.State(ctx))
	must.Return("Delete", true)(t.Delete(ctx))
	slots := client.NewCountingSemaphore("declared:slots", 1, nil)
	must.Do(must.Get(primitives.NewAdmission(slots, other.Take(1), t.Take(1)).Acquire(ctx)).Release(ctx))
}

// useRateLimiter uses one whose permits all clients have, and one of which each has its own.
func useRateLimiter(ctx context.Context, client *primitives.Client) {
	rate := primitives.Rate{Permits: 2, Interval: time.Second}
	made := client.NewRateLimiter("declared:made", &primitives.RateLimiterOptions{Rate: rate})
	must.Do(made.TryAcquire(ctx, 2))
	time.Sleep(2 * time.Second) // virtual: the permits come back
	must.Do(made.TryAcquire(ctx, 2))
	must.Do(made.SetRate(ctx, rate))
	must.Get(made.Delete(ctx))
	names := map[primitives.RateMode]string{primitives.RateOverall: "declared:rate", primitives.RatePerClient: "declared:rates"}
	for mode, name := range names {
		l := client.NewRateLimiter(name, nil)
		rate := primitives.Rate{Permits: 2, Interval: time.Second, Mode: mode, KeepAlive: time.Hour}
		must.Get(l.InitRate(ctx, rate))
		must.Do(l.Acquire(ctx, 2))
		must.Do(l.SetRate(ctx, rate))
		must.Refuse[struct{}]("TryAcquire", primitives.ErrNotAcquired)(struct{}{}, l.TryAcquire(ctx, 1))
		must.Do(l.Release(ctx, 1))
		must.Get(l.AvailablePermits(ctx))
		must.Do(l.Release(ctx, 1))
		must.Return("Rate", rate)(l.Rate(ctx))
		must.Return("Delete", true)(l.Delete(ctx))
	}
}
