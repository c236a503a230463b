package primitives

import "github.com/hasp-go/hasp/primitives/extend"

// Tracer observes a client: see [Options]. It gets the start and the end of each acquire. It gets
// more if it also implements [LeaseTracer], [RenewalTracer], [SubscriptionTracer] or
// [MismatchTracer]. Tracer is an alias of [extend.Tracer], which documents its methods in full.
type Tracer = extend.Tracer

// LeaseTracer is a [Tracer] that also gets the end of each lease.
type LeaseTracer = extend.LeaseTracer

// RenewalTracer is a [Tracer] that also gets the renewals of leases.
type RenewalTracer = extend.RenewalTracer

// SubscriptionTracer is a [Tracer] that also gets the gaps of the waiters' subscriptions.
type SubscriptionTracer = extend.SubscriptionTracer

// MismatchTracer is a [Tracer] that also gets options that differ from what the server has.
type MismatchTracer = extend.MismatchTracer

// The data that tracers get.
type (
	// TraceObject is the object of an event.
	TraceObject = extend.TraceObject
	// TraceAcquireStart is the start of an acquire.
	TraceAcquireStart = extend.TraceAcquireStart
	// TraceAcquireEnd is the end of an acquire: how long it waited, how often it tried, and how it ended.
	TraceAcquireEnd = extend.TraceAcquireEnd
	// TraceLeaseEnd is the end of a lease: its release or its loss.
	TraceLeaseEnd = extend.TraceLeaseEnd
	// TraceRenewal is one renewal of leases by the watchdog.
	TraceRenewal = extend.TraceRenewal
	// TraceSubscriptionGap is a gap in which messages to waiters may have been missed.
	TraceSubscriptionGap = extend.TraceSubscriptionGap
	// TraceMismatch is an option that does not apply, because the server has another value.
	TraceMismatch = extend.TraceMismatch
)
