// Package promhasp counts for Prometheus how clients of hasp wait, hold and lose. One call registers everything:
//
//	tracer, err := promhasp.NewTracer(prometheus.DefaultRegisterer)
//	if err != nil {
//		return err
//	}
//	client, err := primitives.New(backend, &primitives.Options{Tracer: tracer})
//
// All clients of a process share one tracer, which knows nothing of the client that calls it. Add a label for each
// with prometheus.WrapRegistererWith and a tracer for each.
//
// # Metrics
//
//   - hasp_acquires_in_progress{kind}: gauge of the acquires that have not ended: their callers wait, or their first
//     attempt is under way. After a panic of the driver its acquires stay counted.
//   - hasp_acquires_total{kind,contended,outcome}: acquires that have ended. This and the next metric are there, at 0,
//     from the first acquire of a kind on.
//   - hasp_acquire_wait_seconds{kind,contended,outcome}: histogram of the time from the start of an acquire to its
//     end, round trips included.
//   - hasp_leases_held{kind}: gauge of the leases that are held.
//   - hasp_held_seconds{kind}: histogram of the time from a grant to the end of the lease. Its count is the number of
//     leases that have ended.
//   - hasp_losses_total{kind,reason}: leases that were lost.
//   - hasp_renewal_lag_seconds: histogram of how much later than planned the watchdog sent a renewal.
//   - hasp_renewal_failures_total: leases that a renewal did not renew. The watchdog tries again.
//   - hasp_subscription_gaps_total: how often messages to waiters may have been missed.
//   - hasp_mismatches_total{kind}: options, such as a rate, that differ from what the server has.
//   - hasp_job_last_completed_timestamp_seconds{name}: gauge of the time, since 1970, for which this process last completed
//     a periodic job. Only the process that ran the job has it: take the maximum of all.
//   - hasp_throttle_decisions_total{policy,local,outcome}: decisions of throttles and rate limiters. They are
//     there, at 0, from the first decision of a policy on.
//
// The labels have few values. Only a periodic job's name is a label: other names may be many.
//
//   - kind: the kind of the object as in errors, such as "lock" or "rate limiter";
//   - contended: "true" if the server refused at least one attempt, because others held the object;
//   - reason: of a loss, see primitives.LossError: "taken", "gone", "outage", "paused", "max hold" or "expired";
//   - policy: the option Policy, or the name of a limit of httplimit or grpclimit. It must be a constant;
//   - local: "true" if the server has not decided, and the option Unavailable has;
//   - outcome of a decision: "allowed", "refused", or "failed" if there was no decision;
//   - outcome of an acquire: "acquired"; "refused" by a TryLock or TryAcquire that did not wait; "ended" if the caller's context
//     ended first; "failed" for any other error.
//
// The folder of this package has dashboard.json, a dashboard for Grafana, with a panel for each of them.
package promhasp
