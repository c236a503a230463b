package promhasp

import "github.com/prometheus/client_golang/prometheus"

// Upper bounds of buckets, in seconds.
var (
	waitBuckets = []float64{
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
	}
	heldBuckets = []float64{
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400,
	}
	lagBuckets = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20}
)

func newMetrics() *metrics {
	return &metrics{
		inProgress: gauges("hasp_acquires_in_progress", "Acquires that have not ended.", "kind"),
		acquires:   counters("hasp_acquires_total", "Acquires that have ended.", "kind", "contended", "outcome"),
		wait: histograms("hasp_acquire_wait_seconds",
			"Time from the start of an acquire to its end.", waitBuckets, "kind", "contended", "outcome"),
		held:   histograms("hasp_held_seconds", "Time from a grant to the end of the lease.", heldBuckets, "kind"),
		leases: gauges("hasp_leases_held", "Leases that are held.", "kind"),
		losses: counters("hasp_losses_total", "Leases that were lost.", "kind", "reason"),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hasp_renewal_lag_seconds", Help: "How much later than planned the watchdog sent a renewal.",
			Buckets: lagBuckets,
		}),
		failures:   counter("hasp_renewal_failures_total", "Leases that a renewal did not renew."),
		gaps:       counter("hasp_subscription_gaps_total", "How often messages to waiters may have been missed."),
		mismatches: counters("hasp_mismatches_total", "Options that differ from what the server has.", "kind"),
		completed: gauges("hasp_job_last_completed_timestamp_seconds",
			"Time for which a job was last completed, since 1970.", "name"),
		throttled: counters("hasp_throttle_decisions_total", "Decisions of throttles and rate limiters.", "policy", "local", "outcome"),
	}
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func gauges(name, help, label string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.inProgress, m.acquires, m.wait, m.leases, m.held, m.losses, m.lag, m.failures, m.gaps, m.mismatches, m.completed,
		m.throttled,
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descriptions)
	}
}

func (m *metrics) Collect(collected chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(collected)
	}
}
