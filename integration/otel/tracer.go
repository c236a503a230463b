package otelhasp

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/hasp-go/hasp/integration/internal/observed"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/hasp-go/hasp/integration/otel"

// Options configure a tracer. The zero value of each field means its default.
type Options struct {
	// TracerProvider makes the spans. Nil means OpenTelemetry's global provider.
	TracerProvider oteltrace.TracerProvider

	// MeterProvider makes the metrics. Nil means OpenTelemetry's global provider.
	MeterProvider metric.MeterProvider

	_ struct{}
}

// reporter reports to OpenTelemetry. It does not block unless a span processor does.
type reporter struct {
	spans oteltrace.Tracer
	instruments
	begun sync.Map // the kinds and policies that have been counted
}

// NewTracer returns a tracer that reports everything to OpenTelemetry. It returns the error of the MeterProvider if that
// refuses an instrument. Nil options are the defaults.
func NewTracer(opts *Options) (*trace.Tracer, error) {
	o := *cmp.Or(opts, new(Options))
	made, err := newInstruments(cmp.Or(o.MeterProvider, otel.GetMeterProvider()).Meter(scope))
	if err != nil {
		return nil, err
	}
	r := &reporter{spans: cmp.Or(o.TracerProvider, otel.GetTracerProvider()).Tracer(scope), instruments: made}
	return &trace.Tracer{
		AcquireStart: r.acquireStart, AcquireEnd: r.acquireEnd, LeaseEnd: r.leaseEnd, Renewal: r.renewal,
		SubscriptionGap: r.subscriptionGap, Mismatch: r.mismatch, JobCompleted: r.jobCompleted, Throttled: r.decide,
	}, nil
}

func (r *reporter) acquireStart(ctx context.Context, data trace.AcquireStart) context.Context {
	r.begin(ctx, data)
	r.inProgress.Add(ctx, 1, metric.WithAttributes(kind(data.Object)))
	ctx, _ = r.spans.Start(ctx, "acquire "+data.Object.Kind, oteltrace.WithSpanKind(oteltrace.SpanKindClient),
		oteltrace.WithAttributes(
			kind(data.Object), attribute.String("hasp.name", data.Object.Name), attribute.Bool("hasp.try", data.Try),
		))
	return ctx
}

func (r *reporter) acquireEnd(ctx context.Context, data trace.AcquireEnd) {
	result := observed.Outcome(ctx, data.Err)
	contended := attribute.Bool("hasp.contended", data.Contended)
	ended := attribute.String("hasp.outcome", result)
	labels := metric.WithAttributeSet(attribute.NewSet(kind(data.Object), contended, ended))
	r.wait.Record(ctx, data.Waited.Seconds(), labels)
	r.acquires.Add(ctx, 1, labels)
	r.inProgress.Add(ctx, -1, metric.WithAttributes(kind(data.Object)))
	if data.NewLease() {
		r.leases.Add(ctx, 1, metric.WithAttributes(kind(data.Object)))
	}
	span := oteltrace.SpanFromContext(ctx)
	span.SetAttributes(contended, ended, attribute.Int("hasp.attempts", data.Attempts))
	if result == "ended" || result == "failed" {
		span.RecordError(data.Err)
		span.SetStatus(codes.Error, data.Err.Error())
	}
	span.End()
}

// begin adds 0 to all counters of a kind: an increase is seen only from a 0 on.
func (r *reporter) begin(ctx context.Context, data trace.AcquireStart) {
	if _, begun := r.begun.LoadOrStore(data.Object.Kind, true); begun {
		return
	}
	for _, result := range observed.Acquires {
		for _, contended := range []bool{false, true} {
			r.acquires.Add(ctx, 0, metric.WithAttributes(kind(data.Object),
				attribute.Bool("hasp.contended", contended), attribute.String("hasp.outcome", result)))
		}
	}
	if data.Leased {
		for _, reason := range primitives.LossReasons() {
			r.losses.Add(ctx, 0, metric.WithAttributes(kind(data.Object), because(reason)))
		}
	}
}

func kind(object trace.Object) attribute.KeyValue {
	return attribute.String("hasp.kind", object.Kind)
}

func (r *reporter) leaseEnd(data trace.LeaseEnd) {
	ctx, labels := context.Background(), metric.WithAttributes(kind(data.Object))
	r.held.Record(ctx, data.Held.Seconds(), labels)
	r.leases.Add(ctx, -1, labels)
	if reason, lost := observed.Loss(data.Cause); lost {
		r.losses.Add(ctx, 1, metric.WithAttributes(kind(data.Object), because(reason)))
	}
}

func because(reason primitives.LossReason) attribute.KeyValue {
	return attribute.String("hasp.reason", string(reason))
}

func (r *reporter) renewal(data trace.Renewal) {
	r.lag.Record(context.Background(), data.Lag.Seconds())
	r.failures.Add(context.Background(), int64(data.Failed))
}

func (r *reporter) subscriptionGap(trace.SubscriptionGap) {
	r.gaps.Add(context.Background(), 1)
}

func (r *reporter) mismatch(data trace.Mismatch) {
	r.mismatches.Add(context.Background(), 1, metric.WithAttributes(kind(data.Object)))
}

func (r *reporter) jobCompleted(data trace.JobCompleted) {
	r.completed.Record(context.Background(), float64(data.Period.UnixMilli())/1000,
		metric.WithAttributes(attribute.String("hasp.name", data.Object.Name)))
}

// decide counts a decision of a throttle. The first one of a policy adds 0 to all its counters.
func (r *reporter) decide(data trace.Throttled) {
	count := func(n int64, local bool, outcome string) {
		r.throttled.Add(context.Background(), n, metric.WithAttributes(attribute.String("hasp.policy", data.Policy),
			attribute.Bool("hasp.local", local), attribute.String("hasp.outcome", outcome)))
	}
	if _, begun := r.begun.LoadOrStore(policy(data.Policy), true); !begun {
		for _, outcome := range observed.Decisions {
			count(0, false, outcome)
			count(0, true, outcome)
		}
	}
	count(1, data.Local, data.Outcome())
}

// policy is the policy of throttles.
type policy string

// instruments are the metrics.
type instruments struct {
	wait, held, lag                              metric.Float64Histogram
	acquires, losses, failures, gaps, mismatches metric.Int64Counter
	throttled                                    metric.Int64Counter
	inProgress, leases                           metric.Int64UpDownCounter
	completed                                    metric.Float64Gauge
}

func newInstruments(meter metric.Meter) (instruments, error) {
	var errs []error
	seconds := func(name, description string, buckets []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithDescription(description), metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, description, unit string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = append(errs, err)
		return c
	}
	gauge := func(name, description, unit string) metric.Int64UpDownCounter {
		c, err := meter.Int64UpDownCounter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = append(errs, err)
		return c
	}
	completed, err := meter.Float64Gauge("hasp.job.last_completed",
		metric.WithDescription("Time for which a job was last completed, since 1970."), metric.WithUnit("s"))
	errs = append(errs, err)
	made := instruments{
		completed:  completed,
		wait:       seconds("hasp.acquires.wait", "Time from the start of an acquire to its end.", observed.WaitBuckets),
		held:       seconds("hasp.leases.duration", "Time from a grant to the end of the lease.", observed.HeldBuckets),
		lag:        seconds("hasp.renewal.lag", "How much later than planned the watchdog sent a renewal.", observed.LagBuckets),
		acquires:   counter("hasp.acquires", "Acquires that have ended.", "{acquire}"),
		inProgress: gauge("hasp.acquires.in_progress", "Acquires that have not ended.", "{acquire}"),
		leases:     gauge("hasp.leases.held", "Leases that are held.", "{lease}"),
		losses:     counter("hasp.losses", "Leases that were lost.", "{lease}"),
		failures:   counter("hasp.renewal.failures", "Leases that a renewal did not renew.", "{lease}"),
		gaps: counter("hasp.subscription.gaps", "How often messages to waiters may have been missed.",
			"{gap}"),
		mismatches: counter("hasp.mismatches", "Options that differ from what the server has.", "{option}"),
		throttled:  counter("hasp.throttle.decisions", "Decisions of throttles and rate limiters.", "{decision}"),
	}
	return made, errors.Join(errs...)
}
