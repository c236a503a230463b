package otelhasp

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/hasp-go/hasp/integration/otel"

// Options configure a [Tracer]. The zero value of each field means its default.
type Options struct {
	// TracerProvider makes the spans. Nil means OpenTelemetry's global provider.
	TracerProvider oteltrace.TracerProvider

	// MeterProvider makes the metrics. Nil means OpenTelemetry's global provider.
	MeterProvider metric.MeterProvider

	_ struct{}
}

// Tracer is a [trace.Tracer] that reports to OpenTelemetry. It gets everything that a client reports. Its
// methods are for clients, and are safe for concurrent use. They do not block unless a span processor does.
type Tracer struct {
	spans oteltrace.Tracer
	instruments
}

var _ interface {
	trace.Tracer
	trace.LeaseTracer
	trace.RenewalTracer
	trace.SubscriptionTracer
	trace.MismatchTracer
} = (*Tracer)(nil)

// NewTracer returns a tracer. It returns the error of the MeterProvider if that refuses an instrument. Nil options
// are the defaults.
func NewTracer(opts *Options) (*Tracer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	made, err := newInstruments(o.MeterProvider.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &Tracer{o.TracerProvider.Tracer(scope), made}, nil
}

// TraceAcquireStart implements [trace.Tracer]. It returns a context with the span of the acquire.
func (t *Tracer) TraceAcquireStart(ctx context.Context, data trace.AcquireStart) context.Context {
	ctx, _ = t.spans.Start(ctx, "acquire "+data.Object.Kind, oteltrace.WithSpanKind(oteltrace.SpanKindClient),
		oteltrace.WithAttributes(
			kind(data.Object), attribute.String("hasp.name", data.Object.Name), attribute.Bool("hasp.try", data.Try),
		))
	return ctx
}

// TraceAcquireEnd implements [trace.Tracer]. It ends the span of ctx.
func (t *Tracer) TraceAcquireEnd(ctx context.Context, data trace.AcquireEnd) {
	result := outcome(ctx, data.Err)
	contended := attribute.Bool("hasp.contended", data.Contended)
	ended := attribute.String("hasp.outcome", result)
	labels := metric.WithAttributeSet(attribute.NewSet(kind(data.Object), contended, ended))
	t.wait.Record(ctx, data.Waited.Seconds(), labels)
	t.acquires.Add(ctx, 1, labels)
	if data.Err == nil {
		t.losses.Add(ctx, 0, metric.WithAttributes(kind(data.Object))) // An increase is seen only from a 0 on.
	}
	span := oteltrace.SpanFromContext(ctx)
	span.SetAttributes(contended, ended, attribute.Int("hasp.attempts", data.Attempts))
	if result == "ended" || result == "failed" {
		span.RecordError(data.Err)
		span.SetStatus(codes.Error, data.Err.Error())
	}
	span.End()
}

// outcome returns the attribute of an acquire with an error.
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

func kind(object trace.Object) attribute.KeyValue {
	return attribute.String("hasp.kind", object.Kind)
}

// TraceLeaseEnd implements [trace.LeaseTracer].
func (t *Tracer) TraceLeaseEnd(data trace.LeaseEnd) {
	ctx, labels := context.Background(), metric.WithAttributes(kind(data.Object))
	t.held.Record(ctx, data.Held.Seconds(), labels)
	if errors.Is(data.Cause, primitives.ErrLost) {
		t.losses.Add(ctx, 1, labels)
	}
}

// TraceRenewal implements [trace.RenewalTracer].
func (t *Tracer) TraceRenewal(data trace.Renewal) {
	t.lag.Record(context.Background(), data.Lag.Seconds())
	t.failures.Add(context.Background(), int64(data.Failed))
}

// TraceSubscriptionGap implements [trace.SubscriptionTracer].
func (t *Tracer) TraceSubscriptionGap(trace.SubscriptionGap) {
	t.gaps.Add(context.Background(), 1)
}

// TraceMismatch implements [trace.MismatchTracer].
func (t *Tracer) TraceMismatch(data trace.Mismatch) {
	t.mismatches.Add(context.Background(), 1, metric.WithAttributes(kind(data.Object)))
}
