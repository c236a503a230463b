package primitives_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestTracerThatDoesNothingAllocatesNothing counts the allocations of a Lock and its Release: without a tracer, and with
// one that gets everything. Under the race detector a sync.Pool drops values at random, so counts are averages.
func TestTracerThatDoesNothingAllocatesNothing(t *testing.T) { //nolint:paralleltest // It counts allocations.
	none, quiet := pairAllocations(t, nil), pairAllocations(t, idle())
	require.InDelta(t, none, quiet, 0.5)
	allocating := idle() // It makes a context of its own for each acquire.
	allocating.AcquireStart = func(ctx context.Context, _ trace.AcquireStart) context.Context {
		return context.WithValue(ctx, tracedKey{}, time.Now())
	}
	require.Greater(t, pairAllocations(t, allocating), quiet+0.5, "the count notices one allocation")
	t.Logf("allocations of a pair: %.2f without a tracer, %.2f with one", none, quiet)
}

// pairAllocations returns how many allocations a Lock and its Release take.
func pairAllocations(t *testing.T, tracer *trace.Tracer) float64 {
	t.Helper()
	const pairs = 1000
	client := must(primitives.New(freeLocks{}, &primitives.Options{Tracer: tracer}))(t)
	ctx, lock := context.Background(), client.NewLock("x", nil)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // It empties the pools.
	fewest := math.Inf(1)
	for range 3 {
		fewest = min(fewest, testing.AllocsPerRun(1, func() {
			for range pairs {
				require.NoError(t, must(lock.Lock(ctx))(t).Release(ctx))
			}
		}))
	}
	require.NoError(t, client.Close(ctx))
	return fewest / pairs
}

// TestLockIsSmall: a client may have a hundred thousand, and what all locks share must not be copied for each: the kind
// of their leases was 48 bytes.
func TestLockIsSmall(t *testing.T) { //nolint:paralleltest // It counts allocations.
	client := must(primitives.New(freeLocks{}, nil))(t)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { client.NewLock("x", nil) }), 5.0)
	require.NoError(t, client.Close(t.Context()))
}

// freeLocks is a backend whose locks are always free.
type freeLocks struct{ backend.Backend }

func (freeLocks) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (freeLocks) Run(
	_ context.Context, script *backend.Script, _, _ []string,
) (backend.Reply, error) {
	runtime.Gosched() // So that goroutines end, whose memory the next one gets.
	if script.Name == "lock_acquire" {
		return backend.StringReply("1"), nil
	}
	return backend.IntegerReply(1), nil
}

// idle returns a tracer that gets everything, and does nothing.
func idle() *trace.Tracer {
	return &trace.Tracer{
		AcquireStart:    func(ctx context.Context, _ trace.AcquireStart) context.Context { return ctx },
		AcquireEnd:      func(context.Context, trace.AcquireEnd) {},
		LeaseEnd:        func(trace.LeaseEnd) {},
		Renewal:         func(trace.Renewal) {},
		SubscriptionGap: func(trace.SubscriptionGap) {},
		Mismatch:        func(trace.Mismatch) {},
		JobCompleted:    func(trace.JobCompleted) {},
	}
}

// TestLeaseKeepsNothingOfItsCall holds a lock, after a call that had it at once and after one that had to wait. What the
// call's context had is collected, and so is what was sent.
func TestLeaseKeepsNothingOfItsCall(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"AtOnce": false, "AfterWaiting": true} {
		subtest(t, name, func(t *testing.T, s *server) {
			lock := s.client(t, nil).NewLock("x", nil)
			if waits {
				first := must(lock.Lock(t.Context()))(t)
				go func() {
					synctest.Wait()
					_ = first.Release(context.Background())
				}()
			}
			lease, value, sent := lockWithValue(t, s, lock)
			synctest.Wait() // The sender has ended.
			require.NotEmpty(t, sent)
			require.True(t, collected(value), "the context's value is kept")
			for _, word := range sent {
				require.True(t, collected(word), "what was sent is kept")
			}
			require.NoError(t, lease.Err())
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// collected reports whether a value is collected. A timer that was stopped, or a stack, may keep one a little longer.
func collected[T any](value weak.Pointer[T]) bool {
	for range 100 {
		if runtime.GC(); value.Value() == nil {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

type valueKey struct{}

// lockWithValue takes a lock under a context that has a large value. It returns what must not be kept.
//
//go:noinline
func lockWithValue(t *testing.T, s *server, lock *primitives.Lock) (
	lease *primitives.Lease, value weak.Pointer[[1 << 20]byte], sent []weak.Pointer[string],
) {
	t.Helper()
	large := new([1 << 20]byte)
	s.set(func() {
		s.seen = func(script string, keys, args []string) {
			if script == "lock_acquire" {
				sent = append(sent, weak.Make(&keys[0]), weak.Make(&args[0]))
			}
		}
	})
	lease = must(lock.Lock(context.WithValue(t.Context(), valueKey{}, large)))(t)
	s.set(func() { s.seen = nil })
	return lease, weak.Make(large), sent
}

// repeater runs scripts that are declared as safe to repeat twice, and looks at what those change that only read.
type repeater struct {
	*server
	seen   map[string]bool
	broken []string // declarations that do not hold
}

func (r *repeater) run(script *backend.Script, keys, args []string) (backend.Reply, error) {
	run := func() (string, backend.Reply, error) {
		reply, err := r.link.Run(context.Background(), script, keys, args)
		return fmt.Sprint(reply, err, "\n", r.state()), reply, err
	}
	before := r.state()
	after, reply, err := run()
	r.seen[script.Name] = true
	switch script.Retry {
	case backend.RetryReadOnly:
		if !strings.HasSuffix(after, before) {
			r.broken = append(r.broken, fmt.Sprintf("%s reads, but %s has become %s", script.Name, before, after))
		}
	case backend.RetryRepeatable:
		if again, _, _ := run(); after != again {
			r.broken = append(r.broken, fmt.Sprintf("%s may be repeated, but %s has become %s", script.Name, after, again))
		}
	}
	return reply, err
}

// state returns all that the server stores.
func (r *repeater) state() (all string) {
	keys := r.do("KEYS", "*")
	slices.Sort(keys)
	read := map[string][]string{
		"string": {"GET"}, "hash": {"HGETALL"}, "list": {"LRANGE", "0", "-1"}, "set": {"SMEMBERS"}, "zset": {"ZRANGE", "0", "-1", "WITHSCORES"},
	}
	for _, key := range keys {
		kind := first(r.do("TYPE", key))
		values := r.do(slices.Insert(slices.Clone(read[kind]), 1, key)...)
		if kind == "hash" || kind == "set" {
			slices.Sort(values)
		}
		all += fmt.Sprintln(key, r.do("PTTL", key), values)
	}
	return all
}

// TestRepeatableScripts uses each kind of object, and each of its methods that only asks. It fails if they do not run
// all scripts that are declared as safe to repeat or as read-only.
func TestRepeatableScripts(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &repeater{server: s, seen: map[string]bool{}}
		s.run = r.run
		c := s.client(t, nil)
		for _, kind := range slices.Sorted(maps.Keys(constructed(t))) {
			object := construct(t, c, kind, "app:"+kind, nil)
			ask(t, object)
			hold(t, object, func(*primitives.Lease) {
				time.Sleep(25 * time.Second) // two renewals
				ask(t, object)
			})
		}
		askTheRest(t, c)
		require.Empty(t, r.broken)
		for name := range declaredRepeatable(t) {
			if !r.seen[name] {
				t.Errorf("no call runs %s", name)
			}
		}
	})
}

// ask calls the methods of an object that take nothing but a context, and do not wait.
func ask(t *testing.T, object any) {
	t.Helper()
	if rw, is := object.(*primitives.ReadWriteLock); is {
		ask(t, rw.ReadLock())
		ask(t, rw.WriteLock())
	}
	waiting := regexp.MustCompile(`^(Lock$|Acquire|TryLock|TryAcquire|Wait|Observe|Close|ForceUnlock|Delete|Release|.*CountDown|Reset|Drain)`)
	of := reflect.ValueOf(object)
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		if method.Type().NumIn() == 2 { // an owner
			args = append(args, reflect.ValueOf(another))
		}
		if takes(method.Type(), args) && !waiting.MatchString(name) {
			method.Call(args)
		}
	}
}

// askTheRest asks what takes other arguments.
func askTheRest(t *testing.T, c *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	hold(t, c.NewReadWriteLock("rw", nil).ReadLock(), func(*primitives.Lease) { time.Sleep(15 * time.Second) })
	permits := c.NewPermitSemaphore("permits", &primitives.PermitSemaphoreOptions{Permits: 1})
	_ = must(permits.Remaining(ctx, permits.IDs(must(permits.TryAcquire(ctx, 1))(t))[0]))(t)
	plain := c.NewPlainLock("plain", nil)
	former := must(plain.Lock(ctx))(t)
	former.Forget()
	require.NoError(t, must(plain.Adopt(ctx, former.Owner()))(t).Release(ctx))
	latch := c.NewPartsLatch("latch")
	require.True(t, must(latch.Init(ctx, 1, time.Hour))(t))
	require.Error(t, latch.Wait(within(t, 7*time.Second)))
	require.True(t, must(c.NewCountDownLatch("set").InitCount(ctx, 1))(t))
	require.Error(t, c.NewCountDownLatch("set").Wait(within(t, 7*time.Second)))
	require.Error(t, c.NewCountDownLatch("unset").WaitUntilSet(within(t, 7*time.Second)))
	throttle := c.NewThrottle("throttle", primitives.Limit{Permits: 1, Interval: time.Hour}, refuse)
	require.True(t, must(throttle.Allow(ctx, 1))(t).Allowed)
	require.Zero(t, must(throttle.State(ctx))(t).Remaining)
	require.NotEmpty(t, must(inspect.Describe(ctx, c, "latch"))(t))
}

// takes reports whether a method takes these arguments.
func takes(method reflect.Type, args []reflect.Value) bool {
	if method.NumIn() != len(args) || method.IsVariadic() {
		return false
	}
	for i, arg := range args {
		if !arg.Type().AssignableTo(method.In(i)) {
			return false
		}
	}
	return true
}

// declaredRepeatable returns the names of the scripts that are declared so.
func declaredRepeatable(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range must(filepath.Glob("../../primitives/internal/script/*.lua"))(t) {
		if regexp.MustCompile(`(?m)^---@(retry safe|readonly)$`).Match(must(os.ReadFile(file))(t)) {
			names[strings.TrimSuffix(filepath.Base(file), ".lua")] = true
		}
	}
	require.NotEmpty(t, names)
	return names
}
