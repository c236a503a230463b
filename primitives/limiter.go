package primitives

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
	"github.com/hasp-go/hasp/primitives/trace"
)

// Decision is the answer of a limit: a [RateLimiter], a [Throttle] or a [MultiThrottle].
type Decision struct {
	// Allowed says that the permits were taken. From State: that a permit is free.
	Allowed bool

	// Remaining is the number of permits that are free now, after the grant.
	Remaining int

	// RetryAfter is the time until the permits that the caller wants are free, if nobody takes any before. Zero
	// if Allowed. From State: until a permit is free.
	RetryAfter time.Duration

	// NextAfter is RetryAfter after a grant, too: the time until as many permits are free again. Zero if they are now.
	NextAfter time.Duration

	// ResetAfter is the time until no permit is in use, if nobody takes any before. A RateLimiter's may be longer than
	// that: it is the whole interval while a permit is in use. If NewRateLimiter has got no Rate, Allow does not know the
	// interval, and it is NextAfter.
	ResetAfter time.Duration

	// Local says that the server has not decided, and that the option Unavailable has. Then Remaining and ResetAfter
	// are 0. A refusal that the client repeats by [ThrottleOptions].RefuseLocally is not Local, since the server has
	// decided: Remaining is as the server has said, and the times are what is left of them.
	Local bool
}

// limiter is what a [RateLimiter] and a [Throttle] have in common.
type limiter struct {
	object
	client      *Client
	unavailable Fallback
	policy      string
	runner      backend.ScriptRunner // of calls that may fall back
	pace        limits.Pace          // of which a LocalShare is a part
}

func (l *limiter) choose(unavailable Fallback, timeout time.Duration, policy string) {
	l.unavailable, l.policy = unavailable, policy
	l.reject(unavailable.validate(timeout))
	l.runner = l.base.Hasty(cmp.Or(timeout, defaultTimeout))
}

// taking is one call that takes n permits of a limit, and its decision.
type taking struct {
	n        int
	decision Decision
}

// try makes an attempt. A refusal is no error: it is a decision.
func try(ctx context.Context, o *extend.Object, a extend.Attempt) error {
	err := o.TryAcquire(ctx, errTooFewPermits, a)
	if errors.Is(err, errTooFewPermits) {
		return nil
	}
	return err
}

func (l *limiter) wait(ctx context.Context, want extend.WaitSpec, a extend.Attempt, t *taking) error {
	err := untilFree(ctx, &l.base, func() (time.Duration, error) {
		return l.fallBack(ctx, t, l.base.Acquire(ctx, want, a))
	})
	l.report(ctx, t.decision, err)
	return err
}

// untilFree calls acquire until it is granted or fails. A local refusal says when to try again.
func untilFree(ctx context.Context, o *extend.Object, acquire func() (retryIn time.Duration, _ error)) error {
	for {
		retryIn, err := acquire()
		if retryIn > 0 {
			err = o.Pause(ctx, retryIn)
		}
		if err != nil || retryIn == 0 {
			return err
		}
	}
}

// fallBack decides an attempt that has ended with err, if the server has not.
func (l *limiter) fallBack(ctx context.Context, t *taking, err error) (retryIn time.Duration, _ error) {
	local, retryIn, err := l.unavailable.decide(ctx, l.client, err, l.local(t.n))
	if local {
		t.decision = decidedLocally(retryIn)
	}
	return retryIn, err
}

func (l *limiter) local(n int) limits.Take {
	return limits.Take{Of: l.base.ID().Object, Pace: l.pace, N: n}
}

func decidedLocally(retryIn time.Duration) Decision {
	return Decision{Allowed: retryIn == 0, RetryAfter: retryIn, NextAfter: retryIn, Local: true}
}

// report reports a decision to the tracer, or the error for which there is none.
func (l *limiter) report(ctx context.Context, d Decision, err error) {
	if err == nil || ctx.Err() == nil {
		l.base.ReportThrottled(trace.Throttled{
			Policy: l.policy, Allowed: err == nil && d.Allowed, Local: err == nil && d.Local, Err: err,
		})
	}
}
