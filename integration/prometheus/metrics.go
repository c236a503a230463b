package promhasp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/hasp-go/hasp/integration/internal/observed"
)

func newMetrics(by promauto.Factory) *metrics {
	gauges := func(name, help, label string) *prometheus.GaugeVec {
		return by.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	}
	counter := func(name, help string) prometheus.Counter {
		return by.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return by.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return by.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return &metrics{
		inProgress: gauges("hasp_acquires_in_progress", "Acquires that have not ended.", "kind"),
		acquires:   counters("hasp_acquires_total", "Acquires that have ended.", "kind", "contended", "outcome"),
		wait: histograms("hasp_acquire_wait_seconds",
			"Time from the start of an acquire to its end.", observed.WaitBuckets, "kind", "contended", "outcome"),
		held:   histograms("hasp_held_seconds", "Time from a grant to the end of the lease.", observed.HeldBuckets, "kind"),
		leases: gauges("hasp_leases_held", "Leases that are held.", "kind"),
		losses: counters("hasp_losses_total", "Leases that were lost.", "kind", "reason"),
		lag: by.NewHistogram(prometheus.HistogramOpts{
			Name: "hasp_renewal_lag_seconds", Help: "How much later than planned the watchdog sent a renewal.",
			Buckets: observed.LagBuckets,
		}),
		failures:   counter("hasp_renewal_failures_total", "Leases that a renewal did not renew."),
		gaps:       counter("hasp_subscription_gaps_total", "How often messages to waiters may have been missed."),
		mismatches: counters("hasp_mismatches_total", "Options that differ from what the server has.", "kind"),
		completed: gauges("hasp_job_last_completed_timestamp_seconds",
			"Time for which a job was last completed, since 1970.", "name"),
		throttled: counters("hasp_throttle_decisions_total", "Decisions of throttles and rate limiters.", "policy", "local", "outcome"),
	}
}
