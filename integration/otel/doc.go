// Package otelhasp reports to OpenTelemetry how clients of hasp wait, hold and lose:
//
//	tracer, err := otelhasp.NewTracer(nil) // for the global providers
//	if err != nil {
//		return err
//	}
//	client, err := primitives.New(backend, &primitives.Options{Tracer: tracer})
//
// All clients of a process may share one tracer.
//
// # Spans
//
// Each acquire is a span, "acquire lock" for the kind "lock". It is a child of the span in the caller's context, and
// the parent of the spans that the driver's instrumentation makes for its requests. Its attributes are hasp.kind,
// hasp.name, hasp.try, hasp.attempts, hasp.contended and hasp.outcome. Its status is an error if the outcome is
// "ended" or "failed". A lease is no span: it may last for days.
//
// # Metrics
//
//   - hasp.acquires.wait {hasp.kind,hasp.contended,hasp.outcome}: histogram, in seconds, of the time from the start of an
//     acquire to its end, round trips included.
//   - hasp.leases.duration {hasp.kind}: histogram, in seconds, of the time from a grant to the end of the lease.
//   - hasp.acquires {hasp.kind,hasp.contended,hasp.outcome}: acquires that have ended.
//   - hasp.acquires.in_progress {hasp.kind}: acquires that have not ended: their callers wait, or their first attempt
//     is under way. After a panic of the driver its acquires stay counted.
//   - hasp.leases.held {hasp.kind}: leases that are held.
//   - hasp.losses {hasp.kind,hasp.reason}: leases that were lost.
//   - hasp.renewal.lag: histogram, in seconds, of how much later than planned the watchdog sent a renewal.
//   - hasp.renewal.failures: leases that a renewal did not renew. The watchdog tries again.
//   - hasp.subscription.gaps: how often messages to waiters may have been missed.
//   - hasp.mismatches {hasp.kind}: options, such as a rate, that differ from what the server has.
//   - hasp.job.last_completed {hasp.name}: gauge, in seconds since 1970, of the time for which this process last completed
//     a periodic job.
//   - hasp.throttle.decisions {hasp.policy,hasp.local,hasp.outcome}: decisions of throttles and rate limiters.
//
// The attributes of metrics have few values, and mean what the labels in docs/operate/monitoring.md mean. Only of a
// periodic job is the name an attribute of a metric, and of spans that of each object.
package otelhasp
