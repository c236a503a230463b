package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/trace"
)

// RateMode says which clients share the permits of a [Rate].
type RateMode int

// The modes are Redisson's.
const (
	// RateOverall means that all clients share the permits.
	RateOverall RateMode = iota

	// RatePerClient means that each [Client] has the whole number of permits for itself. Other
	// processes, and other Clients in the same process, have their own.
	RatePerClient
)

// Rate is the number of permits in an interval.
type Rate struct {
	// Permits is the number of permits, at least 1, and at most the maximum of a Java int.
	Permits int

	// Interval is the length of the window: a permit becomes free one Interval after its grant, by
	// the server's clock. A whole number of milliseconds, at least 1 ms.
	Interval time.Duration

	// Mode says which clients share the permits. Zero means RateOverall.
	Mode RateMode

	// KeepAlive is how long the limiter exists after the last request for permits. Then it expires,
	// with its rate. In whole milliseconds, at least Interval. Zero means that it does not expire; in
	// RateLimiterOptions it means an hour, or Interval if that is longer.
	KeepAlive time.Duration

	_ struct{}
}

// RateLimiterOptions configure a [RateLimiter]. The zero value of each field means its default.
type RateLimiterOptions struct {
	// Rate is the rate with which Acquire or TryAcquire creates a missing limiter, in the same
	// round trip. All processes that share a limiter set the same rate. Zero means that these
	// methods do not create the limiter, as in Redisson, but return [ErrNoRate].
	//
	// The created limiter expires after its KeepAlive without use (see [Rate]), and the next
	// call creates it again. By then all its permits are free, so nothing is lost, and limiters with the
	// names of users do not fill the server. SetRate and UpdateRate replace the KeepAlive.
	//
	// If the limiter exists with another rate, for example from an earlier deployment, that rate applies:
	// the client logs a warning, and reports the mismatch to its tracer. UpdateRate changes it. A KeepAlive may differ.
	Rate Rate

	// Unavailable says what TryAcquire and TryAcquireState do while the server is away: [Refuse], [Admit] or
	// [LocalShare]. It is for services that rather decide by themselves than wait. LocalShare needs Rate. Zero
	// means that they return the error after the adapter has tried for its RefusedFor. It changes no
	// other method.
	Unavailable Fallback

	// Timeout is how long a call with Unavailable waits for the server's answer. Zero means 1 s.
	Timeout time.Duration

	// Policy names the limit in metrics: see [ThrottleOptions].Policy. Without it nothing is counted.
	Policy string

	_ struct{}
}

// RateLimitError is the error of a TryAcquire that was refused. It wraps [ErrNotAcquired].
type RateLimitError struct {
	// RetryIn is the time until enough permits are free, if no client acquires or releases permits
	// before.
	RetryIn time.Duration
}

// Error says how long it takes until enough permits are free.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("too few permits for another %s", e.RetryIn)
}

// Unwrap returns [ErrNotAcquired].
func (e *RateLimitError) Unwrap() error { return ErrNotAcquired }

// RateLimiter bounds how often processes do something: an action takes permits, which become free
// again one interval later. Acquire waits for permits.
//
// # The rate
//
// In any window of one interval, whenever it begins, no more permits are granted than the rate has,
// not counting permits that were released as unused, and while nobody deletes the limiter or changes
// its rate. Times are by the server's clock, in whole milliseconds. They are rounded so that a
// permit returns up to a millisecond late, and never early. If the server's clock is set back, a
// permit stays used for one more interval at most, counted from the next call. If it is set
// forward, permits return that much early. Java processes use their own clocks: if such a clock is
// behind, the permits that the process takes return that much early. A crash of a process changes
// nothing. A server that loses data, for example in a failover, may grant permits again.
//
// A change of the rate keeps the earlier grants, even if they are more than the new rate allows.
// With RatePerClient, all clients get the new rate at once, whichever client sets it. The server
// remembers a client's grants for one interval after its last grant, and for at least an hour. If
// the interval becomes longer than an hour, older grants may already be forgotten.
//
// # Waiting
//
// A waiter tries again when enough permits are free, at a time that the server reports. Then one
// waiter of each client tries for all. If it is granted, two more try, and so on, so many
// waiters cost hardly more commands for each grant than few. A Release, a change of the rate and a
// Delete wake waiters earlier. Waiters are woken in the order in which they came, but a waiter for
// many permits does not hold up waiters for few: while other callers take permits as fast as they
// return, it may wait forever.
//
// # Failures
//
// After an error no permit is acquired, with one exception: after [ErrIndeterminate] the permits
// may be used, for one interval. No request is sent twice. If the first attempt of an Acquire
// reaches no server, Acquire returns [ErrUnavailable]. If the server has once answered that too few
// permits are free, Acquire waits until its context ends, even while no server can be reached.
//
// The server keeps an entry of about 120 bytes for each grant, so no more than one for each permit of the rate, whatever
// the traffic. Of the first rate with more than 5 000 permits the client logs a warning: a [Throttle] keeps one short
// text.
//
// A RateLimiter is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RRateLimiter, a hash at the name, with the grants at {name}:permits and the
// number of free permits at {name}:value.
type RateLimiter struct {
	object
	client *Client
	keys   rateKeys
	want   extend.WaitSpec // of one permit
	rate   Rate            // of a limiter that Acquire creates; no permits: it creates none

	unavailable Fallback
	timeout     time.Duration
	policy      string
}

// idleLimiter is the KeepAlive of a limiter that Acquire creates, if its option has none, and no longer interval.
const idleLimiter = time.Hour

// rateKeys are the further keys of a limiter.
type rateKeys struct{ value, ownValue, permits, ownPermits string }

// NewRateLimiter returns the rate limiter called name. It sends nothing. The methods return a [*FieldError]
// for an empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewRateLimiter(name string, opts *RateLimiterOptions) *RateLimiter {
	l := &RateLimiter{object: c.newObject("rate limiter", name, "hash"), client: c}
	tagged, own := extend.Tagged(l.base.Key()), ":"+c.core.ID()
	value, permits := tagged+rateValueKey, tagged+ratePermitsKey
	l.keys = rateKeys{value, value + own, permits, permits + own}
	l.base = l.base.WithTypedKey("value key", l.keys.value, numberKind).
		WithTypedKey("value key", l.keys.ownValue, numberKind).
		WithTypedKey("permits key", l.keys.permits, "zset").
		WithTypedKey("permits key", l.keys.ownPermits, "zset")
	l.want = extend.WaitSpec{
		Channel: extend.SideName(rateChannel, l.base.Key()), FreeUnits: semaphoreFreeUnits,
		Refusal: errTooFewPermits,
	}
	if opts != nil && opts.Rate != (Rate{}) {
		l.rate = opts.Rate
		l.reject(l.rate.validate())
		l.rate.KeepAlive = cmp.Or(l.rate.KeepAlive, max(l.rate.Interval, idleLimiter))
	}
	if opts != nil {
		l.unavailable, l.timeout, l.policy = opts.Unavailable, opts.Timeout, opts.Policy
		l.reject(l.unavailable.validate(l.timeout))
		if l.unavailable.share > 0 && l.rate == (Rate{}) {
			l.reject(&FieldError{Field: "Unavailable", Problem: "LocalShare needs a Rate"})
		}
	}
	return l
}

// runner returns the runner of calls that may fall back.
func (l *RateLimiter) runner() backend.ScriptRunner { return l.unavailable.runner(&l.base, l.timeout) }

// fallBack decides a call for n permits that has ended with err, if the server has not.
func (l *RateLimiter) fallBack(ctx context.Context, n int, err error) (local bool, _ error) {
	rate := localRate{l.rate.Interval / time.Duration(max(1, l.rate.Permits)), l.rate.Permits}
	local, retryIn, err := l.unavailable.decide(ctx, l.client, err, localTake{of: &l.base, rate: rate, n: n})
	if retryIn > 0 {
		err = &RateLimitError{RetryIn: retryIn}
	}
	return local, err
}

// report reports a decision to the tracer, or the error for which there is none. It returns err.
func (l *RateLimiter) report(ctx context.Context, local bool, err error) error {
	failed := err
	if errors.As(err, new(*RateLimitError)) {
		failed = nil
	}
	if l.policy != "" && (failed == nil || ctx.Err() == nil) {
		l.base.ReportThrottled(trace.Throttled{Policy: l.policy, Allowed: err == nil, Local: local, Err: failed})
	}
	return err
}

// validate returns a [*FieldError] for a rate that cannot be set.
func (r Rate) validate() error {
	if err := countWithin("Rate.Permits", r.Permits, 1); err != nil {
		return err
	}
	if err := wholeMilliseconds("Rate.Interval", r.Interval); err != nil {
		return err
	}
	if r.Mode != RateOverall && r.Mode != RatePerClient {
		return &FieldError{Field: "Rate.Mode", Problem: fmt.Sprintf("%d is neither RateOverall nor RatePerClient", r.Mode)}
	}
	if r.KeepAlive != 0 {
		return extend.AtLeast("Rate.KeepAlive", r.KeepAlive, r.Interval)
	}
	return nil
}

// InitRate sets the rate. If there is a rate already, it changes nothing, not even the KeepAlive, and reports false.
func (l *RateLimiter) InitRate(ctx context.Context, rate Rate) (bool, error) {
	return l.setRate(ctx, rate, true, false)
}

// SetRate sets the rate, or changes it. Earlier grants still count, unless the Mode changes.
// Waiters try again: a waiter for more permits than the new rate has returns [ErrAboveRate].
func (l *RateLimiter) SetRate(ctx context.Context, rate Rate) error {
	_, err := l.setRate(ctx, rate, true, true)
	return err
}

// UpdateRate is SetRate for a limiter that has a rate. If it has none, UpdateRate changes nothing
// and reports false.
func (l *RateLimiter) UpdateRate(ctx context.Context, rate Rate) (bool, error) {
	return l.setRate(ctx, rate, false, true)
}

func (l *RateLimiter) setRate(ctx context.Context, rate Rate, create, change bool) (bool, error) {
	invalid := l.invalid
	if invalid == nil {
		invalid = rate.validate()
	}
	return extend.Call(ctx, &l.base, invalid, "set the rate of", func() (bool, error) {
		l.warnOfMany(rate)
		return script.RateSet(ctx, l.base.Runner(), script.RateSetParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Rate: int64(rate.Permits), Interval: rate.Interval, Own: rate.Mode == RatePerClient, Alive: rate.KeepAlive,
			Create: create, Change: change, Publish: l.publish(), Changed: l.want.Channel,
		})
	})
}

// Rate returns the limiter's rate, or [ErrNoRate] if none is set.
func (l *RateLimiter) Rate(ctx context.Context) (Rate, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (Rate, error) { return l.readRate(ctx) })
}

func (l *RateLimiter) readRate(ctx context.Context) (Rate, error) {
	found, err := script.RateConfig(ctx, l.base.Runner(), l.base.Key())
	switch {
	case errors.Is(err, backend.ErrReply):
		return Rate{}, fmt.Errorf("%w: %w", backend.ErrNotANumber, err)
	case err != nil:
		return Rate{}, err
	case !found.RateOK || !found.IntervalOK || !found.KindOK:
		return Rate{}, ErrNoRate
	}
	rate := Rate{Permits: int(found.Rate), Interval: found.Interval, KeepAlive: found.Alive}
	if found.Kind == "1" {
		rate.Mode = RatePerClient
	}
	return rate, nil
}

// Acquire takes n permits, at least 1. If enough permits are free, it takes one round trip.
// Otherwise it waits until they are, ctx ends, the client is closed or the backend fails. It
// returns [ErrAboveRate] if the rate has fewer than n permits, and [ErrNoRate] if neither a rate
// nor the option Rate is set.
func (l *RateLimiter) Acquire(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (struct{}, error) {
		attempt, want := newRateAttempt(l, n), l.want
		want.Need, want.Others = n, attempt.others
		return struct{}{}, l.report(ctx, false, l.base.Acquire(ctx, want, attempt))
	})
	return err
}

// TryAcquire takes n permits, at least 1. If too few are free, it returns a [*RateLimitError],
// which says when there will be enough. It takes one round trip and does not wait. Other errors are
// the same as for Acquire.
func (l *RateLimiter) TryAcquire(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (struct{}, error) {
		a := newRateAttempt(l, n)
		a.runner = l.runner()
		local, err := l.fallBack(ctx, n, l.base.TryAcquire(ctx, errTooFewPermits, (*rateTry)(a)))
		return struct{}{}, l.report(ctx, local, err)
	})
	return err
}

// RateState says which permits of a limiter are free after a grant, at the time of the server's answer.
type RateState struct {
	// Free is the number of free permits.
	Free int

	// RetryIn is the time until as many permits as were acquired are free, if no client acquires or
	// releases permits before. Zero means that they are free now.
	RetryIn time.Duration

	// Local says that the server has not decided, and that the option Unavailable has. Then Free and RetryIn are 0.
	Local bool
}

// TryAcquireState is TryAcquire that also returns which permits are free after the grant, in the same round
// trip: for callers that report it to their own clients, such as an HTTP server. With an error the
// state is zero, and a [*RateLimitError] says when there will be enough permits.
func (l *RateLimiter) TryAcquireState(ctx context.Context, n int) (RateState, error) {
	return extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (RateState, error) {
		a := &rateStateTry{rateAttempt: newRateAttempt(l, n)}
		a.runner = l.runner()
		local, err := l.fallBack(ctx, n, l.base.TryAcquire(ctx, errTooFewPermits, a))
		a.state.Local = local
		return a.state, l.report(ctx, a.state.Local, err)
	})
}

// Release releases n permits, at least 1, that were acquired and not used, and wakes waiters. Call
// it within one interval of the grant: later these permits are free anyway, and Release would free
// the permits of other callers. It frees no more permits than are in use. After an error the
// permits may still be in use, until one interval after their grant. Release returns [ErrNoRate] if
// no rate is set.
func (l *RateLimiter) Release(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "release", func() (int64, error) {
		released, err := script.RateRelease(ctx, l.base.Insistent(), script.RateReleaseParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Returned: int64(n), Publish: l.publish(), Changed: l.want.Channel,
		})
		return released, rateError(err, n)
	})
	return err
}

// AvailablePermits returns how many permits are free. It returns [ErrNoRate] if no rate is set.
func (l *RateLimiter) AvailablePermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int, error) {
		n, err := script.RateAvailable(ctx, l.base.Runner(),
			l.base.Key(), l.keys.value, l.keys.ownValue, l.keys.permits, l.keys.ownPermits)
		return int(n), queryError(ctx, rateError(err, 0))
	})
}

// Delete deletes the limiter, and reports whether it existed. Its grants are forgotten, with one
// exception: with RatePerClient, the grants of other clients count for one more interval. Waiters
// with the option Rate create the limiter again. Other waiters return [ErrNoRate].
func (l *RateLimiter) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "delete", func() (bool, error) {
		return script.RateDelete(ctx, l.base.Runner(), script.RateDeleteParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Publish: l.publish(), Changed: l.want.Channel,
		})
	})
}

// validateCount returns the error of the limiter's arguments, or of a number of permits.
func (l *RateLimiter) validateCount(n int) error {
	if l.invalid != nil {
		return l.invalid
	}
	return countWithin("n", n, 1)
}
