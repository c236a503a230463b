package promhasp

import (
	"context"
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// Tracer is a [trace.Tracer] that counts for Prometheus. It gets everything that a client reports. Its methods
// are for clients, do not block, and are safe for concurrent use. It is also the prometheus.Collector of its metrics.
type Tracer struct {
	wait       *prometheus.HistogramVec
	held       *prometheus.HistogramVec
	losses     *prometheus.CounterVec
	lag        prometheus.Histogram
	failures   prometheus.Counter
	gaps       prometheus.Counter
	mismatches *prometheus.CounterVec
}

var _ interface {
	trace.Tracer
	trace.LeaseTracer
	trace.RenewalTracer
	trace.SubscriptionTracer
	trace.MismatchTracer
	prometheus.Collector
} = (*Tracer)(nil)

// NewTracer returns a tracer, and registers its metrics in reg. If reg already has metrics of these names, such as
// another tracer's, nothing is registered, and it returns the error of reg, a prometheus.AlreadyRegisteredError for
// another tracer.
func NewTracer(reg prometheus.Registerer) (*Tracer, error) {
	t := newTracer()
	if err := reg.Register(t); err != nil {
		return nil, err
	}
	return t, nil
}

// TraceAcquireStart implements [trace.Tracer]. It returns ctx.
func (t *Tracer) TraceAcquireStart(ctx context.Context, _ trace.AcquireStart) context.Context {
	return ctx
}

// TraceAcquireEnd implements [trace.Tracer].
func (t *Tracer) TraceAcquireEnd(ctx context.Context, data trace.AcquireEnd) {
	kind := data.Object.Kind
	t.wait.WithLabelValues(kind, strconv.FormatBool(data.Contended), outcome(ctx, data.Err)).
		Observe(data.Waited.Seconds())
	if data.Err == nil {
		t.losses.WithLabelValues(kind) // At 0: increase() does not see a counter that begins with 1.
	}
}

// outcome returns the label of an acquire with an error.
func outcome(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "acquired"
	case ctx.Err() != nil: // The error may match ErrNotAcquired, too.
		return "ended"
	case errors.Is(err, primitives.ErrNotAcquired):
		return "refused"
	}
	return "failed"
}

// TraceLeaseEnd implements [trace.LeaseTracer].
func (t *Tracer) TraceLeaseEnd(data trace.LeaseEnd) {
	t.held.WithLabelValues(data.Object.Kind).Observe(data.Held.Seconds())
	if errors.Is(data.Cause, primitives.ErrLost) {
		t.losses.WithLabelValues(data.Object.Kind).Inc()
	}
}

// TraceRenewal implements [trace.RenewalTracer].
func (t *Tracer) TraceRenewal(data trace.Renewal) {
	t.lag.Observe(data.Lag.Seconds())
	t.failures.Add(float64(data.Failed))
}

// TraceSubscriptionGap implements [trace.SubscriptionTracer].
func (t *Tracer) TraceSubscriptionGap(trace.SubscriptionGap) { t.gaps.Inc() }

// TraceMismatch implements [trace.MismatchTracer].
func (t *Tracer) TraceMismatch(data trace.Mismatch) {
	t.mismatches.WithLabelValues(data.Object.Kind).Inc()
}
