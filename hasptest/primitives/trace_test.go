package primitives_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// recorder is a tracer that keeps all that it gets.
type recorder struct {
	mu         sync.Mutex
	starts     []trace.AcquireStart
	ends       []trace.AcquireEnd
	leases     []trace.LeaseEnd
	renewals   []trace.Renewal
	gaps       []trace.SubscriptionGap
	mismatches []trace.Mismatch
	jobs       []trace.JobCompleted
	strangers  int // ends without the context of their start
}

type tracedKey struct{}

// tracer returns the tracer of all events.
func (r *recorder) tracer() *trace.Tracer {
	return &trace.Tracer{
		AcquireStart: r.acquireStart, AcquireEnd: r.acquireEnd,
		LeaseEnd:        func(data trace.LeaseEnd) { record(r, &r.leases, data) },
		Renewal:         func(data trace.Renewal) { record(r, &r.renewals, data) },
		SubscriptionGap: func(data trace.SubscriptionGap) { record(r, &r.gaps, data) },
		Mismatch:        func(data trace.Mismatch) { record(r, &r.mismatches, data) },
		JobCompleted:    func(data trace.JobCompleted) { record(r, &r.jobs, data) },
	}
}

func (r *recorder) acquireStart(ctx context.Context, data trace.AcquireStart) context.Context {
	record(r, &r.starts, data)
	return context.WithValue(ctx, tracedKey{}, data.Object)
}

func (r *recorder) acquireEnd(ctx context.Context, data trace.AcquireEnd) {
	record(r, &r.ends, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Value(tracedKey{}) != data.Object {
		r.strangers++
	}
}

func record[T any](r *recorder, to *[]T, data T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*to = append(*to, data)
}

// taken returns what was recorded, and forgets it.
func taken[T any](r *recorder, from *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := *from
	*from = nil
	return all
}

// oneEnd returns the end of the only acquire since the last call.
func (r *recorder) oneEnd(t *testing.T) trace.AcquireEnd {
	t.Helper()
	starts, ends := taken(r, &r.starts), taken(r, &r.ends)
	require.Len(t, ends, 1)
	require.Equal(t, []trace.AcquireStart{{Object: ends[0].Object, Try: ends[0].Try, Leased: ends[0].Leased}}, starts)
	require.Zero(t, r.strangers)
	return ends[0]
}

// traced calls test in virtual time, with a server that takes 10 ms for a round trip, and a client that is traced.
func traced(t *testing.T, test func(t *testing.T, s *server, c *primitives.Client, r *recorder)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := newServer(t), &recorder{}
		s.fault = func(string) fault { return fault{before: 4 * time.Millisecond, after: 6 * time.Millisecond} }
		test(t, s, s.client(t, &primitives.Options{Tracer: r.tracer()}), r)
	})
}

const roundTrip = 10 * time.Millisecond

// theLock is the object of most of these tests.
var theLock = trace.Object{Kind: "lock", Name: "x"}

// TestTracerOfFreeLock: one attempt, and no waiting but the round trip.
func TestTracerOfFreeLock(t *testing.T) {
	traced(t, func(t *testing.T, _ *server, c *primitives.Client, r *recorder) {
		lock := c.NewLock("x", nil)
		for _, try := range []bool{false, true} {
			acquire := lock.Lock
			if try {
				acquire = lock.TryLock
			}
			lease := must(acquire(t.Context()))(t)
			require.Equal(t, trace.AcquireEnd{
				Leased: true,
				Object: theLock, Try: try, Waited: roundTrip, Attempts: 1,
			}, r.oneEnd(t))
			require.NoError(t, lease.Release(t.Context()))
		}
	})
}

// TestTracerOfRefusal gives up: at once, and when its context ends.
func TestTracerOfRefusal(t *testing.T) {
	traced(t, func(t *testing.T, _ *server, c *primitives.Client, r *recorder) {
		lock := c.NewLock("x", nil)
		require.NoError(t, errOf(lock.Lock(t.Context())))
		r.oneEnd(t)

		require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)
		end := r.oneEnd(t)
		require.ErrorIs(t, end.Err, primitives.ErrNotAcquired)
		end.Err = nil
		require.Equal(t, trace.AcquireEnd{
			Leased: true,
			Object: theLock, Try: true, Waited: roundTrip, Attempts: 1, Contended: true,
		}, end)

		require.ErrorIs(t, errOf(lock.Lock(within(t, time.Second))), context.DeadlineExceeded)
		end = r.oneEnd(t)
		wraps(t, end.Err, context.DeadlineExceeded, primitives.ErrNotAcquired)
		require.True(t, end.Contended)
		require.Equal(t, time.Second, end.Waited)
	})
}

// TestTracerOfReentry: the server is not asked.
func TestTracerOfReentry(t *testing.T) {
	traced(t, func(t *testing.T, _ *server, c *primitives.Client, r *recorder) {
		lock := c.NewLock("x", nil)
		lease := must(lock.Lock(t.Context()))(t)
		r.oneEnd(t)
		inner := must(lock.Lock(lease.Reenter(t.Context())))(t)
		require.Equal(t, trace.AcquireEnd{Object: theLock, Leased: true}, r.oneEnd(t))

		require.ErrorIs(t, errOf(lock.Lock(lease.Context(t.Context()))), primitives.ErrSelfDeadlock)
		end := r.oneEnd(t)
		require.ErrorIs(t, end.Err, primitives.ErrSelfDeadlock)
		require.Zero(t, end.Attempts)

		require.NoError(t, lease.Release(t.Context()))
		require.Empty(t, taken(r, &r.leases), "the inner lease holds the lock")
		require.NoError(t, inner.Release(t.Context()))
		require.Len(t, taken(r, &r.leases), 1)
	})
}

// TestTracerOfNothing: calls that begin nothing are not reported.
func TestTracerOfNothing(t *testing.T) {
	traced(t, func(t *testing.T, _ *server, c *primitives.Client, r *recorder) {
		require.Error(t, errOf(c.NewLock("", nil).Lock(t.Context())))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, errOf(c.NewLock("x", nil).Lock(ended)), context.Canceled)
		require.NoError(t, c.Close(t.Context()))
		require.ErrorIs(t, errOf(c.NewLock("x", nil).Lock(t.Context())), primitives.ErrClosed)
		require.Empty(t, taken(r, &r.starts))
		require.Empty(t, taken(r, &r.ends))
	})
}

// TestTracerWithoutLeases: semaphores and rate limiters.
func TestTracerWithoutLeases(t *testing.T) {
	traced(t, func(t *testing.T, s *server, c *primitives.Client, r *recorder) {
		s.do("SET", "s", "1")
		s.limit("l", 1, time.Minute)
		semaphore, limiter := c.NewSemaphore("s", nil), c.NewRateLimiter("l", primitives.Rate{}, rateRefuse)
		for name, o := range map[string]struct {
			object  trace.Object
			acquire func(context.Context, int) error
			try     func(context.Context, int) error
		}{
			"Semaphore": {trace.Object{Kind: "semaphore", Name: "s"}, semaphore.Acquire, semaphore.TryAcquire},
			"RateLimiter": {trace.Object{Kind: "rate limiter", Name: "l"}, limiter.Wait, func(ctx context.Context, n int) error {
				return allowed(limiter.Allow(ctx, n))
			}},
		} {
			require.NoError(t, o.acquire(t.Context(), 1), name)
			require.Equal(t, trace.AcquireEnd{Object: o.object, Waited: roundTrip, Attempts: 1}, r.oneEnd(t))

			require.ErrorIs(t, o.try(t.Context(), 1), primitives.ErrNotAcquired, name)
			end := r.oneEnd(t)
			require.ErrorIs(t, end.Err, primitives.ErrNotAcquired, name)
			require.True(t, end.Try && end.Contended && end.Attempts == 1, name)

			require.ErrorIs(t, o.acquire(within(t, time.Second), 1), context.DeadlineExceeded, name)
			end = r.oneEnd(t)
			require.True(t, !end.Try && end.Contended && end.Waited == time.Second, name)
		}
	})
}

// TestTracerOfAJob: the tracer gets an event for the run that completes a period. It gets none if the run fails, if the
// period was completed before, if another has the job's lock, or if the record of the run has no answer.
func TestTracerOfAJob(t *testing.T) {
	traced(t, func(t *testing.T, s *server, c *primitives.Client, r *recorder) {
		job := c.NewPeriodicJob("report", time.Hour, nil)
		run := func(at time.Time, work jobWork) []trace.JobCompleted {
			runJob(t.Context(), at, work, job.Do)
			return taken(r, &r.jobs)
		}
		due := time.Now()
		require.Empty(t, run(due, func(context.Context) error { return context.Canceled }))
		want := trace.JobCompleted{Object: trace.Object{Kind: "periodic job", Name: "report"}, Period: due}
		require.Equal(t, []trace.JobCompleted{want}, run(due, noWork))
		require.Empty(t, run(due, noWork))
		time.Sleep(time.Hour)
		require.Empty(t, run(due.Add(time.Hour), func(context.Context) error { s.steal("report"); return nil }))
		s.lose("report")
		s.faultOf("periodic_complete", fault{broken: true})
		require.Empty(t, run(due.Add(time.Hour), noWork))
	})
}

// TestTracerGetsUTF8: names, policies and the texts of servers may be any bytes, but what tracers write is UTF-8. So all
// that a tracer of any event gets is.
func TestTracerGetsUTF8(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, seen := newServer(t), sync.Map{}
		note := func(data any) {
			kind := reflect.TypeOf(data).Name()
			if before, loaded := seen.LoadOrStore(kind, fmt.Sprintf("%+v", data)); loaded {
				seen.Store(kind, fmt.Sprintf("%s %+v", before, data))
			}
		}
		c := s.client(t, &primitives.Options{Tracer: &trace.Tracer{
			AcquireStart: func(ctx context.Context, data trace.AcquireStart) context.Context {
				note(data)
				return ctx
			},
			AcquireEnd: func(_ context.Context, data trace.AcquireEnd) { note(data) },
			LeaseEnd:   func(data trace.LeaseEnd) { note(data) }, Renewal: func(data trace.Renewal) { note(data) },
			SubscriptionGap: func(data trace.SubscriptionGap) { note(data) }, Mismatch: func(data trace.Mismatch) { note(data) },
			JobCompleted: func(data trace.JobCompleted) { note(data) }, Throttled: func(data trace.Throttled) { note(data) },
		}})
		runJob(t.Context(), time.Now(), noWork, c.NewPeriodicJob("j\xff", time.Hour, nil).Do)
		policy := &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Policy: "p\xff"}
		require.NoError(t, errOf(c.NewThrottle("t\xff", primitives.Limit{Permits: 1, Interval: time.Hour}, policy).Allow(t.Context(), 1)))
		object := c.Core().NewObject("rate limiter", "r\xff", "hash")
		object.ReportMismatch("Rate", "w\xff", "h\xff")
		lease, err := c.NewLock("l\xff", nil).Lock(t.Context())
		require.NoError(t, err)
		go func() { _, _ = c.NewLock("l\xff", nil).Lock(t.Context()) }()
		synctest.Wait()
		s.set(func() {
			for subscription := range s.handlers {
				go subscription.handler(backend.Event{Kind: backend.EventResubscribed})
			}
			s.fault = func(string) fault { return fault{err: &backend.ServerError{Code: "ERR", Message: "m\xff"}} }
		})
		time.Sleep(11 * time.Second)
		require.ErrorContains(t, errOf(c.NewLock("l\xff", nil).TryLock(t.Context())), "m\xff", "the caller gets what the server says")
		require.Error(t, lease.Release(t.Context()))
		s.set(func() { s.fault = nil })
		for _, kind := range []string{
			"AcquireStart", "AcquireEnd", "LeaseEnd", "Renewal", "SubscriptionGap", "Mismatch", "JobCompleted", "Throttled",
		} {
			text, _ := seen.Load(kind)
			require.Contains(t, text, "\uFFFD", kind)
			require.True(t, utf8.ValidString(text.(string)), "%s: %q", kind, text)
		}
	})
}

// TestTracerOfOneFunction: the start and the end of an acquire are reported without the other, too.
func TestTracerOfOneFunction(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var told []string
		for _, tracer := range []trace.Tracer{
			{AcquireStart: func(ctx context.Context, _ trace.AcquireStart) context.Context {
				told = append(told, "start")
				return ctx
			}},
			{AcquireEnd: func(context.Context, trace.AcquireEnd) { told = append(told, "end") }},
		} {
			lease := must(s.client(t, &primitives.Options{Tracer: &tracer}).NewLock("x", nil).Lock(t.Context()))(t)
			require.NoError(t, lease.Release(t.Context()))
		}
		require.Equal(t, []string{"start", "end"}, told)
	})
}
