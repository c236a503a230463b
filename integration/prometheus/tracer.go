package promhasp

import (
	"context"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/hasp-go/hasp/integration/internal/observed"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// metrics are the metrics of a tracer.
type metrics struct {
	inProgress *prometheus.GaugeVec
	acquires   *prometheus.CounterVec
	leases     *prometheus.GaugeVec
	wait       *prometheus.HistogramVec
	held       *prometheus.HistogramVec
	losses     *prometheus.CounterVec
	lag        prometheus.Histogram
	failures   prometheus.Counter
	gaps       prometheus.Counter
	mismatches *prometheus.CounterVec
	completed  *prometheus.GaugeVec
	throttled  *prometheus.CounterVec
	begun      sync.Map // the kinds and policies that have been counted
}

// NewTracer returns a tracer that counts everything that a client reports, and registers its metrics in reg. The
// tracer does not block. If reg already has metrics of these names, such as another tracer's, nothing is registered,
// and NewTracer returns the error of reg, a prometheus.AlreadyRegisteredError for another tracer.
func NewTracer(reg prometheus.Registerer) (*trace.Tracer, error) {
	all := prometheus.NewRegistry()
	m := newMetrics(promauto.With(all))
	if err := reg.Register(all); err != nil {
		return nil, err
	}
	return &trace.Tracer{
		AcquireStart: m.acquireStart, AcquireEnd: m.acquireEnd, LeaseEnd: m.leaseEnd, Renewal: m.renewal,
		SubscriptionGap: func(trace.SubscriptionGap) { m.gaps.Inc() },
		Mismatch:        func(data trace.Mismatch) { m.mismatches.WithLabelValues(data.Object.Kind).Inc() },
		JobCompleted: func(data trace.JobCompleted) {
			m.completed.WithLabelValues(data.Object.Name).Set(float64(data.Period.UnixMilli()) / 1000)
		},
		Throttled: m.decide,
	}, nil
}

func (m *metrics) acquireStart(ctx context.Context, data trace.AcquireStart) context.Context {
	m.begin(data)
	m.inProgress.WithLabelValues(data.Object.Kind).Inc()
	return ctx
}

func (m *metrics) acquireEnd(ctx context.Context, data trace.AcquireEnd) {
	kind, contended, result := data.Object.Kind, strconv.FormatBool(data.Contended), observed.Outcome(ctx, data.Err)
	m.acquires.WithLabelValues(kind, contended, result).Inc()
	m.wait.WithLabelValues(kind, contended, result).Observe(data.Waited.Seconds())
	m.inProgress.WithLabelValues(kind).Dec()
	if data.NewLease() {
		m.leases.WithLabelValues(kind).Inc()
	}
}

// begin sets all counters and histograms of a kind to 0: rate() and increase() do not see what begins with 1.
func (m *metrics) begin(data trace.AcquireStart) {
	kind := data.Object.Kind
	if _, begun := m.begun.Load(kind); begun {
		return
	}
	for _, result := range observed.Acquires {
		for _, contended := range []string{"false", "true"} {
			m.acquires.WithLabelValues(kind, contended, result)
			m.wait.WithLabelValues(kind, contended, result)
		}
	}
	if data.Leased {
		for _, reason := range primitives.LossReasons() {
			m.losses.WithLabelValues(kind, string(reason))
		}
		m.leases.WithLabelValues(kind)
	}
	m.begun.Store(kind, true)
}

func (m *metrics) leaseEnd(data trace.LeaseEnd) {
	m.leases.WithLabelValues(data.Object.Kind).Dec()
	m.held.WithLabelValues(data.Object.Kind).Observe(data.Held.Seconds())
	if reason, lost := observed.Loss(data.Cause); lost {
		m.losses.WithLabelValues(data.Object.Kind, string(reason)).Inc()
	}
}

// policy is the label of throttles.
type policy string

// decide counts a decision of a throttle. The first one of a policy sets all its counters to 0.
func (m *metrics) decide(data trace.Throttled) {
	if _, begun := m.begun.LoadOrStore(policy(data.Policy), true); !begun {
		for _, result := range observed.Decisions {
			m.throttled.WithLabelValues(data.Policy, "false", result)
			m.throttled.WithLabelValues(data.Policy, "true", result)
		}
	}
	m.throttled.WithLabelValues(data.Policy, strconv.FormatBool(data.Local), data.Outcome()).Inc()
}

func (m *metrics) renewal(data trace.Renewal) {
	m.lag.Observe(data.Lag.Seconds())
	m.failures.Add(float64(data.Failed))
}

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
