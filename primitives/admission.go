package primitives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// errNotAdmitted is the refusal of an [Admission] whose caller waited.
var errNotAdmitted = worded.New("no slot is free, or too few permits are", ErrNotAcquired)

// AdmissionError is the error of a TryAcquire of an [Admission] that was refused. It wraps [ErrNotAcquired].
type AdmissionError struct {
	// Full says that no slot of the semaphore is free.
	Full bool

	// Throttle is the throttle that has too few permits, of several the one with the longest wait. Nil if each has enough.
	Throttle *Throttle

	// RetryIn is the time until each throttle has enough permits, if nobody takes any before. Zero if each has.
	RetryIn time.Duration

	each []Decision // of the throttles
}

// Error says what is not free.
func (e *AdmissionError) Error() string {
	if e.Throttle == nil {
		return errNoSlot.Error()
	}
	text := fmt.Sprintf("too few permits of %s %q for another %s", throttleKind, e.Throttle.Name(), e.RetryIn)
	if e.Full {
		return errNoSlot.Error() + ", and " + text
	}
	return text
}

// Unwrap returns [ErrNotAcquired].
func (e *AdmissionError) Unwrap() error { return ErrNotAcquired }

// Admission limits both how many callers work at a time and how often they begin: a caller is admitted if a slot of a
// [CountingSemaphore] and permits of one [Throttle] or several are free. It takes all of them or none, in one round
// trip. An example is a service that allows 100 requests a minute, and 5 at a time.
//
// # Leases
//
// The [Lease] is one of the semaphore. Its end frees the slot, even if the holder crashes. The permits stay in use
// until the rates free them. Under a [Lease.Reenter] context, Acquire returns another lease of the same hold, and takes
// nothing.
//
// Callers may also acquire the semaphore alone, or take permits of a throttle alone, and Admissions may overlap. An
// Admission has no key of its own, and needs the permissions of its semaphore and of its throttles. In a cluster their
// keys must share a slot: give the names one hash tag, such as {api}. Otherwise the methods return
// [backend.ErrCrossSlot].
//
// # Waiting
//
// A release wakes a waiter of each client. If permits are missing, it tries again when the rates have freed
// them, by the server's time, at most 2 ms later. Waiters have no order.
//
// # Failures
//
// After an error the caller holds no slot: the client releases a possible grant in the background. A refusal takes no
// permits. But those of a grant that is not returned stay in use until the rates free them: after [ErrIndeterminate],
// [ErrLost] or [ErrReplicas], if ctx ended before the answer, and of each owner as which Acquire has tried before, as
// [CountingSemaphore.Acquire] does. A slot cannot be granted locally: while the server is away, Acquire returns the
// error, whatever [ThrottleOptions] says.
//
// An Admission is safe for concurrent use.
//
// Source: Redisson has none. It computes as a CountingSemaphore and a Throttle do.
type Admission struct {
	slots  *CountingSemaphore
	rates  *MultiThrottle
	leases extend.Leases
	checked
}

// NewAdmission returns what admits callers to slots at the rate of the takes. It sends nothing. The methods return a
// [*FieldError] if slots is nil, invalid, of another client, or [ByArrival], whose waiters would block each other; and
// for takes for which [NewMultiThrottle] says so.
func NewAdmission(slots *CountingSemaphore, takes ...Take) *Admission {
	a := &Admission{slots: slots, rates: NewMultiThrottle(nil, takes...)}
	if a.invalid = a.check(); a.invalid != nil {
		return a
	}
	wait := slots.waitByTime()
	wait.Condition, wait.Refusal = wait.Condition+a.rates.want.Condition, errNotAdmitted
	a.leases, a.invalid = slots.base.NewLeases(extend.LeaseConfig{
		Leasable: (*leasableAdmission)(a), Try: triedAdmission{(*leasableAdmission)(a)},
		Kind: takes[0].throttle.client.leaseKind(countingScripts), Wait: wait, Lease: slots.lease,
	})
	return a
}

func (a *Admission) check() error {
	switch {
	case a.slots == nil:
		return &FieldError{Field: "slots", Problem: "nil"}
	case a.slots.invalid != nil:
		return a.slots.invalid
	case a.slots.queueKey != "":
		return &FieldError{Field: "slots", Problem: "the order is not ByTime"}
	case a.rates.invalid != nil:
		return a.rates.invalid
	case a.slots.base.Core() != a.rates.base.Core():
		return &FieldError{Field: "slots", Problem: "of another client than the takes"}
	}
	for _, key := range a.rates.steps[0].keys {
		if key == a.slots.base.Key() {
			return &FieldError{Field: "takes", Problem: fmt.Sprintf("one has the semaphore's key %q", key)}
		}
	}
	return nil
}

// Acquire waits until it has a slot and the permits, ctx ends, the client is closed or the backend fails. If they are
// free, it takes one round trip. Otherwise it waits as [CountingSemaphore.Acquire] does, whose errors it returns.
func (a *Admission) Acquire(ctx context.Context) (*Lease, error) {
	return a.call(ctx, a.leases.Acquire)
}

// TryAcquire is Acquire without waiting: if Acquire would wait, it returns an [*AdmissionError], which says what is not
// free. Then nothing was taken.
func (a *Admission) TryAcquire(ctx context.Context) (*Lease, error) {
	return a.call(ctx, a.leases.TryAcquire)
}

// Do is [CountingSemaphore.Do] for a caller that is admitted.
func (a *Admission) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, a.Acquire, work)
}

func (a *Admission) call(ctx context.Context, acquire func(context.Context) (*Lease, error)) (*Lease, error) {
	if a.invalid != nil {
		return nil, fmt.Errorf("acquire admission: %w", a.invalid)
	}
	l, err := extend.Call(ctx, &a.slots.base, nil, "acquire", func() (*Lease, error) {
		l, err := acquire(ctx)
		a.report(ctx, l, err)
		return l, err
	})
	return l, a.rates.explain(ctx, &a.slots.base, err, "")
}

// report reports what the throttles have decided, unless ctx re-enters the lease, or the caller was refused for lack of a
// slot alone.
func (a *Admission) report(ctx context.Context, l *Lease, err error) {
	all := &multiThrottleAttempt{MultiThrottle: a.rates}
	var refused *AdmissionError
	switch {
	case errors.As(err, &refused):
		if refused.Throttle == nil {
			return
		}
		all.each, err = refused.each, nil
	case err == nil && l.Owner() == a.slots.base.Holder(ctx):
		return
	case err == nil:
		all.each = slices.Repeat([]Decision{{Allowed: true}}, len(a.rates.takes))
	}
	all.report(ctx, err)
}

// leasableAdmission acquires a slot and permits, and releases the slot.
type leasableAdmission Admission

func (a *leasableAdmission) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	token, answer, _, err := a.try(ctx, r, owner, lease)
	return token, answer, err
}

func (a *leasableAdmission) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return (*leasableByTime)(a.slots).Release(ctx, r, owner)
}

// try runs the script once, and says what is not free.
func (a *leasableAdmission) try(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, *AdmissionError, error) {
	s, rates := a.slots, a.rates.steps[0]
	got, err := script.CountingAdmit(ctx, r, script.CountingAdmitParams{
		Semaphore: s.base.Key(), Owner: owner, Limit: s.limit, Lease: lease, Publish: s.publish(), Released: s.channel,
		Throttles: rates.keys, Takes: rates.takes, Permits: rates.permits, Intervals: rates.intervals, Bursts: rates.bursts,
	})
	if err != nil {
		return 0, extend.Answer{}, nil, err
	}
	all := &multiThrottleAttempt{MultiThrottle: a.rates, each: make([]Decision, len(a.rates.takes))}
	rates.note(all.each, got.Remaining, got.Retry, got.Reset)
	answer := extend.Answer{Granted: got.GrantOK, RetryIn: max(got.Wait, all.freeIn(1), time.Millisecond)}
	if !answer.Granted {
		d, refused := all.decision(), &AdmissionError{Full: got.Free == 0, each: all.each}
		if !d.Allowed {
			refused.Throttle, refused.RetryIn = d.Throttle, d.RetryAfter
		}
		return 0, answer, refused, nil
	}
	answer.Free = int(got.Free)
	for i, n := range got.Remaining {
		answer.Free = min(answer.Free, int(n/rates.takes[i]))
	}
	if answer.Free > 0 {
		answer.RetryIn = 0 // The waiters that are woken now know more.
	}
	return got.Grant, answer, nil, nil
}

// triedAdmission is a leasableAdmission whose refusal says what is not free.
type triedAdmission struct{ *leasableAdmission }

// Acquire implements [extend.Leasable].
func (a triedAdmission) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	token, answer, refused, err := a.try(ctx, r, owner, lease)
	if refused != nil {
		err = refused
	}
	return token, answer, err
}
