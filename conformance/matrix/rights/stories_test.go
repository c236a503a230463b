package rights

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// Stories of kinds of objects: see [play]. Each kind's runs its scripts, through all of their branches that touch a key.
const (
	locking = "Lock; not TryLock; ask; ask nobody; wait 15s; release; " +
		"Lock; go Lock; wait 15s; not TryLock; release; wait 1s" // The second token is compared with the first.
	forcing = "; go Lock; wait 1s; ForceUnlock; wait 1s; ForceUnlock; wait 1s; " +
		"Lock; wait 15s; Revoke ''; ForceUnlock; Revoke ''; ask; Lock; ForceUnlock; Lock; ForceUnlock; wait 15s" // The watchdog finds losses.
	numbers = "Load; Store 1; Add 1; CompareAndSwap 2 3; StoreIfLess 4 5; StoreIfGreater 4 6; Swap 1; LoadAndDelete"
	lived   = "; Expire 1h; TTL; Persist; Exists; ExpireAt 1h; Delete"
	rates   = "InitRate; Wait 2; SetRate; Allow 1; Return 1; ask; Return 1; Delete"
	fetched = "InitPermits 3; Acquire 1; Release 1; ask; DrainPermits" + lived
)

var stories = map[string]string{
	"lock": locking + forcing, "described": locking + forcing, "fenced": locking + forcing, "spin": locking + forcing,
	"plain": locking + forcing + "; Lock; Adopt; ask; release", "fair": locking + forcing, "mutex": locking + forcing, "write": locking + forcing, "time": locking, "arrival": locking,
	"read":      "Lock; Lock; ask; ask nobody; wait 15s; release; Revoke ''; ForceUnlock; wait 15s; Lock; release",
	"semaphore": fetched, "long": numbers + lived, "double": numbers + lived, "rate": rates,
	"latch": "InitCountWithTTL 2 1h; ask; WaitUntilSet; CountDown; CountDown" + lived,
	"parts": "Init 2 1h; ask; WaitUntilSet; CountDown a; CountDown b; Wait; Delete",
	"ids":   "Init 1 1; Next; Init 1 1; Next",
}

// acts are short stories that no other caller can refuse. Those of adders send nothing: a sum waits for the answers of
// others, whom the server may refuse.
var acts = map[string]string{
	"permits": "InitPermits 1; TryAcquire 1; release", "semaphore": "InitPermits 1; TryAcquire 1; Release 1", "election": "Run",
	"job": "TryDo", "memo": "Do k", "latch": "InitCount 1", "parts": "Init 1 1h", "long": "Add 1", "double": "Add 1", "ids": "Init 1 1",
	"rate": "InitRate", "throttle": "Allow 1",
	"long adder": "Name", "double adder": "Name",
}

// act tells an object's short story, and calls each before a step.
func act(ctx context.Context, kind string, o object, each ...func(step string)) error {
	return must.Catch(func() {
		story, ok := acts[kind]
		if !ok {
			story = "TryLock; release"
		}
		play(ctx, o, story, each...)
	})
}

// player plays a story.
type player struct {
	object any
	lease  *primitives.Lease // the last
	result string            // of the last call: a token, or the permits that are left, if it says more
}

// faults are the errors that stories name.
var faults = map[string]error{"overflow": primitives.ErrOverflow, "conflict": primitives.ErrConflict}

// play plays the story of an object. A step is a method with its arguments. A step with "not" is refused. One with "go" runs
// beside the story and ends with it; one with "hurry" does too, and gives up after a second. "ask" calls all methods that only
// ask, of an owner or of the last lease's. "release" releases the last lease, and with "unheard" gets no answer. "wait" lets
// virtual time pass, in which the watchdog renews. A result stands behind "=", and a fault behind "!".
func play(ctx context.Context, o object, story string, each ...func(step string)) {
	p := &player{object: o}
	if l, isLocker := lockerOf(o); isLocker {
		p.object = l
	}
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	for step := range strings.SplitSeq(story, "; ") {
		for _, look := range each {
			look(step)
		}
		must.In(fmt.Sprintf("%T: %s", o, step), func() { p.step(ctx, beside, strings.Fields(step)) })
	}
}

func (p *player) step(ctx, beside context.Context, words []string) {
	switch first, more := words[0], words[1:]; first {
	case "go", "hurry":
		other, patience := *p, map[string]time.Duration{"go": time.Hour, "hurry": time.Second}[first]
		go func() {
			ctx, cancel := context.WithTimeout(beside, patience)
			defer cancel()
			_ = other.call(ctx, more)
		}()
	case "not":
		must.Wrap(p.call(ctx, more), primitives.ErrNotAcquired)
	case "ask":
		for _, method := range p.methods(asking) {
			if err := p.call(ctx, append([]string{method}, more...)); !errors.Is(err, primitives.ErrNotHeld) {
				must.Do(err)
			}
		}
	case "release":
		must.Do(p.lease.Release(ctx))
	case "unheard":
		must.Wrap(p.lease.Release(ctx), backend.ErrIndeterminate)
	case "forget":
		p.lease.Forget()
	case "wait":
		time.Sleep(must.Get(time.ParseDuration(more[0])))
	default:
		want := ""
		if i := len(words) - 2; i > 0 && strings.Contains("=!", words[i]) {
			words, want = words[:i], words[i]+words[i+1]
		}
		err := p.call(ctx, words)
		if fault, refused := strings.CutPrefix(want, "!"); refused {
			must.Wrap(err, faults[fault])
			return
		}
		must.Do(err)
		must.Not(want != "" && want != "="+p.result, "%s returned %s", words, p.result)
	}
}

// methods returns the names of the object's methods that match.
func (p *player) methods(match *regexp.Regexp) (names []string) {
	for of, i := reflect.TypeOf(p.object), 0; i < of.NumMethod(); i++ {
		if match.MatchString(of.Method(i).Name) {
			names = append(names, of.Method(i).Name)
		}
	}
	return names
}

// asking are the names of methods that only ask.
var asking = regexp.MustCompile(`^(Acquired|Available|Count$|Exists|Hold|Is|Last|Left|Load$|Rate$|Remaining|State|Total|TTL)`)

// call calls a method, and returns its error.
func (p *player) call(ctx context.Context, words []string) error {
	method, args, next := reflect.ValueOf(p.object).MethodByName(words[0]), []reflect.Value{}, words[1:]
	for i := range method.Type().NumIn() {
		t := method.Type().In(i)
		word := ""
		if t.Kind() == reflect.Slice { // The last one may be given often.
			t = t.Elem()
		}
		if t.Kind() != reflect.Interface && len(next) > 0 {
			word, next = next[0], next[1:]
		}
		args = append(args, p.argument(ctx, t, word))
	}
	results := method.Call(args)
	switch first := results[0].Interface().(type) {
	case *primitives.Lease:
		if first != nil {
			p.lease, p.result = first, fmt.Sprint(first.Token())
		}
	case primitives.Decision:
		p.result = fmt.Sprint(first.Remaining)
	default:
		p.result = fmt.Sprint(first)
	}
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

// argument returns an argument of that type. A function does nothing.
func (p *player) argument(ctx context.Context, t reflect.Type, word string) reflect.Value {
	switch {
	case t.Kind() == reflect.Interface:
		return reflect.ValueOf(ctx)
	case t.Kind() == reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) (zeros []reflect.Value) {
			for i := range t.NumOut() {
				zeros = append(zeros, reflect.Zero(t.Out(i)))
			}
			return zeros
		})
	case t.Kind() == reflect.String && word == "" && p.lease != nil:
		return reflect.ValueOf(p.lease.Owner())
	case t.Kind() == reflect.String:
		return reflect.ValueOf(strings.Trim(word, "'"))
	case t == reflect.TypeFor[primitives.PermitID]():
		return reflect.ValueOf(p.object.(*primitives.PermitSemaphore).IDs(p.lease)[0])
	case t == reflect.TypeFor[primitives.Rate]() && word == "most":
		return reflect.ValueOf(primitives.Rate{Permits: math.MaxInt32, Interval: primitives.NoExpiry / 1e6 * 1e6})
	case t == reflect.TypeFor[primitives.Rate]():
		return reflect.ValueOf(primitives.Rate{Permits: 2, Interval: time.Second, KeepAlive: time.Hour})
	case t == reflect.TypeFor[time.Time]():
		after, _ := time.ParseDuration(word)
		if day, err := time.Parse(time.DateOnly, word); err == nil {
			return reflect.ValueOf(day)
		}
		return reflect.ValueOf(time.Now().Add(after))
	case t == reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(must.Get(time.ParseDuration(word)))
	}
	if whole, err := strconv.ParseInt(word, 10, 64); err == nil {
		return reflect.ValueOf(whole).Convert(t)
	}
	return reflect.ValueOf(must.Get(strconv.ParseFloat(word, 64))).Convert(t)
}

// further are what kinds need besides their stories.
var further = map[string]func(context.Context, *primitives.Client){
	"mutex": useMutex, "write": useReadWriteLock, "semaphore": useSemaphores, "permits": usePermits,
	"rate": useRates, "throttle": useThrottle, "long adder": useAdders, "job": usePeriodicJob, "memo": useMemo,
	"ids": func(ctx context.Context, c *primitives.Client) {
		must.Get(c.NewIDGenerator("declared:defaults").Next(ctx))
	},
}

// use makes the client run each script of some kinds, also after grants whose replies are lost.
func use(ctx context.Context, c *primitives.Client, kinds ...string) {
	for _, kind := range kinds {
		if story := stories[kind]; story != "" {
			play(ctx, objects(ctx, c, "declared:"+kind)[kind], story)
		}
		for i := range 2 {
			if l, isLocker := lockerOf(lockers(c, fmt.Sprint(lostReply, kind, i))[kind]); isLocker {
				go func() { _, _ = l.Lock(ctx) }()
			}
		}
		time.Sleep(time.Second) // Virtual: both are given back together.
		if more := further[kind]; more != nil {
			more(ctx, c)
		}
	}
}

// useOthers uses objects whose scripts also run otherwise: a client that has had no grant asks for permissions.
func useOthers(ctx context.Context, c *primitives.Client) {
	must.Do(c.NewAtomicLong("declared:adopted").Store(ctx, 7))
	play(ctx, c.NewPlainLock("declared:adopted", nil), "Adopt 7; release")
	play(ctx, c.NewPlainLock("declared:{tagged}", nil), "Lock; release")
	fair := c.NewFairLock("declared:inspected", nil)
	must.Get(fair.Lock(ctx))
	rw := c.NewReadWriteLock("declared:read", &primitives.ReadWriteLockOptions{PreferWriters: true})
	must.Get(rw.ReadLock().Lock(ctx))
	waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	go func() { _, _ = fair.Lock(waiting) }()
	go func() { _, _ = rw.WriteLock().Lock(waiting) }()
	time.Sleep(time.Second) // Virtual: it waits.
	must.Get(inspect.Describe(ctx, c, fair.Name()))
	time.Sleep(2 * time.Second) // Virtual: it has given up.
}

func useMutex(ctx context.Context, c *primitives.Client) {
	m, holder := c.NewMutex("declared:mutexes", nil), c.NewAtomicLong("hasp_mutex:{declared:mutexes}")
	must.Get(m.Lock(ctx))
	for range 2 {
		go func() { _, _ = m.Lock(ctx) }()
		time.Sleep(time.Second) // Virtual: it waits.
	}
	lose := backend.NewScript("lose", "return redis.call('del', KEYS[1])", 1, backend.RetryNever)
	must.Get(c.Core().Backend().Run(ctx, lose, []string{"hasp_mutex:{declared:mutexes}:queue"}, nil))
	time.Sleep(10 * time.Second) // Virtual: both return to their places.
	must.Get(holder.Delete(ctx))
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(m.TryLock(ctx)) // The next one has it.
	time.Sleep(time.Second)                                                              // Virtual: the client renews its new lease, the next time after 10 s.
	must.Get(holder.Delete(ctx))
	time.Sleep(10 * time.Second) // Virtual: a beat finds that nobody has it.
}

func useReadWriteLock(ctx context.Context, c *primitives.Client) {
	lock := c.NewReadWriteLock("declared:rw", &primitives.ReadWriteLockOptions{PreferWriters: true})
	read, write := lock.ReadLock(), lock.WriteLock()
	writer := must.Get(write.TryLock(ctx))
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(read.TryLock(ctx))
	must.Return("ForceUnlock", false)(read.ForceUnlock(ctx))
	reader := must.Get(read.TryLock(writer.Reenter(ctx)))
	time.Sleep(15 * time.Second) // Virtual: the watchdog renews.
	must.Do(writer.Release(ctx))
	impatient, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	go func() { _, _ = write.Lock(impatient) }()
	time.Sleep(500 * time.Millisecond) // Virtual.
	must.Refuse[*primitives.Lease]("TryLock", primitives.ErrNotAcquired)(read.TryLock(ctx))
	time.Sleep(time.Second) // Virtual: the writer has given up.
	must.Return("IsLocked", false)(write.IsLocked(ctx))
	must.Return("ForceUnlock", false)(write.ForceUnlock(ctx))
	must.Do(reader.Release(ctx))
	play(ctx, read, "TryLock; Revoke ''; ForceUnlock")
	play(ctx, write, "TryLock; wait 15s; release")
	useJointReleases(ctx, c)
}

// useJointReleases has holds given back together: of readers, of writers, and of a writer with a reader of its own.
func useJointReleases(ctx context.Context, c *primitives.Client) {
	for i := range 2 {
		side := c.NewReadWriteLock(fmt.Sprint(lostReply, "rw", i), nil)
		go func() { _, _ = side.ReadLock().TryLock(ctx) }()
		other := c.NewReadWriteLock(fmt.Sprint(lostReply, "rw", i+2), nil)
		go func() { _, _ = other.WriteLock().TryLock(ctx) }()
	}
	time.Sleep(time.Second) // Virtual: all are given back together.
	for i := range 2 {      // Close gives back the writers.
		both := c.NewReadWriteLock(fmt.Sprint("declared:rw", i), nil)
		writer := must.Get(both.WriteLock().TryLock(ctx))
		must.Get(both.ReadLock().TryLock(writer.Reenter(ctx)))
	}
	time.Sleep(time.Second) // Virtual: all are given back together.
}

func useSemaphores(ctx context.Context, c *primitives.Client) {
	for _, life := range []time.Duration{0, time.Hour} {
		made := &primitives.SemaphoreOptions{Permits: 3, TTL: life}
		play(ctx, c.NewSemaphore("declared:semaphore", made), "Acquire 1; Acquire 2; Delete")
	}
}

func usePermits(ctx context.Context, c *primitives.Client) {
	for _, end := range []string{"Expire 1h", "ExpireAt 1h"} {
		s := c.NewPermitSemaphore("declared:permits", &primitives.PermitSemaphoreOptions{Permits: 2})
		play(ctx, s, "Acquire 1; "+end+"; Persist; wait 15s; "+end+"; SetPermits 4; AddPermits 1; ask; not TryAcquire 5; "+
			"UpdateLease last 1m; Release; TryAcquire 2; release")
		must.Refuse[*primitives.Lease]("TryAcquire", primitives.ErrAboveTotal)(s.TryAcquire(ctx, 9))
		play(ctx, s, "Delete; InitPermits 1; Delete; AddPermits 1; Delete")
	}
	for i := range 2 {
		s := c.NewPermitSemaphore(fmt.Sprint(lostReply, "permits", i), &primitives.PermitSemaphoreOptions{Permits: 1})
		go func() { _, _ = s.TryAcquire(ctx, 1) }()
	}
	time.Sleep(time.Second) // Virtual: both are given back together.
}

// usePeriodicJob has a job run twice, so the second record is compared with the first.
func usePeriodicJob(ctx context.Context, c *primitives.Client) {
	job := c.NewPeriodicJob("declared:job", time.Hour, nil)
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

// useMemo has work fail, run for so long that its lease is renewed, give up its result and lose its lock, while others ask.
func useMemo(ctx context.Context, c *primitives.Client) {
	m, failed := primitives.NewMemo[int](c, "declared:memo", nil), errors.New("failed")
	for key, end := range map[string]func(context.Context, primitives.MemoRun) error{
		"kept": func(context.Context, primitives.MemoRun) error { return nil }, "failed": func(context.Context, primitives.MemoRun) error { return failed },
		"lost": func(ctx context.Context, _ primitives.MemoRun) error {
			_, err := c.NewLock("declared:memo:lost", nil).ForceUnlock(ctx)
			return err
		},
		"not kept": func(ctx context.Context, run primitives.MemoRun) error { return run.KeepNothing(ctx) },
	} {
		work := func(held context.Context, run primitives.MemoRun) (int, error) {
			_, _, _ = m.TryDo(ctx, key, nil)
			_, _, _ = m.With(&primitives.MemoCall{Fingerprint: "another"}).TryDo(ctx, key, nil)
			time.Sleep(15 * time.Second) // Virtual: the watchdog renews.
			return 1, end(held, run)
		}
		_, _, _ = m.Do(ctx, key, work)
		_, _, _ = m.Do(ctx, key, work)
		must.Get(m.Forget(ctx, key))
	}
}

func useAdders(ctx context.Context, c *primitives.Client) {
	long := must.Get(c.OpenLongAdder(ctx, "declared:adder"))
	long.Increment()
	must.Return("Sum", int64(1))(long.Sum(ctx))
	must.Do(long.Reset(ctx))
	double := must.Get(c.OpenDoubleAdder(ctx, "declared:double adder"))
	for _, x := range []float64{1, math.Inf(1)} {
		double.Add(x)
		_, _ = double.Sum(ctx)
	}
}

func useThrottle(ctx context.Context, c *primitives.Client) {
	of := func(name string, permits int, interval time.Duration) *primitives.Throttle {
		limit := primitives.Limit{Permits: permits, Interval: interval}
		return c.NewThrottle("declared:"+name, limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	}
	t, other := of("throttle", 1, time.Second), of("other", 9, time.Hour)
	for _, used := range []int{0, 2} {
		work, _, err := other.AllowEstimate(ctx, 1)
		must.Do(errors.Join(err, work.Settle(ctx, used)))
	}
	for _, steps := range []bool{false, true} { // The second is refused.
		must.Get(primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: steps}, other.Take(1), t.Take(1)).Allow(ctx))
	}
	must.Get(t.State(ctx))
	must.Return("Delete", true)(t.Delete(ctx))
	slots := c.NewCountingSemaphore("declared:slots", 1, nil)
	must.Do(must.Get(primitives.NewAdmission(slots, other.Take(1), t.Take(1)).Acquire(ctx)).Release(ctx))
}

// useRates uses one that it makes itself, and one of which each client has its own permits.
func useRates(ctx context.Context, c *primitives.Client) {
	rate := primitives.Rate{Permits: 2, Interval: time.Second}
	made := c.NewRateLimiter("declared:made", rate, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	play(ctx, made, "Allow 2; wait 2s; Allow 2") // The permits come back.
	must.Do(made.SetRate(ctx, rate))
	must.Get(made.Delete(ctx))
	rate.Mode, rate.KeepAlive = primitives.RatePerClient, time.Hour
	each := c.NewRateLimiter("declared:rates", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	must.Get(each.InitRate(ctx, rate))
	play(ctx, each, "Wait 2; Allow 1; Return 1; ask; Return 1")
	must.Do(each.SetRate(ctx, rate))
	must.Return("Delete", true)(each.Delete(ctx))
}
