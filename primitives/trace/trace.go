// Package trace has the tracer of a client, and the events that it gets: see [Tracer].
package trace

import (
	"context"
	"time"
)

// Tracer observes a client: see the Tracer of [github.com/hasp-go/hasp/primitives.Options]. The client
// calls a function for each event. Functions that are nil are left out. Join makes one tracer of several.
//
// The client calls the functions from many goroutines at once, also from the goroutine of the watchdog
// and from those of the driver, but holds no mutex of its own meanwhile. They must not block, and must
// not panic. They get their data by value, so a function that does nothing costs no allocation.
// The fields must not change once a client has the tracer. Texts, also those of errors, are UTF-8: other bytes, of a name
// or of a server, come as U+FFFD.
//
// Source: the traces of net/http/httptrace, and the tracers of github.com/jackc/pgx/v5.
type Tracer struct {
	// AcquireStart is called before the first try of an acquire, with the caller's context. The
	// acquire runs under the returned context, which must be ctx or a child of it. If the acquire
	// sends nothing because of its arguments, because ctx has ended, or because the client is closed,
	// it is not reported.
	AcquireStart func(ctx context.Context, data AcquireStart) context.Context

	// AcquireEnd is called when the acquire is about to return, with the context that AcquireStart has
	// returned, or the caller's context without an AcquireStart. It is not called if the driver panics.
	AcquireEnd func(ctx context.Context, data AcquireEnd)

	// LeaseEnd is called once for each lease that an acquire has returned. A lease and the leases that
	// re-enter it end together, as one.
	LeaseEnd func(data LeaseEnd)

	// Renewal is called after each renewal of leases of one kind by the watchdog.
	Renewal func(data Renewal)

	// SubscriptionGap is called when messages to waiters may have been missed. Such waiters try again
	// at once, or poll more often.
	SubscriptionGap func(data SubscriptionGap)

	// Mismatch is called when an acquire finds a mismatch: once for the same mismatch, and for the
	// first thousand mismatches of a client. The client also logs a warning.
	Mismatch func(data Mismatch)

	// JobCompleted is called when this client has run a [github.com/hasp-go/hasp/primitives.PeriodicJob], and the
	// server has recorded that its period is completed. If the server's answer was lost, it is not called.
	JobCompleted func(data JobCompleted)

	// Throttled is called for each decision about a request for permits of a
	// [github.com/hasp-go/hasp/primitives.Throttle] or RateLimiter: by Allow, AllowEstimate or Wait. A MultiThrottle or an
	// Admission is reported by its throttles; if it is refused, by those that refuse: an Admission that lacks only a slot,
	// by none. A call that its context ends has no decision.
	Throttled func(data Throttled)
}

// Object is the object of an event. Names may be many: a metric should not have them as a label.
type Object struct {
	Kind string // such as "lock" or "rate limiter", as in errors
	Name string // without the client's prefix
}

// AcquireStart is the start of an acquire: of Lock, TryLock, Acquire or TryAcquire of a lock, a
// semaphore or a rate limiter. A MultiLock or RedLock is reported by its parts.
type AcquireStart struct {
	Object Object
	Try    bool // it does not wait, as TryLock and TryAcquire
	Leased bool // a grant is a lease, whose end LeaseEnd reports; false for a semaphore or a rate limiter
}

// AcquireEnd is the end of an acquire.
type AcquireEnd struct {
	Object Object
	Try    bool
	Leased bool

	// Waited is the time since the start, round trips included.
	Waited time.Duration

	// Attempts is how often the client asked the server for this caller. 0 means that it asked never:
	// the caller re-entered a lease, or its error is [github.com/hasp-go/hasp/primitives.ErrSelfDeadlock]. A refusal that
	// the client repeats (RefuseLocally of a throttle) counts as 1.
	Attempts int

	// Contended says that the server refused at least one attempt: another owner held the object, or
	// too few units were free.
	Contended bool

	// Err is nil if the caller has what it asked for. Otherwise it matches the errors that the call
	// returns, but its text lacks the operation and the object.
	Err error
}

// NewLease reports whether the acquire has begun a lease, whose end LeaseEnd will report: it was granted, and did not
// re-enter a lease.
func (e AcquireEnd) NewLease() bool { return e.Leased && e.Err == nil && e.Attempts > 0 }

// LeaseEnd is the end of a lease.
type LeaseEnd struct {
	Object Object

	// Held is the time from the grant to the end for the holder. For a release, that is the time at
	// which it begins.
	Held time.Duration

	// Cause is [github.com/hasp-go/hasp/primitives.ErrReleased], a [*github.com/hasp-go/hasp/primitives.LossError],
	// or matches [github.com/hasp-go/hasp/backend.ErrClosed] if the client was closed. It is also a LossError
	// if the release finds that the server no longer has the lease.
	Cause error

	// Err is the error of the release, if the holder has released the lease. As in [AcquireEnd], its
	// text lacks the operation and the object.
	Err error
}

// Renewal is one renewal, which renews up to a hundred leases.
type Renewal struct {
	// Leases is how many leases were to be renewed.
	Leases int

	// Lag is how much later than planned the renewal was sent: for the lease that waited the longest. A
	// lease is renewed when a third of it has passed. If Lag comes near to two thirds of the lease, for
	// example because the process gets too little CPU, leases are lost.
	Lag time.Duration

	// Took is the time from the sending to the last answer.
	Took time.Duration

	// Failed is how many leases were not renewed, for lack of an answer or of a permission. The watchdog
	// tries again. Leases that the server no longer has are not among them: they are lost.
	Failed int

	// Err is the reason if the request has failed. It is nil if Failed is 0.
	Err error
}

// SubscriptionGap is a gap of a subscription.
type SubscriptionGap struct {
	Channel string

	// Err is the reason if the client could not subscribe. It tries again within a second. Nil means
	// that the link broke, and that the subscription is acknowledged again.
	Err error
}

// Mismatch is an option that does not apply, since the object exists with another value. It has
// the option of an earlier deployment, for example, or of another process.
type Mismatch struct {
	Object Object
	Option string // such as "Rate"
	Want   string // the option's value
	Have   string // what the server has
}

// Throttled is a decision about a request for permits of a throttle, or of a rate limiter.
type Throttled struct {
	Object Object
	Policy string // the option Policy

	// Allowed says that the permits were taken. Local says that the server has not decided, and that the
	// option Unavailable has.
	Allowed, Local bool

	// Err says why there is no decision. It is nil if there is one.
	Err error
}

// Outcome returns "allowed", "refused", or "failed" if there is no decision.
func (d Throttled) Outcome() string {
	switch {
	case d.Err != nil:
		return "failed"
	case d.Allowed:
		return "allowed"
	}
	return "refused"
}

// JobCompleted is the completion of a period of a periodic job.
type JobCompleted struct {
	Object Object
	Period time.Time // for which the job was due: see the LastCompleted of the job
}
