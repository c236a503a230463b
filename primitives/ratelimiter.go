package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// RateMode says who shares the permits of a [Rate].
type RateMode int

// The modes are Redisson's.
const (
	// RateOverall means that all clients together have the permits.
	RateOverall RateMode = iota

	// RatePerClient means that each [Client] has so many for itself. They are not shared with those of
	// another process, or of another Client in this one.
	RatePerClient
)

// Rate is how many permits an interval has.
type Rate struct {
	// Permits is how many there are, at least 1, and at most what a Java int holds.
	Permits int

	// Interval is how long a permit is used up, by the server's clock. In whole milliseconds, at least 1 ms.
	Interval time.Duration

	// Mode says who shares them. Zero means RateOverall.
	Mode RateMode

	// KeepAlive is how long the limiter exists after it was last asked for permits: then it is as if nobody
	// had set a rate. In whole milliseconds, at least Interval. Zero means for ever.
	KeepAlive time.Duration

	_ struct{}
}

// RateLimiterOptions configure a [RateLimiter]. The zero value of each field means its default.
type RateLimiterOptions struct {
	// Rate is that of a limiter that Acquire or TryAcquire makes, if there is none: in the same round trip.
	// All processes that share a limiter set the same. Zero means that they make none, as in Redisson: they
	// return [ErrNoRate] then.
	Rate Rate

	_ struct{}
}

// RateLimitError is the error of a TryAcquire that was refused. It wraps [ErrNotAcquired].
type RateLimitError struct {
	// RetryIn is when enough permits are free, if nobody takes or releases any before.
	RetryIn time.Duration
}

// Error returns how long it takes until enough permits are free.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("too few permits for another %s", e.RetryIn)
}

// Unwrap returns [ErrNotAcquired].
func (e *RateLimitError) Unwrap() error { return ErrNotAcquired }

// RateLimiter lets processes do no more than so much in any interval: each thing that they do takes
// permits, which are free again one interval later by themselves. Acquire waits for them.
//
// # The rate
//
// The permits that were granted in any window of one interval, whenever it begins, are never more than its
// rate has, but for those that were released as not used. Times are those of the server's clock, in whole
// milliseconds, rounded so that a permit comes back up to a millisecond late, and never early. If that clock
// is set back, a permit is used up for one more interval at most. If it is set forward, permits come back
// early by so much, and so do those that Java processes take, whose own clocks count, by how far these are
// behind.
//
// A change of the rate keeps what was granted before, also where fewer permits are left than that. Where each
// client has its own permits, all clients have the new rate at once, whichever of them sets it. What a client was
// granted is kept for one interval after its last grant, and for an hour at least: only an interval that is made
// longer than that may forget it.
//
// # Waiting
//
// A waiter goes on when enough permits are free: the server reports when that will be. One waiter of a client
// then asks for all; if it is granted, two more ask, and so on, so that many waiters cost hardly more commands
// for each grant than few. A Release, a change of the rate and a Delete wake them before. They are woken in
// the order of their coming, but a waiter for many permits holds up none for few: while others take permits as
// fast as they come back, it may wait for ever.
//
// # Failures
//
// After an error nothing is acquired, but for [ErrIndeterminate]: then the permits may have been used up, for
// one interval. Nothing is sent twice. An Acquire whose first attempt meets no server returns
// [ErrUnavailable]. Once it was refused it waits on through outages, for as long as its context lasts.
//
// A server keeps no more than one entry for each permit of the rate, whatever the traffic.
//
// A RateLimiter is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RRateLimiter, a hash at the name, with what was granted at {name}:permits and the number
// of free permits at {name}:value.
type RateLimiter struct {
	object
	client *Client
	keys   rateKeys
	want   extend.WaitSpec // of one permit
	rate   Rate            // of a limiter that Acquire makes; no permits: it makes none
}

// rateKeys are the keys of a limiter beside its own.
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
		Refusal: ErrNotAcquired,
	}
	if opts != nil && opts.Rate != (Rate{}) {
		l.rate = opts.Rate
		l.reject(l.rate.validate())
	}
	return l
}

// validate returns a [*FieldError] for a rate that cannot be set.
func (r Rate) validate() error {
	if err := countWithin("Rate.Permits", r.Permits, 1); err != nil {
		return err
	}
	if err := extend.AtLeast("Rate.Interval", r.Interval, time.Millisecond); err != nil {
		return err
	}
	if r.Mode != RateOverall && r.Mode != RatePerClient {
		return &FieldError{Field: "Rate.Mode", Problem: fmt.Sprintf("%d is no mode", r.Mode)}
	}
	if r.KeepAlive != 0 {
		return extend.AtLeast("Rate.KeepAlive", r.KeepAlive, r.Interval)
	}
	return nil
}

// InitRate sets the rate unless there is one, and reports whether it did.
func (l *RateLimiter) InitRate(ctx context.Context, rate Rate) (bool, error) {
	return l.setRate(ctx, rate, true, false)
}

// SetRate sets the rate, or changes it. The permits that were granted before count on, unless the Mode
// changes. Waiters look again: those for more permits than an interval has return [ErrAboveRate].
func (l *RateLimiter) SetRate(ctx context.Context, rate Rate) error {
	_, err := l.setRate(ctx, rate, true, true)
	return err
}

// UpdateRate is SetRate, but does nothing and reports false if nobody has set a rate.
func (l *RateLimiter) UpdateRate(ctx context.Context, rate Rate) (bool, error) {
	return l.setRate(ctx, rate, false, true)
}

func (l *RateLimiter) setRate(ctx context.Context, rate Rate, create, change bool) (bool, error) {
	invalid := l.invalid
	if invalid == nil {
		invalid = rate.validate()
	}
	return extend.Call(ctx, &l.base, invalid, "set the rate of", func() (bool, error) {
		return script.RateSet(ctx, l.base.Runner(), script.RateSetParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Rate: int64(rate.Permits), Interval: rate.Interval, Own: rate.Mode == RatePerClient, Alive: rate.KeepAlive,
			Create: create, Change: change, Publish: l.publish(), Changed: l.want.Channel,
		})
	})
}

// Rate returns the limiter's rate, or [ErrNoRate] if no client has set it.
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

// Acquire takes n permits, at least 1. While there are too few it waits, until ctx ends, the client is closed
// or the backend fails. If there are enough it takes one round trip. It returns [ErrAboveRate] if an interval
// has fewer than n, and [ErrNoRate] if nobody has set a rate, and the option Rate is not set.
func (l *RateLimiter) Acquire(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (struct{}, error) {
		l.client.rateNeeds.add(l.base.Key(), n, 1)
		defer l.client.rateNeeds.add(l.base.Key(), n, -1)
		want := l.want
		want.Need = n
		return struct{}{}, l.base.Wait(ctx, want, newRateAttempt(l, n, true))
	})
	return err
}

// TryAcquire takes n permits, at least 1, or returns a [*RateLimitError] if there are too few, which says when
// there will be enough. It takes one round trip and does not wait. Other errors are those of Acquire.
func (l *RateLimiter) TryAcquire(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "acquire", func() (struct{}, error) {
		answer, err := newRateAttempt(l, n, false).Try(ctx)
		if err == nil && !answer.Granted {
			err = &RateLimitError{RetryIn: answer.RetryIn}
		}
		return struct{}{}, err
	})
	return err
}

// Release puts back n permits, at least 1, that were acquired and not used, and wakes waiters. It must come
// within the interval: later they are free by themselves, and it puts back those of others. More than are
// used up it does not put back. After an error they may not have been put back: they are free one interval
// after their grant. It returns [ErrNoRate] if nobody has set a rate.
func (l *RateLimiter) Release(ctx context.Context, n int) error {
	_, err := extend.Call(ctx, &l.base, l.validateCount(n), "release", func() (int64, error) {
		released, err := script.RateRelease(ctx, l.base.Runner(), script.RateReleaseParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Returned: int64(n), Publish: l.publish(), Changed: l.want.Channel,
		})
		return released, rateError(err)
	})
	return err
}

// AvailablePermits returns how many permits are free. It returns [ErrNoRate] if nobody has set a rate.
func (l *RateLimiter) AvailablePermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int, error) {
		n, err := script.RateAvailable(ctx, l.base.Runner(),
			l.base.Key(), l.keys.value, l.keys.ownValue, l.keys.permits, l.keys.ownPermits)
		return int(n), rateError(err)
	})
}

// Delete deletes the limiter, and reports whether there was one. What it has granted is forgotten, but that of
// other clients where each has its own permits, which count for one more interval. Waiters make the limiter
// anew by the option Rate, or return [ErrNoRate].
func (l *RateLimiter) Delete(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "delete", func() (bool, error) {
		return script.RateDelete(ctx, l.base.Runner(), script.RateDeleteParams{
			Limiter: l.base.Key(), Value: l.keys.value, OwnValue: l.keys.ownValue,
			Permits: l.keys.permits, OwnPermits: l.keys.ownPermits,
			Publish: l.publish(), Changed: l.want.Channel,
		})
	})
}

// validateCount checks the limiter's arguments and a number of permits.
func (l *RateLimiter) validateCount(n int) error {
	if l.invalid != nil {
		return l.invalid
	}
	return countWithin("n", n, 1)
}
