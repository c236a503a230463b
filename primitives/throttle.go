package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/limits"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// Throttle bounds how often processes do something, as [RateLimiter] does, and differs in three ways: permits become
// free one after the other, and not all at once; callers may take a burst of permits, and at other times less than the
// rate; and the server keeps one short text for a name, whatever the rate, instead of an entry for each permit.
//
// # The rate
//
// A permit that was taken is in use until the rate has freed it. The rate frees one permit after the other, at equal
// distances of Interval/Permits, and callers can take permits while no more than Burst are in use. So in k intervals,
// whenever they begin, at most k × Permits + Burst permits are granted, exactly: Permits need not divide the interval.
// This is the generic cell rate algorithm.
//
// The limit is each caller's, and the server does not store it. Callers of one name should have the same limit. After a
// change of the limit, permits stay in use for as long as the rate of their grant needs to free them.
//
// docs/operate/deploy.md has what happens when the server's clock is set. A server that loses data, for example in a
// failover, grants at most one burst more.
//
// # Waiting
//
// Wait takes permits only when they are granted: a waiter that leaves between two tries has taken none. The waiters of
// one client go on in the order in which they came, each at the time that the server has said. The order begins when
// the server's first refusal has come: callers that ask before may pass each other. Waiters do not poll, and a grant
// costs one command. Waiters of several clients have no order, and Allow does not wait for waiters.
//
// If the rate frees more permits in a round trip than Burst, less one, the waiters of one client get less than the
// rate. So with Burst 1 they lose part of it on any link, since a grant begins the time of the next permit: take 2.
//
// # Failures
//
// After an error no permit is taken, with one exception: after [ErrIndeterminate] the permits may be in use. No request
// is sent twice. What a call does while the server is away is a choice without a default:
// [ThrottleOptions].Unavailable.
//
// A Throttle is a name, not a resource, and safe for concurrent use.
//
// Source: the generic cell rate algorithm, as of Redis Cell's CL.THROTTLE, whose name it has. Redisson has none: its
// rate limiter is [RateLimiter]. A text at the name: when permits were last granted, and how long the permits that were
// in use then stay in use.
type Throttle struct {
	limiter
	limit Limit
	opts  ThrottleOptions
	want  extend.WaitSpec // of one permit
}

// ThrottleOptions configure a [Throttle]. Unavailable must be set. The zero value of each other field means its default.
type ThrottleOptions struct {
	// Unavailable says what Allow, AllowEstimate and Wait do while the server is away: [Refuse], [Admit] or [LocalShare]. A Wait
	// that the server has once refused waits on. Other methods return the error. It has no default.
	Unavailable Fallback

	// Timeout is how long a call waits for the server's answer. Zero means 1 s. A call whose context is cancelled while the
	// server is silent may wait for as long, too; it ends at its context's deadline.
	Timeout time.Duration

	// Debt is how many permits beyond the burst [Estimate.Settle] charges: until the rate has freed them, too, no
	// permit is free. 0 to 10 000 000. To free the burst and the debt must take at most 3 years of 365 days.
	Debt int

	// RefuseLocally says that the client repeats the server's refusals without asking again: of Allow, AllowEstimate and
	// MultiThrottle.Allow, for the same name and limit, and at least as many permits. It does so until RetryAfter has
	// passed, for at most a second, or until this client deletes the throttle, settles with fewer permits, or uses
	// another limit. Meanwhile a change by another process has no effect. A repeated RetryAfter does not count permits
	// that were granted since, so it may be too short: then the server refuses again. The client remembers some thousand
	// names, those that were last refused. It is for callers that do not wait for RetryAfter, and would load the server.
	RefuseLocally bool

	// Policy names the limit in metrics, which count decisions by it: see [trace.Throttled]. It is a constant, such as
	// "for a user", and never a name or a key: for each Policy a metric needs memory for ever. The throttles of a
	// MultiThrottle may have different ones.
	Policy string

	_ struct{}
}

// NewThrottle returns the throttle called name. It sends nothing. The methods return a [*FieldError] for an empty name,
// a limit out of its bounds, an invalid option, or options without Unavailable.
func (c *Client) NewThrottle(name string, limit Limit, opts *ThrottleOptions) *Throttle {
	if limit.Burst == 0 {
		limit.Burst = limit.Permits
	}
	t := &Throttle{limiter: limiter{object: c.newKey(throttleKind, name, throttleType), client: c}, limit: limit}
	t.reject(limit.validate())
	t.opts = *cmp.Or(opts, new(ThrottleOptions))
	t.choose(t.opts.Unavailable, t.opts.Timeout, t.opts.Policy)
	t.reject(within("Debt", t.opts.Debt, 0, maxThrottlePermits))
	t.reject(limit.endsInTime("Debt", limit.Burst+t.opts.Debt))
	t.pace = limits.PaceOf(limit.Permits, limit.Interval, limit.Burst)
	t.want = extend.WaitSpec{
		Condition: throttleKind, Refusal: errTooFewPermits, Backoff: extend.Backoff{First: time.Hour, Most: time.Hour},
	}
	return t
}

const (
	throttleKind = "throttle"
	throttleType = "string"
)

// Allow takes n permits, at least 1, if they are free. It takes one round trip and does not wait. A refusal is no
// error: it takes nothing, and the Decision says when to try again. Allow returns [ErrAboveRate] if n is more than
// the burst.
func (t *Throttle) Allow(ctx context.Context, n int) (Decision, error) {
	a, err := t.allow(ctx, n)
	return a.decision, err
}

// allow is Allow, and returns the attempt.
func (t *Throttle) allow(ctx context.Context, n int) (throttleAttempt, error) {
	return extend.Call(ctx, &t.base, t.validateCount(n), "acquire", func() (throttleAttempt, error) {
		a := throttleAttempt{Throttle: t, taking: taking{n: n}}
		err := try(ctx, &t.base, (*throttleTry)(&a))
		if !a.repeated {
			_, err = t.fallBack(ctx, &a.taking, err)
		}
		t.report(ctx, a.decision, err)
		return a, err
	})
}

// Wait takes n permits, at least 1. If they are free, and no other goroutine of the client waits for the throttle, it
// takes one round trip. Otherwise it waits until they are, ctx ends, the client is closed or the backend fails. If the
// server has once answered that too few permits are free, Wait waits even while no server can be reached. It returns
// [ErrAboveRate] if n is more than the burst.
func (t *Throttle) Wait(ctx context.Context, n int) error {
	return t.do(ctx, t.validateCount(n), "acquire", func() error {
		a, want := &throttleAttempt{Throttle: t, taking: taking{n: n}}, t.want
		want.Need, want.InOrder = n, a.freeIn
		return t.wait(ctx, want, a, &a.taking)
	})
}

// State returns how many permits are free, and when more are. It takes none.
func (t *Throttle) State(ctx context.Context) (Decision, error) {
	return extend.Call(ctx, &t.base, t.invalid, "query", func() (Decision, error) {
		permits, interval, burst := t.limit.args()
		found, err := script.ThrottleState(ctx, t.runner, []string{t.base.Key()}, permits, interval, burst)
		if err != nil {
			return Decision{}, queryError(ctx, err)
		}
		return t.limit.decided(1, found.Retry[0] == 0, found.Remaining[0], found.Retry[0], found.Reset[0]), nil
	})
}

// Delete makes all permits free, and reports whether some were in use. It also deletes another program's text. Waiters go
// on at the times that the server has said before.
func (t *Throttle) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &t.base, t.invalid, "delete", func() (bool, error) {
		defer t.client.localRefusals.end(t)
		return script.ObjectDelete(ctx, t.base.Runner(), t.base.Key(), nil, throttleType)
	})
}

func (t *Throttle) validateCount(n int) error {
	if t.invalid != nil {
		return t.invalid
	}
	if n > t.limit.Burst {
		return worded.New(fmt.Sprintf("%d permits are more than the burst, %d", n, t.limit.Burst), ErrAboveRate)
	}
	return countWithin("n", n, 1)
}

// throttleAttempt is one attempt to take permits.
type throttleAttempt struct {
	*Throttle
	taking
	granted  int64 // the server's time, in microseconds
	repeated bool  // the client has repeated a refusal
}

func (a *throttleAttempt) Try(ctx context.Context) (extend.Answer, error) {
	l := a.limit
	got, err := script.ThrottleTake(ctx, a.runner, a.base.Key(),
		int64(a.n), int64(l.Permits), l.Interval.Microseconds(), int64(l.Burst))
	if err != nil {
		return extend.Answer{}, err
	}
	a.granted = got.Now
	a.decision = l.decided(a.n, got.Taken, got.Remaining, got.Retry, got.Reset)
	return extend.Answer{Granted: got.Taken, RetryIn: a.decision.RetryAfter}, nil
}

// throttleTry is a throttleAttempt that does not wait: the client may repeat a refusal.
type throttleTry throttleAttempt

func (a *throttleTry) Try(ctx context.Context) (extend.Answer, error) {
	ask, refusals := (*throttleAttempt)(a), &a.client.localRefusals
	if !a.opts.RefuseLocally {
		return ask.Try(ctx)
	}
	takes := []Take{a.Take(a.n)}
	each, ended := refusals.ask(takes)
	if each != nil {
		a.decision, a.repeated = each[0], true
		return extend.Answer{}, nil
	}
	answer, err := ask.Try(ctx)
	if err == nil {
		refusals.note(takes, []Decision{a.decision}, ended)
	}
	return answer, err
}

// freeIn returns how long after the last answer n permits are free. It is an [extend.WaitSpec].InOrder.
func (a *throttleAttempt) freeIn(n int) time.Duration { return a.limit.freeIn(n, a.decision) }

// ThrottleStates returns the [Throttle.State] of each of the throttles, in their order. It sends one command, in a
// cluster one for each slot, all at once, and waits for the answers as long as the first throttle's Timeout says. A
// server does nothing else while it runs a command: for 1 000 names that is about 10 ms. If one command fails,
// ThrottleStates returns its error, and no states. It returns a [*FieldError] if a throttle is nil, invalid, or of
// another client.
func (c *Client) ThrottleStates(ctx context.Context, throttles ...*Throttle) ([]Decision, error) {
	if len(throttles) == 0 {
		return nil, nil
	}
	takes := make([]Take, len(throttles))
	for i, t := range throttles {
		if t == nil || t.base.Core() != c.core {
			return nil, &FieldError{Field: "throttles", Problem: fmt.Sprintf("number %d is nil or of another client", i+1)}
		}
		if t.invalid != nil {
			return nil, fmt.Errorf("query %s %q: %w", throttleKind, t.Name(), t.invalid)
		}
		takes[i] = t.Take(1)
	}
	return queryStates(ctx, throttles, takes)
}

// queryStates returns the states of throttles of one client. It names the throttle that a server's error is about.
func queryStates(ctx context.Context, throttles []*Throttle, takes []Take) ([]Decision, error) {
	first, each := throttles[0], make([]Decision, len(throttles))
	names := fmt.Sprintf("%s and %d others", first.Name(), len(throttles)-1)
	all := first.base.Core().NewObject("throttles", names, throttleType)
	each, err := extend.Call(ctx, &all, nil, "query", func() ([]Decision, error) {
		err := noteStates(ctx, first.runner, throttleSteps(false, takes), each)
		if errors.Is(err, backend.ErrCrossSlot) {
			err = noteStates(ctx, first.runner, throttleSteps(true, takes), each)
		}
		return each, queryError(ctx, err)
	})
	if !errors.As(err, new(*backend.ServerError)) {
		return each, err
	}
	for _, t := range throttles {
		if _, named := t.State(ctx); named != nil {
			return nil, named
		}
	}
	return nil, err
}

// noteStates runs the steps at once, and notes the states.
func noteStates(ctx context.Context, run backend.ScriptRunner, steps []throttleStep, each []Decision) error {
	return cmp.Or(leases.Each(len(steps), func(i int) error {
		s := steps[i]
		found, err := script.ThrottleState(ctx, run, s.keys, s.permits, s.intervals, s.bursts)
		if err == nil {
			s.note(each, found.Remaining, found.Retry, found.Reset)
		}
		return err
	})...)
}
