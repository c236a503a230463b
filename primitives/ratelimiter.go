package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
	"github.com/hasp-go/hasp/primitives/internal/script"
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
	// with its rate. In whole milliseconds, at least Interval. Zero means that it does not expire; for
	// NewRateLimiter it means an hour, or Interval if that is longer.
	KeepAlive time.Duration

	_ struct{}
}

// RateLimiterOptions configure a [RateLimiter]. Unavailable must be set. The zero value of each other field means its
// default.
type RateLimiterOptions struct {
	// Unavailable says what Allow and Wait do while the server is away, as in [ThrottleOptions]. [LocalShare] needs a Rate.
	Unavailable Fallback

	// Timeout is how long a call waits for the server's answer, as in [ThrottleOptions]. Zero means 1 s.
	Timeout time.Duration

	// Policy names the limit in metrics: see [ThrottleOptions].
	Policy string

	_ struct{}
}

// RateLimiter bounds how often processes do something: an action takes permits, which become free
// again one interval later. Allow takes them if they are free, and Wait waits for them.
//
// # The rate
//
// In any window of one interval, whenever it begins, no more permits are granted than the rate has,
// not counting permits that were returned as unused, and while nobody deletes the limiter or changes
// its rate. Times are by the server's clock, in whole milliseconds. They are rounded so that a
// permit returns up to a millisecond late, and never early: docs/operate/deploy.md has what happens when the clock is
// set. Java processes use their own clocks: if such a clock is behind, the permits that the process takes return that
// much early. A server that loses data, for example in a failover, may grant permits again.
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
// waiters cost hardly more commands for each grant than few. A Return, a change of the rate and a
// Delete wake waiters earlier. Their order is as for a [Semaphore].
//
// # Failures
//
// Failures are as for a [Throttle]: after [ErrIndeterminate] the permits may be used, for one interval.
//
// The server keeps an entry of about 120 bytes for each grant, so no more than one for each permit of the rate, whatever
// the traffic. Of the first rate with more than 5 000 permits the client logs a warning: a [Throttle] keeps one short
// text.
//
// A RateLimiter is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RRateLimiter, a hash at the name, with the grants at {name}:permits and the
// number of free permits at {name}:value. Allow is its tryAcquire, Wait its acquire, State its availablePermits,
// Return its release, and InitRate, SetRate, UpdateRate and Rate are its trySetRate, setRate, updateRate and getConfig.
type RateLimiter struct {
	limiter
	keys rateKeys
	want extend.WaitSpec // of one permit
	rate Rate            // of a limiter that a call creates; no permits: none is created
}

// idleLimiter is the KeepAlive of a limiter that a call creates, if its rate has none, and no longer interval.
const idleLimiter = time.Hour

// rateKeys are the further keys of a limiter.
type rateKeys struct{ value, ownValue, permits, ownPermits string }

// NewRateLimiter returns the rate limiter called name. It sends nothing. Its methods return a [*FieldError] for an empty
// name, an invalid rate or option, or options without Unavailable. In a cluster a name with braces must have its hash
// tag in them.
//
// Allow and Wait create a missing limiter with this rate, in the same round trip. All processes that share a limiter
// have the same rate. With [Rate]{} they create none, as in Redisson, but return [ErrNoRate].
//
// The created limiter expires after its KeepAlive without use, and the next call creates it again. By then all its
// permits are free, so nothing is lost, and limiters with the names of users do not fill the server. SetRate and
// UpdateRate replace the KeepAlive.
//
// If the limiter exists with another rate, for example from an earlier deployment, that rate applies: the client logs a
// warning, and reports the mismatch to its tracer. A KeepAlive may differ. To replace it, call [RateLimiter.UpdateRate]
// when the process starts.
func (c *Client) NewRateLimiter(name string, rate Rate, opts *RateLimiterOptions) *RateLimiter {
	l := &RateLimiter{limiter: limiter{object: c.newObject("rate limiter", name, "hash"), client: c}, rate: rate}
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
	opts = cmp.Or(opts, new(RateLimiterOptions))
	l.choose(opts.Unavailable, opts.Timeout, opts.Policy)
	if rate != (Rate{}) {
		l.reject(rate.validate())
		l.rate.KeepAlive = cmp.Or(rate.KeepAlive, max(rate.Interval, idleLimiter))
		l.pace = limits.PaceOf(rate.Permits, rate.Interval, rate.Permits)
	} else if opts.Unavailable.share > 0 {
		l.reject(&FieldError{Field: "Unavailable", Problem: "LocalShare needs a Rate"})
	}
	return l
}

func (r Rate) validate() error {
	err := cmp.Or(countWithin("Rate.Permits", r.Permits, 1), wholeMilliseconds("Rate.Interval", r.Interval))
	if err != nil {
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
	return extend.Call(ctx, &l.base, cmp.Or(l.invalid, rate.validate()), "set the rate of", func() (bool, error) {
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
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (Rate, error) {
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
	})
}

// Allow is [Throttle.Allow]. It returns [ErrAboveRate] if the rate has fewer than n permits, and [ErrNoRate] if there is
// no rate.
func (l *RateLimiter) Allow(ctx context.Context, n int) (Decision, error) {
	return extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (Decision, error) {
		a := &rateAttempt{RateLimiter: l, taking: taking{n: n}, least: n, most: maxPermits}
		_, err := l.fallBack(ctx, &a.taking, try(ctx, &l.base, a))
		l.report(ctx, a.decision, err)
		return a.decision, err
	})
}

// Wait is [Throttle.Wait], with the errors of Allow. If n permits are free, it takes one round trip.
func (l *RateLimiter) Wait(ctx context.Context, n int) error {
	return l.do(ctx, l.validateCount(n), "acquire", func() error {
		a, want := &rateAttempt{RateLimiter: l, taking: taking{n: n}}, l.want
		want.Need, want.Others = n, a.others
		return l.wait(ctx, want, a, &a.taking)
	})
}

// State returns how many permits are free, and when more are. It takes none. It returns [ErrNoRate] if there is no rate.
func (l *RateLimiter) State(ctx context.Context) (Decision, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (Decision, error) {
		got, err := script.RateAvailable(ctx, l.runner,
			l.base.Key(), l.keys.value, l.keys.ownValue, l.keys.permits, l.keys.ownPermits)
		if err != nil {
			return Decision{}, queryError(ctx, rateError(err, 0))
		}
		return Decision{
			Allowed: got.Free > 0, Remaining: int(got.Free), RetryAfter: got.Wait, NextAfter: got.Wait,
			ResetAfter: max(got.Reset, got.Wait),
		}, nil
	})
}

// Return gives back n permits, at least 1, that were taken and not used, and wakes waiters. Call
// it within one interval of the grant: later these permits are free anyway, and Return would free
// the permits of other callers. It frees no more permits than are in use. After an error the
// permits may still be in use, until one interval after their grant. Return returns [ErrNoRate] if
// there is no rate.
func (l *RateLimiter) Return(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "return permits to", func() (int64, error) {
		returned, err := script.RateRelease(ctx, l.base.Insistent(), script.RateReleaseParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Returned: int64(n), Publish: l.publish(), Changed: l.want.Channel,
		})
		return returned, rateError(err, n)
	})
	return err
}

// Delete deletes the limiter, and reports whether it existed. Its grants are forgotten, with one
// exception: with RatePerClient, the grants of other clients count for one more interval. Waiters
// that have a rate create the limiter again. Other waiters return [ErrNoRate].
func (l *RateLimiter) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "delete", func() (bool, error) {
		return script.RateDelete(ctx, l.base.Runner(), script.RateDeleteParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Publish: l.publish(), Changed: l.want.Channel,
		})
	})
}

func (l *RateLimiter) validateCount(n int) error {
	return cmp.Or(l.invalid, countWithin("n", n, 1))
}
