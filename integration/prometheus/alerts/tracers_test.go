package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	otelhasp "github.com/hasp-go/hasp/integration/otel"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// names are OpenTelemetry's names of the metrics, by Prometheus' names.
var names = map[string]string{
	"hasp_acquires_in_progress": "hasp.acquires.in_progress", "hasp_acquires_total": "hasp.acquires",
	"hasp_acquire_wait_seconds": "hasp.acquires.wait", "hasp_leases_held": "hasp.leases.held", "hasp_held_seconds": "hasp.leases.duration",
	"hasp_losses_total": "hasp.losses", "hasp_renewal_lag_seconds": "hasp.renewal.lag",
	"hasp_renewal_failures_total": "hasp.renewal.failures", "hasp_subscription_gaps_total": "hasp.subscription.gaps",
	"hasp_mismatches_total": "hasp.mismatches", "hasp_job_last_completed_timestamp_seconds": "hasp.job.last_completed",
	"hasp_throttle_decisions_total": "hasp.throttle.decisions",
}

// event is something that a client reports.
type event struct {
	name   string
	report func(ctx context.Context, tracer *trace.Tracer)
}

// events are all that clients report, in every outcome: the fields of trace.Tracer, and what their data says.
func events() (all []event) {
	lock := trace.Object{Kind: "lock", Name: "orders"}
	add := func(name string, report func(ctx context.Context, tracer *trace.Tracer)) {
		all = append(all, event{name, report})
	}
	start := func(what string, kind string, leased bool) {
		add("AcquireStart: "+what, func(ctx context.Context, tracer *trace.Tracer) {
			tracer.AcquireStart(ctx, trace.AcquireStart{Object: trace.Object{Kind: kind, Name: "orders"}, Leased: leased})
		})
	}
	start("the first of a kind with leases", "lock", true)
	start("another", "lock", true)
	start("the first of a kind without leases", "rate limiter", false)
	for _, contended := range []bool{false, true} {
		for _, end := range []struct {
			what     string
			attempts int
			leased   bool
			err      error
		}{
			{"a lease is granted", 1, true, nil}, {"a lease is re-entered", 0, true, nil}, {"permits are granted", 1, false, nil},
			{"refused", 1, true, primitives.ErrNotAcquired}, {"the server is away", 1, true, primitives.ErrUnavailable},
		} {
			add(fmt.Sprintf("AcquireEnd: %s, contended %v", end.what, contended), func(ctx context.Context, tracer *trace.Tracer) {
				tracer.AcquireEnd(ctx, trace.AcquireEnd{
					Object: lock, Leased: end.leased, Attempts: end.attempts, Contended: contended, Waited: 2 * time.Second, Err: end.err,
				})
			})
		}
		add(fmt.Sprintf("AcquireEnd: the caller's context has ended, contended %v", contended), func(ctx context.Context, tracer *trace.Tracer) {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			tracer.AcquireEnd(ended, trace.AcquireEnd{
				Object: lock, Leased: true, Attempts: 1, Contended: contended, Waited: 2 * time.Second, Err: errors.Join(primitives.ErrNotAcquired, ended.Err()),
			})
		})
	}
	end := func(what string, cause, err error) {
		add("LeaseEnd: "+what, func(_ context.Context, tracer *trace.Tracer) {
			tracer.LeaseEnd(trace.LeaseEnd{Object: lock, Held: 3 * time.Second, Cause: cause, Err: err})
		})
	}
	end("released", primitives.ErrReleased, nil)
	end("the release failed", primitives.ErrReleased, primitives.ErrIndeterminate)
	end("the client was closed", primitives.ErrClosed, nil)
	for _, reason := range primitives.LossReasons() {
		end("lost, "+string(reason), &primitives.LossError{Reason: reason}, nil)
	}
	add("Renewal: all renewed", func(_ context.Context, tracer *trace.Tracer) {
		tracer.Renewal(trace.Renewal{Leases: 9, Lag: 4 * time.Second})
	})
	add("Renewal: 4 of 9 failed", func(_ context.Context, tracer *trace.Tracer) {
		tracer.Renewal(trace.Renewal{Leases: 9, Failed: 4, Lag: time.Second, Err: primitives.ErrUnavailable})
	})
	add("SubscriptionGap", func(_ context.Context, tracer *trace.Tracer) { tracer.SubscriptionGap(trace.SubscriptionGap{}) })
	add("Mismatch", func(_ context.Context, tracer *trace.Tracer) { tracer.Mismatch(trace.Mismatch{Object: lock}) })
	for _, at := range []int64{1_790_000_000_500, 1_790_000_060_000} {
		add("JobCompleted", func(_ context.Context, tracer *trace.Tracer) {
			tracer.JobCompleted(trace.JobCompleted{Object: trace.Object{Kind: "periodic job", Name: "report"}, Period: time.UnixMilli(at)})
		})
	}
	for _, policy := range []string{"a user", "lock"} { // A policy may have the name of a kind.
		for _, local := range []bool{false, true} {
			for _, d := range []trace.Throttled{{Allowed: true}, {}, {Err: primitives.ErrUnavailable}} {
				d.Object, d.Policy, d.Local = trace.Object{Kind: "throttle", Name: "ann"}, policy, local
				add(fmt.Sprintf("Throttled: %s, %s, local %v", d.Outcome(), policy, local),
					func(_ context.Context, tracer *trace.Tracer) { tracer.Throttled(d) })
			}
		}
	}
	return all
}

// TestTracersAgree reports each event to both tracers: they count the same, which is as the file has it. A function of
// trace.Tracer that no event calls, or a metric that none changes, fails.
func TestTracersAgree(t *testing.T) {
	t.Parallel()
	registry, reader := prometheus.NewRegistry(), sdkmetric.NewManualReader()
	first, err := promhasp.NewTracer(registry)
	require.NoError(t, err)
	second, err := otelhasp.NewTracer(&otelhasp.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	require.NoError(t, err)
	var lines []string
	have := map[string]float64{}
	for _, e := range events() {
		e.report(t.Context(), first)
		e.report(t.Context(), second)
		lines = append(lines, e.name)
		now := ofPrometheus(t, registry)
		require.Equal(t, now, ofOpenTelemetry(t, reader), e.name)
		for _, series := range slices.Sorted(maps.Keys(now)) {
			if before, known := have[series]; !known || before != now[series] {
				lines = append(lines, fmt.Sprintf("  %s = %v", series, now[series]))
			}
		}
		have = now
	}
	text := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/events.txt"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "UPDATE=1 go test writes it")
	for field := range reflect.TypeFor[trace.Tracer]().Fields() {
		require.Contains(t, text, field.Name)
	}
	for name := range names {
		require.Contains(t, text, "  "+name)
	}
}

// ofPrometheus returns all series, but the gauges and histograms that are 0: OpenTelemetry has none of them.
func ofPrometheus(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		require.Contains(t, names, family.GetName())
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+" "+l.GetValue())
			}
			series := family.GetName() + "{" + strings.Join(labels, ", ") + "}"
			switch h := m.GetHistogram(); {
			case m.GetCounter() != nil:
				all[series] = m.GetCounter().GetValue()
			case m.GetGauge().GetValue() != 0:
				all[series] = m.GetGauge().GetValue()
			case h.GetSampleCount() > 0:
				all[series+" count"], all[series+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			}
		}
	}
	return all
}

// ofOpenTelemetry returns the same, by Prometheus' names.
func ofOpenTelemetry(t *testing.T, reader *sdkmetric.ManualReader) map[string]float64 {
	t.Helper()
	all := map[string]float64{
		"hasp_renewal_failures_total{}": 0, "hasp_subscription_gaps_total{}": 0, // Without labels Prometheus has them at once.
	}
	name := map[string]string{}
	for prom, otel := range names {
		name[otel] = prom
	}
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &data))
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			require.Contains(t, name, m.Name)
			series := func(labels []string) string { return name[m.Name] + "{" + strings.Join(labels, ", ") + "}" }
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range d.DataPoints {
					if d.IsMonotonic || point.Value != 0 {
						all[series(labelsOf(point))] = float64(point.Value)
					}
				}
			case metricdata.Gauge[float64]:
				for _, point := range d.DataPoints {
					all[series(labelsOf(point))] = point.Value
				}
			case metricdata.Histogram[float64]:
				for _, point := range d.DataPoints {
					labels := series(labelsOf(metricdata.DataPoint[int64]{Attributes: point.Attributes}))
					all[labels+" count"], all[labels+" sum"] = float64(point.Count), point.Sum
				}
			default:
				t.Fatalf("%s: %T", m.Name, d)
			}
		}
	}
	return all
}

// labelsOf returns the attributes as Prometheus writes its labels.
func labelsOf[N int64 | float64](point metricdata.DataPoint[N]) (labels []string) {
	for _, a := range point.Attributes.ToSlice() {
		labels = append(labels, strings.TrimPrefix(string(a.Key), "hasp.")+" "+fmt.Sprint(a.Value.AsInterface()))
	}
	return labels
}
