package otelhasp_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hasp-go/hasp/hasptest"
	otelhasp "github.com/hasp-go/hasp/integration/otel"
	"github.com/hasp-go/hasp/primitives"
)

// recorded has what a tracer reports.
type recorded struct {
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
}

func newRecorded() *recorded {
	r := &recorded{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	return r
}

// measured reports whether there are metrics.
func (r *recorded) measured(t *testing.T) bool {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &all))
	return len(all.ScopeMetrics) > 0
}

// acquires makes one acquire of each outcome, but for two that acquire.
func acquires(ctx context.Context, t *testing.T, s *hasptest.Server, lock *primitives.Lock) {
	t.Helper()
	lease, err := lock.Lock(ctx)
	require.NoError(t, err)
	_, err = lock.TryLock(ctx)
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err = lock.Lock(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	time.AfterFunc(2*time.Second, func() { _ = lease.Release(context.Background()) })
	second, err := lock.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, second.Release(ctx))
	s.FailAcquires(1)
	_, err = lock.TryLock(ctx)
	require.Error(t, err)
}

// ends are the acquires of acquires.
var ends = []struct {
	contended, try bool
	outcome        string
	seconds        float64
	status         codes.Code
}{
	{false, false, "acquired", 0, codes.Unset},
	{true, true, "refused", 0, codes.Unset},
	{true, false, "ended", 3, codes.Error},
	{true, false, "acquired", 2, codes.Unset},
	{false, true, "failed", 0, codes.Error},
}

// TestSpans: each acquire has a span, which is a child of the caller's.
func TestSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := hasptest.New(t), newRecorded()
		tracer, err := otelhasp.NewTracer(&otelhasp.Options{TracerProvider: r.traces, MeterProvider: r.meters})
		require.NoError(t, err)
		ctx, parent := r.traces.Tracer("test").Start(t.Context(), "order")
		acquires(ctx, t, s, s.Client(&primitives.Options{Tracer: tracer}).NewLock("orders", nil))
		spans := r.spans.Ended()
		require.Len(t, spans, len(ends))
		for i, want := range ends {
			require.Equal(t, parent.SpanContext().SpanID(), spans[i].Parent().SpanID())
			require.Equal(t, "acquire lock", spans[i].Name())
			require.Equal(t, want.status, spans[i].Status().Code, "%v", want)
			require.InDelta(t, want.seconds, spans[i].EndTime().Sub(spans[i].StartTime()).Seconds(), 0.1)
			require.Subset(t, spans[i].Attributes(), []attribute.KeyValue{
				attribute.String("hasp.kind", "lock"), attribute.String("hasp.name", "orders"), attribute.Bool("hasp.try", want.try),
				attribute.Bool("hasp.contended", want.contended), attribute.String("hasp.outcome", want.outcome),
			})
		}
		require.Contains(t, spans[0].Attributes(), attribute.Int("hasp.attempts", 1))
	})
}

// refusing is a MeterProvider whose meters make no counter.
type refusing struct{ metric.MeterProvider }

type refusingMeter struct{ metric.Meter }

func (r refusing) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return refusingMeter{r.MeterProvider.Meter(name, opts...)}
}

var errRefused = errors.New("refused")

func (refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errRefused
}

func TestMeterRefuses(t *testing.T) {
	t.Parallel()
	_, err := otelhasp.NewTracer(&otelhasp.Options{MeterProvider: refusing{sdkmetric.NewMeterProvider()}})
	require.ErrorIs(t, err, errRefused)
}

// TestOptions: each provider is used alone, and OpenTelemetry's global one instead of the other, or of both.
func TestOptions(t *testing.T) {
	require.Len(t, reflect.VisibleFields(reflect.TypeFor[otelhasp.Options]()), 3, "here each has its effect")
	synctest.Test(t, func(t *testing.T) {
		set, global := newRecorded(), newRecorded()
		otel.SetTracerProvider(global.traces)
		otel.SetMeterProvider(global.meters)
		for i, o := range []*otelhasp.Options{{TracerProvider: set.traces}, {MeterProvider: set.meters}, nil} {
			tracer, err := otelhasp.NewTracer(o)
			require.NoError(t, err)
			_, err = hasptest.New(t).Client(&primitives.Options{Tracer: tracer}).NewLock("x", nil).Lock(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int{1, i}, []int{len(set.spans.Ended()), len(global.spans.Ended())})
			require.Equal(t, []bool{i > 0, true}, []bool{set.measured(t), global.measured(t)})
		}
	})
}
