package promhasp_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	buckets "github.com/hasp-go/hasp/integration/internal/observed"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// observed runs a test in virtual time with a client whose tracer counts in a registry.
func observed(t *testing.T, test func(t *testing.T, c *primitives.Client, r *prometheus.Registry)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		tracer := must(promhasp.NewTracer(r))(t)
		test(t, hasptest.New(t).Client(&primitives.Options{Tracer: tracer}), r)
	})
}

// TestNameThatIsNoUTF8: a job's name may be any bytes. Prometheus refuses such a label, by a panic.
func TestNameThatIsNoUTF8(t *testing.T) {
	observed(t, func(t *testing.T, c *primitives.Client, r *prometheus.Registry) {
		work := func(context.Context, primitives.JobRun) error { return nil }
		require.True(t, must(c.NewPeriodicJob("M\xfcnchen", time.Hour, nil).Do(t.Context(), time.Now(), work))(t))
		for _, family := range must(r.Gather())(t) {
			if m := family.GetMetric()[0]; family.GetName() == "hasp_job_last_completed_timestamp_seconds" {
				require.Equal(t, "M\uFFFDnchen", m.GetLabel()[0].GetValue())
				require.InDelta(t, time.Now().Unix(), m.GetGauge().GetValue(), 1)
				return
			}
		}
		require.Fail(t, "no metric of the job")
	})
}

// TestRegisteredOnce: of two tracers, or beside a metric of one of its names, nothing is registered.
func TestRegisteredOnce(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	require.NoError(t, errOf(promhasp.NewTracer(r)))
	require.ErrorAs(t, errOf(promhasp.NewTracer(r)), new(prometheus.AlreadyRegisteredError))

	r = prometheus.NewRegistry()
	r.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "hasp_renewal_failures_total", Help: "another"}))
	require.Error(t, errOf(promhasp.NewTracer(r)))
	require.Equal(t, 1, must(testutil.GatherAndCount(r))(t))
}

// reportAll reports to a new tracer one event of each that has a label.
func reportAll(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	tracer := must(promhasp.NewTracer(reg))(t)
	object := trace.Object{Kind: "lock"}
	ctx := tracer.AcquireStart(t.Context(), trace.AcquireStart{Object: object, Leased: true})
	tracer.AcquireEnd(ctx, trace.AcquireEnd{Object: object, Leased: true})
	tracer.LeaseEnd(trace.LeaseEnd{Object: object})
	tracer.Mismatch(trace.Mismatch{Object: object})
	tracer.JobCompleted(trace.JobCompleted{Object: object})
	tracer.Throttled(trace.Throttled{Policy: "user"})
}

// must returns a function that returns what a call returned, and requires that it did not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }

// TestAllocations: counting an acquire and its lease allocates nothing.
func TestAllocations(t *testing.T) { //nolint:paralleltest // It counts allocations.
	tracer := must(promhasp.NewTracer(prometheus.NewRegistry()))(t)
	ctx, object := t.Context(), trace.Object{Kind: "lock", Name: "orders"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tracer.AcquireEnd(tracer.AcquireStart(ctx, trace.AcquireStart{Object: object}), trace.AcquireEnd{Object: object, Waited: time.Millisecond})
		tracer.LeaseEnd(trace.LeaseEnd{Object: object, Held: time.Second})
	}))
}

// TestBuckets: each histogram has its own, and not Prometheus's.
func TestBuckets(t *testing.T) {
	observed(t, func(t *testing.T, c *primitives.Client, r *prometheus.Registry) {
		lease := must(c.NewLock("x", nil).Lock(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))
		bounds := map[string][]float64{}
		for _, family := range must(r.Gather())(t) {
			for _, b := range family.GetMetric()[0].GetHistogram().GetBucket() {
				bounds[family.GetName()] = append(bounds[family.GetName()], b.GetUpperBound())
			}
		}
		require.Equal(t, map[string][]float64{
			"hasp_acquire_wait_seconds": buckets.WaitBuckets, "hasp_held_seconds": buckets.HeldBuckets,
			"hasp_renewal_lag_seconds": buckets.LagBuckets,
		}, bounds)
	})
}
