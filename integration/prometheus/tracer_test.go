package promhasp_test

import (
	"context"
	"slices"
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
func observed(t *testing.T, test func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := hasptest.New(t), &registry{prometheus.NewRegistry()}
		tracer := must(promhasp.NewTracer(r))(t)
		test(t, s, s.Client(&primitives.Options{Tracer: tracer}), r)
	})
}

// registry is a prometheus.Registry that tests ask.
type registry struct{ *prometheus.Registry }

// value returns a counter, a gauge, or the sum of a histogram, and how often it was observed, of the labels' values.
func (r *registry) value(t *testing.T, name string, labels ...string) (value float64, count uint64) {
	t.Helper()
	families := must(r.Gather())(t)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() { // By the labels' names.
				values = append(values, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				h := m.GetHistogram()
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + h.GetSampleSum(), h.GetSampleCount()
			}
		}
	}
	return 0, 0
}

// waits returns the acquires of an outcome and the seconds that they took. Prometheus orders the labels by name.
func (r *registry) waits(t *testing.T, kind, contended, outcome string) (count uint64, seconds float64) {
	t.Helper()
	seconds, count = r.value(t, "hasp_acquire_wait_seconds", contended, kind, outcome)
	return count, seconds
}

func TestAcquires(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		lock := c.NewLock("orders", nil)
		lease := must(lock.Lock(t.Context()))(t)
		require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)

		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.ErrorIs(t, errOf(lock.Lock(short)), context.DeadlineExceeded)

		time.AfterFunc(2*time.Second, func() { _ = lease.Release(context.Background()) })
		require.NoError(t, must(lock.Lock(t.Context()))(t).Release(t.Context()))

		s.FailAcquires(1)
		require.Error(t, errOf(lock.TryLock(t.Context())))

		for _, want := range []struct {
			contended, outcome string
			seconds            float64
		}{
			{"false", "acquired", 0}, {"true", "refused", 0}, {"true", "ended", 3}, {"true", "acquired", 2},
			{"false", "failed", 0},
		} {
			count, seconds := r.waits(t, "lock", want.contended, want.outcome)
			require.EqualValues(t, 1, count, "%v", want)
			require.InDelta(t, want.seconds, seconds, 0.1, "%v", want)
		}
		synctest.Wait() // The first release may return after the grant that follows it.
		held, ended := r.value(t, "hasp_held_seconds", "lock")
		require.EqualValues(t, 2, ended)
		require.InDelta(t, 5, held, 0.1)
	})
}

// TestKinds: a rate limiter has no lease.
func TestKinds(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *registry) {
		limiter := c.NewRateLimiter("api", primitives.Rate{Permits: 1, Interval: time.Hour},
			&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
		for _, allowed := range []bool{true, false} {
			require.Equal(t, allowed, must(limiter.Allow(t.Context(), 1))(t).Allowed)
		}
		count, _ := r.waits(t, "rate limiter", "true", "refused")
		require.EqualValues(t, 1, count)
		_, ended := r.value(t, "hasp_held_seconds", "rate limiter")
		require.Zero(t, ended)
		n := must(testutil.GatherAndCount(r, "hasp_losses_total"))(t)
		require.Zero(t, n, "a rate limiter has no leases that could be lost")
	})
}

// TestCountersBeginAtZero: the first acquire of a kind makes its counters of all outcomes, as rate() needs them.
func TestCountersBeginAtZero(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *registry) {
		lease := must(c.NewLock("orders", nil).Lock(t.Context()))(t)
		n := must(testutil.GatherAndCount(r, "hasp_acquires_total"))(t)
		require.Equal(t, 8, n)
		n = must(testutil.GatherAndCount(r, "hasp_acquire_wait_seconds"))(t)
		require.Equal(t, 8, n)
		failed, _ := r.value(t, "hasp_acquires_total", "false", "lock", "failed")
		require.Zero(t, failed)
		acquired, _ := r.value(t, "hasp_acquires_total", "false", "lock", "acquired")
		require.InDelta(t, 1, acquired, 0)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestGauges counts leases and waiters, of which one re-enters a lease, and one loses its lease.
func TestGauges(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		now := func() []float64 {
			synctest.Wait()
			inProgress, _ := r.value(t, "hasp_acquires_in_progress", "lock")
			held, _ := r.value(t, "hasp_leases_held", "lock")
			return []float64{inProgress, held}
		}
		lock := c.NewLock("orders", nil)
		lease := must(lock.Lock(t.Context()))(t)
		inner := must(lock.Lock(lease.Reenter(t.Context())))(t)
		require.Equal(t, []float64{0, 1}, now())
		waited := make(chan *primitives.Lease, 1)
		go func() {
			next, _ := lock.Lock(t.Context())
			waited <- next
		}()
		require.Equal(t, []float64{1, 1}, now())
		require.NoError(t, inner.Release(t.Context()))
		require.Equal(t, []float64{1, 1}, now())
		require.NoError(t, lease.Release(t.Context()))
		next := <-waited
		require.Equal(t, []float64{0, 1}, now())
		s.Lose("orders")
		<-next.Done()
		require.Equal(t, []float64{0, 0}, now())
	})
}

// TestLosses: the counter of a kind is there before its first loss, as increase() needs it.
func TestLosses(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		lease := must(c.NewLock("orders", nil).Lock(t.Context()))(t)
		require.Len(t, primitives.LossReasons(), must(testutil.GatherAndCount(r, "hasp_losses_total"))(t))
		lost, _ := r.value(t, "hasp_losses_total", "lock", "gone")
		require.Zero(t, lost)

		s.Lose("orders")
		<-lease.Done()
		synctest.Wait()
		lost, _ = r.value(t, "hasp_losses_total", "lock", "gone")
		require.InDelta(t, 1, lost, 0)
		_, ended := r.value(t, "hasp_held_seconds", "lock")
		require.EqualValues(t, 1, ended)
	})
}

func TestOutage(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		lease := must(c.NewLock("orders", nil).Lock(t.Context()))(t)
		time.Sleep(15 * time.Second) // A third of the lease is 10 s.
		failures, _ := r.value(t, "hasp_renewal_failures_total")
		_, renewals := r.value(t, "hasp_renewal_lag_seconds")
		require.Zero(t, failures)
		require.Positive(t, renewals)

		s.Away(time.Hour)
		<-lease.Done()
		synctest.Wait()
		failures, _ = r.value(t, "hasp_renewal_failures_total")
		require.Positive(t, failures)
		lost, _ := r.value(t, "hasp_losses_total", "lock", "outage")
		require.InDelta(t, 1, lost, 0)
	})
}

func TestGap(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		lock := c.NewLock("orders", nil)
		require.NoError(t, errOf(lock.Lock(t.Context())))
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, func() { s.Away(3 * time.Second) })
		require.Error(t, errOf(lock.Lock(short)))
		gaps, _ := r.value(t, "hasp_subscription_gaps_total")
		require.Positive(t, gaps)
	})
}

// TestNameThatIsNoUTF8: a job's name may be any bytes. Prometheus refuses such a label, by a panic.
func TestNameThatIsNoUTF8(t *testing.T) {
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *registry) {
		work := func(context.Context, primitives.JobRun) error { return nil }
		ran, err := c.NewPeriodicJob("M\xfcnchen", time.Hour, nil).Do(t.Context(), time.Now(), work)
		require.NoError(t, err)
		require.True(t, ran)
		completed, _ := r.value(t, "hasp_job_last_completed_timestamp_seconds", "M\uFFFDnchen")
		require.InDelta(t, time.Now().Unix(), completed, 1)
	})
}

// TestThrottles: decisions are counted by the policy, from 0 on.
func TestThrottles(t *testing.T) {
	observed(t, func(t *testing.T, s *hasptest.Server, c *primitives.Client, r *registry) {
		throttle := func(user string) *primitives.Throttle {
			return c.NewThrottle(user, primitives.Limit{Permits: 1, Interval: time.Hour},
				&primitives.ThrottleOptions{Policy: "a user", Unavailable: primitives.LocalShare(1)})
		}
		allow := func(user string) { require.NoError(t, errOf(throttle(user).Allow(t.Context(), 1))) }
		allow("ann")
		require.Equal(t, 6, must(testutil.GatherAndCount(r, "hasp_throttle_decisions_total"))(t))
		allow("ann")
		allow("bob")
		s.Away(time.Minute)
		allow("ann")
		allow("ann")
		for labels, want := range map[[2]string]float64{
			{"false", "allowed"}: 2, {"false", "refused"}: 1, {"false", "failed"}: 0, {"true", "allowed"}: 1, {"true", "refused"}: 1,
		} {
			got, _ := r.value(t, "hasp_throttle_decisions_total", labels[0], labels[1], "a user")
			require.InDelta(t, want, got, 0, "%v", labels)
		}
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

// TestLint: the names and units are as Prometheus recommends.
func TestLint(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	reportAll(t, reg)
	require.Empty(t, must(testutil.GatherAndLint(reg))(t))
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
	observed(t, func(t *testing.T, _ *hasptest.Server, c *primitives.Client, r *registry) {
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
