package promhasp_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
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

// suffixes are what Prometheus adds to the name of a histogram.
var suffixes = regexp.MustCompile(`_(bucket|count|sum)$`)

// TestDashboardNamesTheMetrics: the panels' queries name each metric, and no other, and the page's picture has each
// panel. Prometheus itself runs the queries in examples/observe.
func TestDashboardNamesTheMetrics(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("dashboard.json"))(t)
	drawn := must(os.ReadFile("../../docs/pictures/dashboard.svg"))(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	queried := map[string]bool{}
	for _, panel := range dashboard.Panels {
		require.Contains(t, string(drawn), ">"+panel.Title+"</text>", "go run ./bench/dashboard draws it")
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`hasp_\w+`).FindAllString(target.Expr, -1) {
				queried[suffixes.ReplaceAllString(name, "")] = true
			}
			require.Equal(t, strings.Count(target.Expr, "hasp_"), strings.Count(target.Expr, `job=~"$job"`), target.Expr)
		}
	}
	reg := prometheus.NewRegistry()
	reportAll(t, reg)
	require.Empty(t, must(testutil.GatherAndLint(reg))(t), "names and units are as Prometheus recommends")
	metrics := map[string][]string{} // the names of their labels, in order
	for _, family := range must(reg.Gather())(t) {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		metrics[family.GetName()] = labels
	}
	require.Len(t, queried, len(metrics))
	requirePage(t, metrics)
	for name := range queried {
		require.Contains(t, metrics, name)
	}
}

// requirePage requires that docs/operate/monitoring.md lists each metric with its labels, and that its alerts, the only
// list of their thresholds, are of these metrics and labels.
func requirePage(t *testing.T, metrics map[string][]string) {
	t.Helper()
	text := must(os.ReadFile("../../docs/operate/monitoring.md"))(t)
	list, alerts, found := strings.Cut(string(text), "\n## Alerts\n")
	require.True(t, found)
	listed := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(hasp_\\w+)` (?:\\(([^)]*)\\) )?\\|").FindAllStringSubmatch(list, -1) {
		labels := regexp.MustCompile(`\w+`).FindAllString(row[2], -1)
		slices.Sort(labels)
		listed[row[1]] = labels
	}
	require.Equal(t, metrics, listed)
	alarmed := regexp.MustCompile(`(hasp_\w+)(?:\{(\w+)=)?`).FindAllStringSubmatch(alerts, -1)
	require.NotEmpty(t, alarmed)
	for _, alert := range alarmed {
		labels, known := metrics[suffixes.ReplaceAllString(alert[1], "")]
		require.True(t, known, alert[0])
		if alert[2] != "" {
			require.Contains(t, labels, alert[2], alert[0])
		}
	}
}
