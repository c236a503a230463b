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
// docs/operate/monitoring.md has a table of the metrics, and of their labels, which have few values: only a periodic
// job's name is a label, since other names may be many. And:
//
//   - hasp_acquires_total and hasp_acquire_wait_seconds are there, at 0, from the first acquire of a kind on, and
//     hasp_throttle_decisions_total from the first decision of a policy on.
//   - After a panic of the driver its acquires stay counted in hasp_acquires_in_progress.
//   - The count of hasp_held_seconds is the number of leases that have ended.
//   - hasp_job_last_completed_timestamp_seconds is in seconds since 1970. Only the process that ran the job has it: take
//     the maximum of all.
//
// The folder of this package has dashboard.json, a dashboard for Grafana, with a panel for each of them.
package promhasp
