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

func newTracer() *Tracer {
	return &Tracer{
		wait: histograms("hasp_acquire_wait_seconds",
			"Time from the start of an acquire to its end.", waitBuckets, "kind", "contended", "outcome"),
		held: histograms("hasp_held_seconds", "Time from a grant to the end of the lease.", heldBuckets, "kind"),
		losses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hasp_losses_total", Help: "Leases that were lost.",
		}, []string{"kind"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hasp_renewal_lag_seconds", Help: "How much later than planned the watchdog sent a renewal.",
			Buckets: lagBuckets,
		}),
		failures: counter("hasp_renewal_failures_total", "Leases that a renewal did not renew."),
		gaps:     counter("hasp_subscription_gaps_total", "How often messages to waiters may have been missed."),
		mismatches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hasp_mismatches_total", Help: "Options that differ from what the server has.",
		}, []string{"kind"}),
	}
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (t *Tracer) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.wait, t.held, t.losses, t.lag, t.failures, t.gaps, t.mismatches}
}

// Describe implements prometheus.Collector.
func (t *Tracer) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range t.collectors() {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (t *Tracer) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range t.collectors() {
		c.Collect(metrics)
	}
}
