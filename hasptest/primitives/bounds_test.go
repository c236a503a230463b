package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// bound is what the comment of an option promises of its number.
type bound struct {
	least, most int64 // most 0: the largest number of its type
	also        []int64
	whole       time.Duration // of which it is a whole number; what is not is refused
}

// bounds are those of all numbers in the options of package primitives. Those of "*" hold for each field of that name.
var bounds = map[string]bound{
	"*.Lease":          {least: int64(100 * time.Millisecond), also: []int64{0}},
	"*.WaiterTimeout":  {least: int64(100 * time.Millisecond), also: []int64{0}},
	"*.Replicas":       {least: -1, also: []int64{0}},
	"*.ReplicaTimeout": {least: int64(time.Millisecond), most: int64(time.Second) - 1, also: []int64{0}},
	"*.Timeout":        {least: 0},

	"Options.WatchdogLease":          {least: int64(100 * time.Millisecond), also: []int64{0}},
	"Options.MaxHold":                {least: int64(time.Second), also: []int64{0}},
	"Options.ClockDrift":             {least: 0, most: int64(500*time.Millisecond) - 1},
	"Options.Replicas":               {least: 0},
	"Options.PollInterval":           {least: int64(10 * time.Millisecond), also: []int64{0}},
	"Options.TokenTTL":               {least: int64(time.Second), also: []int64{0}},
	"CountingSemaphoreOptions.Order": {least: 0, most: 1},
	"LockOptions.MaxHold":            {least: int64(time.Second), also: []int64{0}},
	"MutexOptions.MaxHold":           {least: int64(time.Second), also: []int64{0}},
	"PlainLockOptions.MaxHold":       {least: int64(time.Second), also: []int64{0}},
	"PeriodicJobOptions.TTL":         {least: int64(time.Second), also: []int64{0}},
	"MemoOptions.Keep":               {least: int64(time.Millisecond), also: []int64{0}},
	"MemoOptions.MaxBytes":           {least: 0, also: []int64{1}},
	"PermitSemaphoreOptions.Permits": {least: 0, most: math.MaxInt32},
	"SemaphoreOptions.Permits":       {least: 0, most: math.MaxInt32},
	"SemaphoreOptions.TTL":           {least: int64(time.Millisecond), also: []int64{0}},
	"RedLockOptions.NodeTimeout":     {least: int64(time.Millisecond), also: []int64{0}},
	"SpinLockOptions.FirstDelay":     {least: int64(time.Millisecond), also: []int64{0}},
	"SpinLockOptions.MaxDelay":       {least: int64(time.Millisecond), also: []int64{0}},
	"ThrottleOptions.Debt":           {least: 0, most: 10_000_000},
	"Limit.Permits":                  {least: 1, most: 10_000_000},
	"Limit.Burst":                    {least: 0, most: 10_000_000},
	"Limit.Interval":                 {least: int64(time.Millisecond), most: int64(366 * 24 * time.Hour), whole: time.Microsecond},
	"Rate.Permits":                   {least: 1, most: math.MaxInt32},
	"Rate.Interval":                  {least: int64(time.Millisecond), most: math.MaxInt64 / int64(time.Millisecond) * int64(time.Millisecond), whole: time.Millisecond},
	"Rate.Mode":                      {least: 0, most: 1},
	"Rate.KeepAlive":                 {least: int64(time.Second), also: []int64{0}},
}

// use calls an object of a kind with options once.
func use(ctx context.Context, object any) error {
	switch o := object.(type) {
	case *primitives.ReadWriteLock:
		return errors.Join(use(ctx, o.ReadLock()), use(ctx, o.WriteLock()))
	case *primitives.Semaphore:
		return o.TryAcquire(ctx, 1)
	case *primitives.Election:
		return errOf(o.Leader(ctx))
	case *primitives.PeriodicJob:
		return errOf(o.LastCompleted(ctx))
	case *primitives.Memo[int]:
		return errOf(o.Forget(ctx, "k"))
	case *primitives.RateLimiter:
		return errOf(o.Allow(ctx, 1))
	case *primitives.Throttle:
		return errOf(o.State(ctx))
	}
	lease, err := tries(object, 1)(ctx)
	if err == nil {
		err = lease.Release(ctx)
	}
	return err
}

// numbers gives numbers to calls, and keeps what the refusals say.
type numbers struct {
	*testing.T
	s    *server
	used map[string]bool // types of options, and rows of bounds
	says map[string]string
}

// TestBounds tries the least and the most of each number in options and of arguments, what is beyond, and what is not
// whole. What the refusals say is in testdata/bounds.txt.
func TestBounds(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		n := numbers{t, s, map[string]bool{}, map[string]string{}}
		n.ofOptions()
		for bound := range bounds {
			require.True(t, n.used[bound], bound)
		}
		n.ofArguments()
		requireRows(t, "testdata/bounds.txt", n.says)
	})
}

func (n numbers) ofOptions() {
	n.Helper()
	n.ofFields(reflect.TypeFor[primitives.Options](), func(v int64, field string) error {
		o := &primitives.Options{WatchdogLease: time.Second}
		reflect.ValueOf(o).Elem().FieldByName(field).SetInt(v)
		return errOf(primitives.New(n.s, o))
	})
	c := n.s.client(n.T, &primitives.Options{WatchdogLease: time.Second})
	for _, kind := range slices.Sorted(maps.Keys(constructed(n.T))) {
		if kind == "MultiLock" || kind == "Admission" {
			continue // They have no options.
		}
		constructor := constructorOf(c, kind).Type()
		for i := range constructor.NumIn() {
			of := constructor.In(i)
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			n.ofFields(of, func(v int64, field string) error {
				n.s.do("FLUSHALL")
				with := settings{"Permits": 10_000_000, "Interval": time.Second, "Order": primitives.ByArrival, "period": time.Second}
				with[field] = v
				return use(n.Context(), construct(n.T, c, kind, "x", with))
			})
		}
	}
}

// ofFields gives numbers within and beyond the bounds to each field of a type, unless the type is used already.
func (n numbers) ofFields(of reflect.Type, use func(v int64, field string) error) {
	n.Helper()
	if n.used[of.Name()] || of.Kind() != reflect.Struct {
		return
	}
	n.used[of.Name()] = true
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Type.Kind() != reflect.Int && field.Type.Kind() != reflect.Int64 {
			continue
		}
		name := of.Name() + "." + field.Name
		if _, own := bounds[name]; !own {
			name = "*." + field.Name
		}
		require.Contains(n, bounds, name, "it has no row")
		n.used[name] = true
		n.try(of.Name()+"."+field.Name, field.Name, bounds[name], func(v int64) error { return use(v, field.Name) })
	}
}

// inBounds are errors of numbers within the bounds.
var inBounds = []error{primitives.ErrNotAcquired, primitives.ErrNoLeader, primitives.ErrAboveTotal, primitives.ErrAboveRate}

// try gives numbers within and beyond the bounds to a call. If it refuses one, it names the field, and sends nothing.
func (n numbers) try(name, field string, b bound, use func(v int64) error) {
	n.Helper()
	most := b.most
	if most == 0 {
		most = math.MaxInt64
	}
	accepts := map[int64]bool{b.least - 1: false, -1: false, 0: false, math.MinInt64: false}
	if most < math.MaxInt64 {
		accepts[most+1], accepts[math.MaxInt64] = false, false
	}
	if b.whole > 0 {
		accepts[b.least+int64(b.whole)], accepts[b.least+int64(b.whole)+1] = true, false
	}
	for _, v := range append(b.also, b.least, most) {
		accepts[v] = true
	}
	for v, accepted := range accepts {
		before := n.s.scripts()
		err, invalid := use(v), new(primitives.FieldError)
		switch {
		case errors.As(err, &invalid) == accepted,
			accepted && err != nil && !slices.ContainsFunc(inBounds, func(known error) bool { return errors.Is(err, known) }):
			n.Errorf("%s of %d: %v", name, v, err)
		case accepted:
		case !strings.HasSuffix(invalid.Field, field), n.s.scripts() > before:
			n.Errorf("%s of %d names another field, or was sent: %v", name, v, err)
		case v == b.least-1, v > b.least && v < math.MaxInt64:
			n.says[fmt.Sprint(name, " ", v)] = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
}

// scripts returns how many were sent.
func (s *server) scripts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sumOf(slices.Collect(maps.Values(s.calls)))
}

// ofArguments does the same with the arguments of constructors and methods.
func (n numbers) ofArguments() {
	const whole = time.Millisecond
	t, s := n.T, n.s
	c, ctx := s.client(t, nil), t.Context()
	sem, permits, rates := c.NewSemaphore("sem", nil), c.NewPermitSemaphore("permits", nil), c.NewRateLimiter("rate", primitives.Rate{}, rateRefuse)
	require.NoError(t, rates.SetRate(ctx, primitives.Rate{Permits: math.MaxInt32, Interval: time.Second}))
	throttle := c.NewThrottle("throttle", primitives.Limit{Permits: 10, Interval: time.Second}, refuse)
	latch, parts, ids := c.NewCountDownLatch("latch"), c.NewPartsLatch("latch"), c.NewIDGenerator("ids")
	must(permits.InitPermits(ctx, 1))(t)
	held := must(permits.TryAcquire(ctx, 1))(t)
	lease := must(c.NewLock("lock", &primitives.LockOptions{Lease: time.Minute}).Lock(ctx))(t)
	fresh := func(key string, call func() error) error {
		s.lose(key)
		return call()
	}
	for _, a := range []struct {
		name, field string
		bound
		use func(v int64) error
	}{
		{"Semaphore.TryAcquire", "n", bound{least: 1, most: math.MaxInt32}, func(v int64) error { return sem.TryAcquire(ctx, int(v)) }},
		{"Semaphore.Release", "n", bound{least: 1, most: math.MaxInt32}, func(v int64) error {
			return fresh("sem", func() error { return sem.Release(ctx, int(v)) })
		}},
		{"Semaphore.InitPermits", "n", bound{least: 0, most: math.MaxInt32}, func(v int64) error { return errOf(sem.InitPermits(ctx, int(v))) }},
		{"Semaphore.Expire", "d", bound{least: int64(whole)}, func(v int64) error { return errOf(sem.Expire(ctx, time.Duration(v))) }},
		{"PermitSemaphore.TryAcquire", "n", bound{least: 1, most: 1000}, func(v int64) error { return errOf(permits.TryAcquire(ctx, int(v))) }},
		{"PermitSemaphore.InitPermits", "n", bound{least: 0, most: math.MaxInt32}, func(v int64) error { return errOf(permits.InitPermits(ctx, int(v))) }},
		{"PermitSemaphore.SetPermits", "n", bound{least: 0, most: math.MaxInt32}, func(v int64) error { return permits.SetPermits(ctx, int(v)) }},
		{"PermitSemaphore.UpdateLease", "d", bound{least: int64(whole)}, func(v int64) error {
			return permits.UpdateLease(ctx, permits.IDs(held)[0], time.Duration(v))
		}},
		{"NewCountingSemaphore", "limit", bound{least: 1, most: math.MaxInt32}, func(v int64) error {
			return errOf(c.NewCountingSemaphore("slots", int(v), nil).Holders(ctx))
		}},
		{"RateLimiter.SetRate", "Permits", bound{least: 1, most: math.MaxInt32}, func(v int64) error {
			return rates.SetRate(ctx, primitives.Rate{Permits: int(v), Interval: time.Second})
		}},
		{"RateLimiter.Allow", "n", bound{least: 1, most: math.MaxInt32}, func(v int64) error { return errOf(rates.Allow(ctx, int(v))) }},
		{"RateLimiter.Return", "n", bound{least: 1, most: math.MaxInt32}, func(v int64) error { return rates.Return(ctx, int(v)) }},
		{"Throttle.Allow", "n", bound{least: 1}, func(v int64) error { return errOf(throttle.Allow(ctx, int(v))) }},
		{"CountDownLatch.InitCount", "n", bound{least: 1}, func(v int64) error { return errOf(latch.InitCount(ctx, v)) }},
		{"CountDownLatch.InitCountWithTTL", "ttl", bound{least: int64(whole)}, func(v int64) error {
			return errOf(latch.InitCountWithTTL(ctx, 1, time.Duration(v)))
		}},
		{"PartsLatch.Init", "n", bound{least: 1}, func(v int64) error { return errOf(parts.Init(ctx, v, time.Second)) }},
		{"PartsLatch.Init", "ttl", bound{least: int64(whole)}, func(v int64) error {
			return errOf(parts.Init(ctx, 1, time.Duration(v)))
		}},
		{"IDGenerator.Init", "blockSize", bound{least: 1}, func(v int64) error { return errOf(ids.Init(ctx, 1, v)) }},
		{"NewPeriodicJob", "period", bound{least: int64(whole), most: math.MaxInt64 / int64(whole) * int64(whole), whole: whole}, func(v int64) error {
			return errOf(c.NewPeriodicJob("job", time.Duration(v), nil).LastCompleted(ctx))
		}},
		{"Lease.Extend", "d", bound{least: int64(100 * time.Millisecond)}, func(v int64) error { return lease.Extend(ctx, time.Duration(v)) }},
	} {
		n.try(a.name, a.field, a.bound, a.use)
	}
}

// TestBoundsOfFallback tries which shares a LocalShare may be.
func TestBoundsOfFallback(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c := s.client(t, nil)
		for v, accepted := range map[float64]bool{
			1: true, math.SmallestNonzeroFloat64: true,
			0: false, -1: false, -2: false, -0.5: false, math.Nextafter(1, 2): false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
		} {
			for _, kind := range []string{"Throttle", "RateLimiter"} {
				err := use(t.Context(), construct(t, c, kind, kind, settings{"Unavailable": primitives.LocalShare(v)}))
				require.Equal(t, !accepted, errors.As(err, new(*primitives.FieldError)), v)
			}
		}
		none := c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Hour}, nil)
		require.ErrorAs(t, use(t.Context(), none), new(*primitives.FieldError), "it has no default")
	})
}
