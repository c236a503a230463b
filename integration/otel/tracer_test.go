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
	"github.com/hasp-go/hasp/primitives/trace"
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

func newTracer(t *testing.T) (*trace.Tracer, *recorded) {
	t.Helper()
	r := newRecorded()
	tracer, err := otelhasp.NewTracer(&otelhasp.Options{TracerProvider: r.traces, MeterProvider: r.meters})
	require.NoError(t, err)
	return tracer, r
}

// observed runs a test in virtual time with a client whose tracer is recorded.
func observed(t *testing.T, test func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *recorded)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracer, r := newTracer(t)
		s := hasptest.New(t)
		test(t, s, s.Client(&primitives.Options{Tracer: tracer}), r)
	})
}

// metric returns the data of a metric; nil if nothing was measured.
func (r *recorded) metric(t *testing.T, name string) metricdata.Aggregation {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				return m.Data
			}
		}
	}
	return nil
}

// counter returns a counter of the attributes; -1 if it was never counted.
func (r *recorded) counter(t *testing.T, name string, of ...attribute.KeyValue) int64 {
	t.Helper()
	sum, _ := r.metric(t, name).(metricdata.Sum[int64])
	want := attribute.NewSet(of...)
	for _, point := range sum.DataPoints {
		if point.Attributes.Equals(&want) {
			return point.Value
		}
	}
	return -1
}

// histogram returns the count and the sum of a histogram of the attributes.
func (r *recorded) histogram(t *testing.T, name string, of ...attribute.KeyValue) (count uint64, sum float64) {
	t.Helper()
	histogram, _ := r.metric(t, name).(metricdata.Histogram[float64])
	want := attribute.NewSet(of...)
	for _, point := range histogram.DataPoints {
		if point.Attributes.Equals(&want) {
			return point.Count, point.Sum
		}
	}
	return 0, 0
}

var (
	isLock = attribute.String("hasp.kind", "lock")
	isGone = attribute.String("hasp.reason", "gone")
)

// acquires makes one acquire of each outcome, but for two that acquire.
func acquires(t *testing.T, s *hasptest.Server, lock *primitives.Lock) {
	t.Helper()
	lease, err := lock.Lock(t.Context())
	require.NoError(t, err)
	_, err = lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = lock.Lock(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	time.AfterFunc(2*time.Second, func() { _ = lease.Release(context.Background()) })
	second, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, second.Release(t.Context()))
	s.FailAcquires(1)
	_, err = lock.TryLock(t.Context())
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

func TestAcquires(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *recorded) {
		acquires(t, s, c.NewLock("orders", nil))
		for _, want := range ends {
			labels := []attribute.KeyValue{
				isLock, attribute.Bool("hasp.contended", want.contended), attribute.String("hasp.outcome", want.outcome),
			}
			require.EqualValues(t, 1, r.counter(t, "hasp.acquires", labels...), "%v", want)
			count, seconds := r.histogram(t, "hasp.acquires.wait", labels...)
			require.EqualValues(t, 1, count, "%v", want)
			require.InDelta(t, want.seconds, seconds, 0.1, "%v", want)
		}
		synctest.Wait() // The first release may return after the grant that follows it.
		leases, held := r.histogram(t, "hasp.leases.duration", isLock)
		require.EqualValues(t, 2, leases)
		require.InDelta(t, 5, held, 0.1)
	})
}

func TestSpans(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *recorded) {
		acquires(t, s, c.NewLock("orders", nil))
		spans := r.spans.Ended()
		require.Len(t, spans, len(ends))
		for i, want := range ends {
			require.Equal(t, "acquire lock", spans[i].Name())
			require.Equal(t, want.status, spans[i].Status().Code, "%v", want)
			require.InDelta(t, want.seconds, spans[i].EndTime().Sub(spans[i].StartTime()).Seconds(), 0.1)
			require.Subset(t, spans[i].Attributes(), []attribute.KeyValue{
				isLock, attribute.String("hasp.name", "orders"), attribute.Bool("hasp.try", want.try),
				attribute.Bool("hasp.contended", want.contended), attribute.String("hasp.outcome", want.outcome),
			})
		}
		require.Contains(t, spans[0].Attributes(), attribute.Int("hasp.attempts", 1))
	})
}

// TestParent: the span of an acquire is a child of the caller's.
func TestParent(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *recorded) {
		ctx, parent := r.traces.Tracer("test").Start(t.Context(), "order")
		lease, err := c.NewLock("orders", nil).Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, lease.Release(ctx))
		parent.End()
		spans := r.spans.Ended()
		require.Len(t, spans, 2)
		require.Equal(t, parent.SpanContext().SpanID(), spans[0].Parent().SpanID())
	})
}

// TestLosses: the counter of a kind is there before its first loss.
func TestLosses(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *recorded) {
		lease, err := c.NewLock("orders", nil).Lock(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.counter(t, "hasp.losses", isLock, isGone))
		s.Lose("orders")
		<-lease.Done()
		synctest.Wait()
		require.EqualValues(t, 1, r.counter(t, "hasp.losses", isLock, isGone))
	})
}

func TestOutage(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *recorded) {
		lock := c.NewLock("orders", nil)
		lease, err := lock.Lock(t.Context())
		require.NoError(t, err)
		go func() { _, _ = lock.Lock(t.Context()) }() // A waiter, whose subscription has a gap.
		time.Sleep(15 * time.Second)
		require.Zero(t, r.counter(t, "hasp.renewal.failures"))
		renewals, _ := r.histogram(t, "hasp.renewal.lag")
		require.Positive(t, renewals)

		s.Away(time.Minute)
		<-lease.Done()
		time.Sleep(2 * time.Minute)
		require.Positive(t, r.counter(t, "hasp.renewal.failures"))
		require.Positive(t, r.counter(t, "hasp.subscription.gaps"))
		require.EqualValues(t, 1, r.counter(t, "hasp.losses", isLock, attribute.String("hasp.reason", "outage")))
	})
}

// TestThrottles: the first decision of a policy adds 0 to the counters of the others.
func TestThrottles(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *recorded) {
		o := &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Policy: "users"}
		_, err := c.NewThrottle("x", primitives.Limit{Permits: 1, Interval: time.Hour}, o).Allow(t.Context(), 1)
		require.NoError(t, err)
		for i, outcome := range []string{"allowed", "refused", "failed"} {
			count := r.counter(t, "hasp.throttle.decisions", attribute.String("hasp.policy", "users"), attribute.Bool("hasp.local", false), attribute.String("hasp.outcome", outcome))
			require.Equal(t, []int64{1, 0, 0}[i], count)
		}
	})
}

// TestJobs: the gauge of a job has the period that was completed last.
func TestJobs(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *recorded) {
		due := time.Now()
		_, err := c.NewPeriodicJob("report", time.Hour, nil).Do(t.Context(), due, func(context.Context, primitives.JobRun) error { return nil })
		require.NoError(t, err)
		completed, _ := r.metric(t, "hasp.job.last_completed").(metricdata.Gauge[float64])
		require.Len(t, completed.DataPoints, 1)
		require.InDelta(t, due.Unix(), completed.DataPoints[0].Value, 1)
		require.Equal(t, attribute.NewSet(attribute.String("hasp.name", "report")), completed.DataPoints[0].Attributes)
	})
}

// TestGlobalProviders: without options a tracer works, and does nothing until providers are set.
func TestGlobalProviders(t *testing.T) {
	t.Parallel()
	tracer, err := otelhasp.NewTracer(nil)
	require.NoError(t, err)
	ctx := tracer.AcquireStart(t.Context(), trace.AcquireStart{})
	tracer.AcquireEnd(ctx, trace.AcquireEnd{Err: errors.New("x")})
	require.NoError(t, ctx.Err())
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

// TestOptions: each provider is used alone, and OpenTelemetry's global one instead of the other.
func TestOptions(t *testing.T) {
	require.Len(t, reflect.VisibleFields(reflect.TypeFor[otelhasp.Options]()), 3, "here each has its effect")
	synctest.Test(t, func(t *testing.T) {
		set, global := newRecorded(), newRecorded()
		otel.SetTracerProvider(global.traces)
		otel.SetMeterProvider(global.meters)
		for i, o := range []otelhasp.Options{{TracerProvider: set.traces}, {MeterProvider: set.meters}} {
			tracer, err := otelhasp.NewTracer(&o)
			require.NoError(t, err)
			_, err = hasptest.New(t).Client(&primitives.Options{Tracer: tracer}).NewLock("x", nil).Lock(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int{1, i}, []int{len(set.spans.Ended()), len(global.spans.Ended())})
			require.Equal(t, []bool{i == 1, true}, []bool{set.metric(t, "hasp.acquires") != nil, global.metric(t, "hasp.acquires") != nil})
		}
	})
}
