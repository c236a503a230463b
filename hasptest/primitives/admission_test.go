package primitives_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// entry is an Admission, with its semaphore, called x, and its throttles.
type entry struct {
	*primitives.Admission
	slots *primitives.CountingSemaphore
	rates []*primitives.Throttle
}

// entryLimits have a burst of 4 and of 10, and free a permit in 333 ms and in 100 ms.
var entryLimits = []primitives.Limit{{Permits: 3, Interval: time.Second, Burst: 4}, {Permits: 10, Interval: time.Second, Burst: 10}}

// entryOf returns an entry of two slots, by leases of 5 s, which takes a permit of the first throttle and two of the
// second.
func entryOf(c *primitives.Client) *entry {
	slots := c.NewCountingSemaphore("x", 2, &primitives.CountingSemaphoreOptions{Lease: 5 * time.Second})
	e := &entry{slots: slots}
	for i, name := range []string{"user", "all"} {
		e.rates = append(e.rates, c.NewThrottle(name, entryLimits[i], refuse))
	}
	e.Admission = primitives.NewAdmission(slots, e.rates[0].Take(1), e.rates[1].Take(2))
	return e
}

// entering runs a test of an entry in virtual time.
func entering(t *testing.T, run func(t *testing.T, s *server, e *entry)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		run(t, s, entryOf(s.client(t, &primitives.Options{PollInterval: 100 * time.Hour})))
	})
}

// remaining returns how many permits of the throttles are free.
func (e *entry) remaining(t *testing.T) []int {
	t.Helper()
	var all []int
	for _, rate := range e.rates {
		d := must(rate.State(t.Context()))(t)
		all = append(all, d.Remaining)
	}
	return all
}

// admitted returns a lease that must be had at once.
func (e *entry) admitted(t *testing.T) *primitives.Lease {
	t.Helper()
	return must(e.TryAcquire(t.Context()))(t)
}

// refused returns the refusal that must come at once.
func (e *entry) refused(t *testing.T) primitives.AdmissionError {
	t.Helper()
	_, err := e.TryAcquire(t.Context())
	var refusal *primitives.AdmissionError
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	return primitives.AdmissionError{Full: refusal.Full, Throttle: refusal.Throttle, RetryIn: refusal.RetryIn}
}

// TestAdmissionTakesAllOrNone: a refusal says what is not free, and takes nothing of what is.
func TestAdmissionTakesAllOrNone(t *testing.T) {
	entering(t, func(t *testing.T, s *server, e *entry) {
		one, two := e.admitted(t), e.admitted(t)
		require.Equal(t, 2, s.holding())
		require.Equal(t, []int{2, 6}, e.remaining(t))
		require.Equal(t, primitives.AdmissionError{Full: true}, e.refused(t))
		require.Equal(t, []int{2, 6}, e.remaining(t))

		require.NoError(t, one.Release(t.Context()))
		require.Equal(t, []int{2, 6}, e.remaining(t), "a release gives no permits back")
		require.Positive(t, e.admitted(t).Token())
		require.NoError(t, errOf(e.rates[0].Allow(t.Context(), 1)))
		require.Equal(t, primitives.AdmissionError{Full: true, Throttle: e.rates[0], RetryIn: 333_334 * time.Microsecond}, e.refused(t))
		require.NoError(t, two.Release(t.Context()))
		require.Equal(t, primitives.AdmissionError{Throttle: e.rates[0], RetryIn: 333_334 * time.Microsecond}, e.refused(t))
		require.Equal(t, 1, s.holding())
		require.NoError(t, errOf(e.rates[1].Allow(t.Context(), 4)))
		time.Sleep(40 * time.Millisecond)
		require.Equal(t, 293_334*time.Microsecond, e.refused(t).RetryIn)
		require.Equal(t, []int{0, 0}, e.remaining(t))
		require.Equal(t, 1, s.holding())
		_, err := e.TryAcquire(t.Context())
		require.EqualError(t, err, `acquire counting semaphore "x": too few permits of throttle "user" for another 293.334ms`)
		require.Equal(t, 8, s.called("counting_admit"))
		_, err = e.Acquire(within(t, 100*time.Millisecond))
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		require.EqualError(t, err, `acquire counting semaphore "x": no slot is free, or too few permits are: context deadline exceeded`)
		require.Equal(t, 1, s.holding())
	})
}

// TestAdmissionIsOneOfTheSemaphore: its lease is renewed, extended, re-entered and lost as the semaphore's own.
func TestAdmissionIsOneOfTheSemaphore(t *testing.T) {
	entering(t, func(t *testing.T, s *server, e *entry) {
		lease := e.admitted(t)
		again := must(e.Acquire(lease.Reenter(t.Context())))(t)
		require.Equal(t, lease.Owner(), again.Owner())
		require.NoError(t, again.Release(t.Context()))
		require.Equal(t, []int{3, 8}, e.remaining(t))
		time.Sleep(4 * time.Second)
		require.NoError(t, e.slots.Refresh(t.Context(), lease))
		time.Sleep(4 * time.Second)
		require.NoError(t, lease.Extend(t.Context(), 10*time.Second))
		time.Sleep(8 * time.Second)
		require.NoError(t, lease.Err())
		s.do("DEL", "x")
		require.ErrorIs(t, e.slots.Refresh(t.Context(), lease), primitives.ErrLost)
		require.NoError(t, e.Do(t.Context(), func(_ context.Context, lease *primitives.Lease) error {
			require.Equal(t, 1, s.holding())
			return lease.Err()
		}))
		require.Zero(t, s.holding())
		renewed := primitives.NewAdmission(s.client(t, nil).NewCountingSemaphore("y", 1, nil),
			s.client(t, nil).NewThrottle("y", entryLimits[0], refuse).Take(1))
		require.ErrorContains(t, renewed.Do(t.Context(), nil), "slots: of another client than the takes")
	})
}

// endOf returns a time so many milliseconds after another, as the server has it.
func endOf(begin time.Time, after int64) string {
	return strconv.FormatInt(begin.UnixMilli()+after, 10)
}

// repeating is a server whose clients' admissions run twice.
type repeating struct{ *server }

// Run implements backend.ScriptRunner.
func (r repeating) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	if script.Name == "counting_admit" {
		if reply, err := r.server.Run(ctx, script, keys, args); err != nil {
			return reply, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return r.server.Run(ctx, script, keys, args)
}

// TestAdmissionIsRepeated: an owner that holds a slot takes no permits, and its hold lasts from the repeat on.
func TestAdmissionIsRepeated(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		e, begin := entryOf(s.over(t, repeating{s}, nil)), time.Now()
		for i := range 2 {
			e.admitted(t)
			require.Equal(t, i+1, s.holding())
			require.Equal(t, []int{3, 1}[i], e.remaining(t)[0], "by the second 100 ms have passed, and 333 ms free one")
			require.NoError(t, errOf(e.rates[0].Allow(t.Context(), 1)))
		}
		require.Equal(t, 4, s.called("counting_admit"))
		held := s.do("ZRANGE", "x", "0", "-1", "WITHSCORES")
		require.Equal(t, []string{endOf(begin, 5050), endOf(begin, 5100)}, []string{held[1], held[3]})
		require.Equal(t, held[3:], s.do("PEXPIRETIME", "x"))
	})
}

// TestAdmissionWaitersGoOnByTheRate: the waiters of a client are admitted as fast as the rate allows, with few tries.
func TestAdmissionWaitersGoOnByTheRate(t *testing.T) {
	entering(t, func(t *testing.T, s *server, _ *entry) {
		c := s.client(t, &primitives.Options{PollInterval: 100 * time.Hour})
		rate := c.NewThrottle("fast", primitives.Limit{Permits: 20, Interval: time.Second, Burst: 3}, refuse)
		a, begin := primitives.NewAdmission(c.NewCountingSemaphore("wide", 100, nil), rate.Take(1)), time.Now()
		var all sync.WaitGroup
		for range 63 {
			all.Go(func() { require.NoError(t, errOf(a.Acquire(t.Context()))) })
		}
		time.Sleep(975 * time.Millisecond)
		s.embedded.Advance(time.Second) // The next one finds three permits, and wakes two others.
		time.Sleep(27 * time.Millisecond)
		tried := s.called("counting_admit")
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, tried, s.called("counting_admit"), "no other tries for nothing")
		all.Wait()
		require.InDelta(t, 2900*time.Millisecond, time.Since(begin), float64(5*time.Millisecond))
		require.LessOrEqual(t, s.called("counting_admit"), 63+63+60)
	})
}

// TestAdmissionOfACallerThatHasLeft: when the grant comes, the client releases the slot. The permits stay in use.
func TestAdmissionOfACallerThatHasLeft(t *testing.T) {
	entering(t, func(t *testing.T, s *server, e *entry) {
		s.faultOf("counting_admit", fault{after: time.Second})
		for _, acquire := range []func(context.Context) (*primitives.Lease, error){e.Acquire, e.TryAcquire} {
			require.ErrorIs(t, errOf(acquire(within(t, 100*time.Millisecond))), context.DeadlineExceeded)
			require.Equal(t, 1, s.holding())
			time.Sleep(2 * time.Second)
			require.Zero(t, s.holding())
		}
	})
}

// TestAdmissionWithoutAnAnswer: the slot is released, and the permits stay in use. While the server is away nobody is
// admitted, whatever the throttles do.
func TestAdmissionWithoutAnAnswer(t *testing.T) {
	entering(t, func(t *testing.T, s *server, e *entry) {
		s.faults(fault{broken: true})
		require.ErrorIs(t, errOf(e.Acquire(t.Context())), primitives.ErrIndeterminate)
		s.faults(fault{})
		synctest.Wait()
		require.Equal(t, []int{3, 8}, e.remaining(t))
		time.Sleep(time.Second)
		require.Zero(t, s.holding())

		s.faults(down)
		c := s.client(t, nil)
		admits := c.NewThrottle("user", entryLimits[0], &primitives.ThrottleOptions{Unavailable: primitives.Admit()})
		_, err := primitives.NewAdmission(c.NewCountingSemaphore("x", 1, nil), admits.Take(1)).Acquire(t.Context())
		require.ErrorIs(t, err, primitives.ErrUnavailable)
		s.faults(fault{})
	})
}

// TestAdmissionErrors: what cannot be acquired together sends nothing; of keys of another program and of several slots
// the error says which and what to do, and nothing is taken.
func TestAdmissionErrors(t *testing.T) {
	entering(t, func(t *testing.T, s *server, e *entry) {
		c := s.client(t, nil)
		user := c.NewThrottle("user", entryLimits[0], refuse)
		slots := func(name string, o primitives.CountingOrder) *primitives.CountingSemaphore {
			return c.NewCountingSemaphore(name, 1, &primitives.CountingSemaphoreOptions{Order: o})
		}
		for says, a := range map[string]*primitives.Admission{
			"slots: nil":                                primitives.NewAdmission(nil, user.Take(1)),
			"slots: the order is not ByTime":            primitives.NewAdmission(slots("x", primitives.ByArrival), user.Take(1)),
			"slots: of another client than the takes":   primitives.NewAdmission(e.slots, user.Take(1)),
			"takes: none":                               primitives.NewAdmission(slots("x", primitives.ByTime)),
			`takes: one has the semaphore's key "user"`: primitives.NewAdmission(slots("user", primitives.ByTime), user.Take(1)),
			"name: empty":                               primitives.NewAdmission(slots("", primitives.ByTime), user.Take(1)),
		} {
			_, err := a.TryAcquire(t.Context())
			require.EqualError(t, err, "acquire admission: "+says)
			require.ErrorAs(t, err, new(*primitives.FieldError))
			require.ErrorAs(t, a.Do(t.Context(), nil), new(*primitives.FieldError))
		}
		require.Zero(t, s.called("counting_admit"))
		for key, says := range map[string]string{
			"all": `acquire counting semaphore "x": acquire throttle "all": key is in use`,
			"x":   `acquire counting semaphore "x": key is in use`,
		} {
			s.do("SET", key, "text")
			_, err := e.TryAcquire(t.Context())
			require.ErrorIs(t, err, primitives.ErrConflict)
			require.ErrorContains(t, err, says)
			s.do("DEL", key)
			require.Zero(t, s.holding())
			require.Equal(t, []int{4, 10}, e.remaining(t))
		}
		s.faults(fault{err: backend.ErrCrossSlot})
		_, err := e.TryAcquire(t.Context())
		require.ErrorIs(t, err, backend.ErrCrossSlot)
		require.ErrorContains(t, err, backend.ErrCrossSlot.Error()+": give the names one hash tag")
		s.faults(fault{})
	})
}
