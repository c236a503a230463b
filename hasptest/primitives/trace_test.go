package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	mu     sync.Mutex
	events []any
}

type tracedKey struct{}

// tracer returns the tracer of all events. An acquire ends in the context of its start.
func (r *recorder) tracer() *trace.Tracer {
	return &trace.Tracer{
		AcquireStart: func(ctx context.Context, data trace.AcquireStart) context.Context {
			r.note(data)
			return context.WithValue(ctx, tracedKey{}, data.Object)
		},
		AcquireEnd: func(ctx context.Context, data trace.AcquireEnd) {
			r.note(data)
			if ctx.Value(tracedKey{}) != data.Object {
				r.note("in another context")
			}
		},
		LeaseEnd:        func(data trace.LeaseEnd) { r.note(data) },
		Renewal:         func(data trace.Renewal) { r.note(data) },
		SubscriptionGap: func(data trace.SubscriptionGap) { r.note(data) },
		Mismatch:        func(data trace.Mismatch) { r.note(data) },
		JobCompleted:    func(data trace.JobCompleted) { r.note(data) },
		Throttled:       func(data trace.Throttled) { r.note(data) },
	}
}

func (r *recorder) note(data any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, data)
}

// taken returns what was recorded of a type, and forgets all.
func taken[T any](r *recorder) (all []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if data, is := event.(T); is {
			all = append(all, data)
		}
	}
	r.events = nil
	return all
}

// texts returns what was recorded, but for the starts of acquires, and forgets it. Each end of an acquire has its start.
func (r *recorder) texts() (all []string) {
	started := map[trace.AcquireStart]int{}
	for _, event := range taken[any](r) {
		switch e := event.(type) {
		case trace.AcquireStart:
			started[e]++
			continue
		case trace.AcquireEnd:
			start := trace.AcquireStart{Object: e.Object, Try: e.Try, Leased: e.Leased}
			if started[start]--; started[start] < 0 {
				all = append(all, "not started")
			}
		}
		all = append(all, textOf(event))
	}
	return all
}

// textOf returns an event in words. A time of more than five seconds is rounded, since renewals are a little early.
func textOf(event any) string {
	switch e := event.(type) {
	case trace.AcquireEnd:
		return fmt.Sprint(e.Object.Kind, " ", e.Object.Name, when(e.Try, " try"), when(e.Leased, " leased"), " ", e.Waited,
			" by ", e.Attempts, when(e.Contended, " contended"), wrapped(e.Err))
	case trace.LeaseEnd:
		if e.Held > 5*time.Second {
			e.Held = e.Held.Round(5 * time.Second)
		}
		return fmt.Sprint("end of ", e.Object.Kind, " ", e.Object.Name, " after ", e.Held, wrapped(e.Cause), when(e.Err != nil, " by"), wrapped(e.Err))
	case trace.Renewal:
		return fmt.Sprint("renewal of ", e.Leases, " in ", e.Took, when(e.Failed > 0, fmt.Sprint(" failed ", e.Failed)), wrapped(e.Err))
	case trace.SubscriptionGap:
		return fmt.Sprint("gap of ", e.Channel, wrapped(e.Err))
	case trace.Throttled:
		return fmt.Sprint(e.Policy, " ", e.Object.Name, " ", e.Outcome(), when(e.Local, " locally"), wrapped(e.Err))
	}
	return fmt.Sprint(event)
}

func when(is bool, text string) string { return map[bool]string{true: text}[is] }

// wrapped returns the names of what an error wraps.
func wrapped(err error) (names string) {
	for _, e := range []struct {
		name string
		is   error
	}{
		{" NotAcquired", primitives.ErrNotAcquired}, {" Lost", primitives.ErrLost}, {" NotHeld", primitives.ErrNotHeld},
		{" Released", primitives.ErrReleased}, {" Closed", primitives.ErrClosed}, {" Indeterminate", primitives.ErrIndeterminate},
		{" SelfDeadlock", primitives.ErrSelfDeadlock}, {" Unavailable", primitives.ErrUnavailable}, {" Conflict", primitives.ErrConflict},
		{" NoPermission", primitives.ErrNoPermission}, {" DeadlineExceeded", context.DeadlineExceeded}, {" reset", errReset},
	} {
		if errors.Is(err, e.is) {
			names += e.name
		}
	}
	if err != nil && names == "" {
		names = " " + err.Error()
	}
	return names
}

// tracedLock is a client with a tracer, which holds the lock x by the lease.
type tracedLock struct {
	*testing.T
	*server
	c     *primitives.Client
	r     *recorder
	lease *primitives.Lease
}

// tracedCalls have what a tracer gets of a call, and of what follows.
var tracedCalls = map[string]struct {
	call func(l tracedLock)
	want []string
}{
	"Free": {func(l tracedLock) {
		require.NoError(l, errOf(l.c.NewLock("y", nil).Lock(l.Context())))
		require.NoError(l, errOf(l.c.NewLock("z", nil).TryLock(l.Context())))
	}, []string{"lock y leased 10ms by 1", "lock z try leased 10ms by 1"}},
	"Refused": {func(l tracedLock) {
		require.Error(l, errOf(l.c.NewLock("x", nil).TryLock(l.Context())))
	}, []string{"lock x try leased 10ms by 1 contended NotAcquired"}},
	"Waited": {func(l tracedLock) {
		require.Error(l, errOf(l.c.NewLock("x", nil).Lock(within(l.T, time.Second))))
	}, []string{"lock x leased 1s by 3 contended NotAcquired DeadlineExceeded"}},
	"Reentered": {func(l tracedLock) {
		inner := must(l.c.NewLock("x", nil).Lock(l.lease.Reenter(l.Context())))(l)
		require.NoError(l, l.lease.Release(l.Context())) // The inner lease holds the lock.
		time.Sleep(time.Second)
		require.NoError(l, inner.Release(l.Context()))
	}, []string{"lock x leased 0s by 0", "end of lock x after 1s Released"}},
	"SelfDeadlock": {func(l tracedLock) {
		require.Error(l, errOf(l.c.NewLock("x", nil).Lock(l.lease.Context(l.Context()))))
	}, []string{"lock x leased 0s by 0 SelfDeadlock"}},
	"NothingBegins": {func(l tracedLock) {
		require.Error(l, errOf(l.c.NewLock("", nil).Lock(l.Context())))
		require.Error(l, errOf(l.c.NewLock("x", nil).Lock(within(l.T, 0))))
	}, nil},
	"Closed": {func(l tracedLock) {
		time.Sleep(time.Second)
		require.NoError(l, l.c.Close(l.Context()))
		require.Error(l, l.lease.Release(l.Context()))
		require.Error(l, errOf(l.c.NewLock("x", nil).Lock(l.Context())))
	}, []string{"end of lock x after 1s Closed"}},
	"Semaphore": {func(l tracedLock) {
		l.do("SET", "s", "1")
		semaphore := l.c.NewSemaphore("s", nil)
		l.acquires(semaphore.Acquire, semaphore.TryAcquire)
	}, []string{"semaphore s 10ms by 1", "semaphore s try 10ms by 1 contended NotAcquired", "semaphore s 1s by 3 contended NotAcquired DeadlineExceeded"}},
	"RateLimiter": {func(l tracedLock) {
		l.limit("l", 1, time.Minute)
		limiter := l.c.NewRateLimiter("l", primitives.Rate{}, rateRefuse)
		l.acquires(limiter.Wait, func(ctx context.Context, n int) error { return allowed(limiter.Allow(ctx, n)) })
	}, []string{
		"rate limiter l 10ms by 1", " l allowed", "rate limiter l try 10ms by 1 contended NotAcquired", " l refused",
		"rate limiter l 1s by 3 contended NotAcquired DeadlineExceeded",
	}},
	"Released": {func(l tracedLock) {
		time.Sleep(time.Minute)
		require.NoError(l, l.lease.Release(l.Context()))
		require.Error(l, l.lease.Release(l.Context()))
		l.lease.Forget()
	}, []string{"end of lock x after 1m0s Released"}},
	"Forgotten": {func(l tracedLock) {
		time.Sleep(time.Second)
		l.lease.Forget()
		l.lease.Forget()
	}, []string{"end of lock x after 1s Released"}},
	"LostByTheClock": {func(l tracedLock) {
		l.faultOf("lock_renew", fault{lost: true})
		<-l.lease.Done()
		require.ErrorIs(l, l.lease.Release(l.Context()), primitives.ErrLost)
	}, []string{"end of lock x after 25s Lost"}},
	"LostOnTheServer": {func(l tracedLock) {
		l.lose("x")
		<-l.lease.Done()
		require.ErrorIs(l, l.lease.Release(l.Context()), primitives.ErrLost)
	}, []string{"end of lock x after 10s Lost"}},
	"LostAtRelease": {func(l tracedLock) {
		time.Sleep(time.Second)
		l.lose("x")
		require.ErrorIs(l, l.lease.Release(l.Context()), primitives.ErrLost)
	}, []string{"end of lock x after 1s Lost by Lost NotHeld"}},
	"Unanswered": {func(l tracedLock) {
		time.Sleep(time.Second)
		l.faultOf("lock_release", fault{broken: true})
		require.ErrorIs(l, l.lease.Release(l.Context()), primitives.ErrIndeterminate)
	}, []string{"end of lock x after 1s Released by Indeterminate"}},
	"Gap": {func(l tracedLock) {
		go l.c.NewLock("x", nil).Lock(l.Context())
		time.Sleep(time.Second)
		l.gap()
	}, []string{"gap of redisson_lock__channel:{x}"}},
	"RefusedSubscription": {func(l tracedLock) {
		refused := l.over(l.T, refusingSubscriber{l.server}, &primitives.Options{Tracer: l.r.tracer()})
		go refused.NewLock("x", nil).Lock(l.Context())
		time.Sleep(100 * time.Millisecond)
	}, []string{"gap of redisson_lock__channel:{x} NoPermission"}},
	"Renewals": {func(l tracedLock) {
		require.NoError(l, errOf(l.c.NewLock("y", nil).Lock(l.Context())))
		time.Sleep(11 * time.Second)
		l.faults(fault{err: errReset})
		time.Sleep(10 * time.Second)
		l.faults(fault{})
		time.Sleep(5 * time.Second)
	}, []string{"lock y leased 10ms by 1", "renewal of 2 in 10ms", "renewal of 2 in 0s failed 2 reset", "renewal of 2 in 0s"}},
	"PeriodicJob": {func(l tracedLock) {
		job, due := l.c.NewPeriodicJob("job", time.Hour, nil), time.Now()
		runJob(l.Context(), due, func(context.Context) error { return errReset }, job.Do)
		runJob(l.Context(), due, noWork, job.Do)
		runJob(l.Context(), due, noWork, job.Do)
		require.Equal(l, []trace.JobCompleted{{Object: trace.Object{Kind: "periodic job", Name: "job"}, Period: due}}, taken[trace.JobCompleted](l.r))
		time.Sleep(time.Hour)
		runJob(l.Context(), due.Add(time.Hour), func(context.Context) error { l.steal("job"); return nil }, job.Do)
		l.lose("job")
		l.faultOf("periodic_complete", fault{broken: true})
		runJob(l.Context(), due.Add(time.Hour), noWork, job.Do)
		require.Empty(l, taken[trace.JobCompleted](l.r))
	}, nil},
}

// acquires takes the only permit. Then it tries once, and waits for a second, and gets none.
func (l tracedLock) acquires(acquire, try func(ctx context.Context, n int) error) {
	l.Helper()
	require.NoError(l, acquire(l.Context(), 1))
	require.Error(l, try(l.Context(), 1))
	require.Error(l, acquire(within(l.T, time.Second), 1))
}

// TestTracer compares what a tracer gets. Each acquire ends once, and so does each lease.
func TestTracer(t *testing.T) {
	t.Parallel()
	for name, c := range tracedCalls {
		subtest(t, name, func(t *testing.T, s *server) {
			l := tracedLock{T: t, server: s, r: &recorder{}}
			s.faults(fault{before: 4 * time.Millisecond, after: 6 * time.Millisecond})
			l.c = s.client(t, &primitives.Options{Tracer: l.r.tracer()})
			l.lease = must(l.c.NewLock("x", nil).Lock(t.Context()))(t)
			l.r.texts()
			c.call(l)
			synctest.Wait()
			got := l.r.texts()
			if l.lease.Err() != nil {
				time.Sleep(time.Hour)
				got = append(got, l.r.texts()...)
			}
			if name == "Renewals" { // Those that fail are repeated.
				got = slices.Compact(got)
			} else {
				got = slices.DeleteFunc(got, func(text string) bool { return strings.HasPrefix(text, "renewal") })
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestTracerGetsUTF8: names, policies and the texts of servers may be any bytes, but what tracers write is UTF-8. So all
// that a tracer of any event gets is.
func TestTracerGetsUTF8(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := &recorder{}
		c := s.client(t, &primitives.Options{Tracer: r.tracer()})
		runJob(t.Context(), time.Now(), noWork, c.NewPeriodicJob("j\xff", time.Hour, nil).Do)
		policy := &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Policy: "p\xff"}
		require.NoError(t, errOf(c.NewThrottle("t\xff", primitives.Limit{Permits: 1, Interval: time.Hour}, policy).Allow(t.Context(), 1)))
		object := c.Core().NewObject("rate limiter", "r\xff", "hash")
		object.ReportMismatch("Rate", "w\xff", "h\xff")
		lease := must(c.NewLock("l\xff", nil).Lock(t.Context()))(t)
		go c.NewLock("l\xff", nil).Lock(t.Context())
		synctest.Wait()
		s.gap()
		s.faults(fault{err: &backend.ServerError{Code: "ERR", Message: "m\xff"}})
		time.Sleep(11 * time.Second)
		require.ErrorContains(t, errOf(c.NewLock("l\xff", nil).TryLock(t.Context())), "m\xff", "the caller gets what the server says")
		require.Error(t, lease.Release(t.Context()))
		s.faults(fault{})
		seen := map[string]string{}
		for _, event := range taken[any](r) {
			seen[reflect.TypeOf(event).Name()] += fmt.Sprintf("%+v ", event)
		}
		require.Len(t, seen, reflect.TypeFor[trace.Tracer]().NumField())
		for kind, text := range seen {
			require.Contains(t, text, "\uFFFD", kind)
			require.True(t, utf8.ValidString(text), "%s: %q", kind, text)
		}
	})
}
