// Package alerts_test has Prometheus' own engine evaluate the alerts of docs/operate/monitoring.md, in virtual time: at
// rest none fires, and each fires for its reason.
package alerts_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	rest     = 10*time.Minute + 7500*time.Millisecond // before a scenario: it begins between two scrapes
	observed = 10 * time.Minute                       // after its begin
)

// scenarios are the reasons of alerts. All alerts that fire are listed.
var scenarios = map[string]struct {
	begin func(t *testing.T, p process)
	every time.Duration // of the scrapes; 0: 15 s
	idle  bool          // nothing else goes on
	fires []string
}{
	"Rest":   {begin: func(*testing.T, process) {}},
	"Outage": {begin: outage(3 * time.Minute), fires: []string{"a lease was lost", "acquires fail"}},
	"Blip":   {begin: outage(5 * time.Second), fires: []string{"acquires fail"}},
	"Loss":   {begin: func(_ *testing.T, p process) { p.server.Lose("held") }, fires: []string{"a lease was lost"}},
	// The lease of five minutes outlasts the outage.
	"LongLease": {begin: func(t *testing.T, p process) {
		hold(t, p.client(t, &primitives.Options{WatchdogLease: 5 * time.Minute}), "long")
		time.Sleep(95 * time.Second)
		p.server.Away(2 * time.Minute)
	}, idle: true, fires: []string{"renewals fail"}},
	// So many renewals are not under way at once: some wait until others are answered.
	"ManyLeases": {begin: func(t *testing.T, p process) {
		client := p.client(t, nil)
		for i := range 3300 {
			hold(t, client, "lease:"+time.Duration(i).String())
		}
		p.server.SetLatency(6 * time.Second)
		time.Sleep(2 * time.Minute)
		p.server.SetLatency(0)
		require.NoError(t, client.Close(t.Context())) // It saves the test's time.
	}, idle: true, fires: []string{"renewals are late"}},
	"SlowLink": {begin: func(_ *testing.T, p process) {
		p.server.SetLatency(5 * time.Second)
	}, fires: []string{"long waits"}},
	"Hang": {begin: func(t *testing.T, p process) {
		client := p.client(t, nil)
		hold(t, client, "hangs")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.NewLock("hangs", nil).Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}, idle: true, fires: []string{"long waits"}},
	"OtherRate": {begin: func(t *testing.T, p process) {
		for permits := range 2 {
			require.NoError(t, p.client(t, nil).NewRateLimiter("api", primitives.Rate{Permits: 10 + permits, Interval: time.Second},
				&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}).Wait(t.Context(), 1))
		}
	}, fires: []string{"a mismatch"}},
	"DailyJob":      {begin: daily(4), every: 10 * time.Minute, idle: true},
	"DailyJobStops": {begin: daily(2), every: 10 * time.Minute, idle: true, fires: []string{"a daily job is 2 h late"}},
}

// outage has no server for a time. A lease of 30 s is lost before its renewals have failed for a minute.
func outage(d time.Duration) func(*testing.T, process) {
	return func(_ *testing.T, p process) { p.server.Away(d) }
}

// hold acquires a lock that is never released.
func hold(t *testing.T, client *primitives.Client, name string) {
	t.Helper()
	_, err := client.NewLock(name, nil).Lock(t.Context())
	require.NoError(t, err)
}

// daily runs a job on so many of the next four days.
func daily(runs int) func(t *testing.T, p process) {
	return func(t *testing.T, p process) {
		t.Helper()
		job := p.client(t, nil).NewPeriodicJob("report", 24*time.Hour, nil)
		for day := range 4 {
			if day < runs {
				_, err := job.Do(t.Context(), time.Now(), func(context.Context, primitives.JobRun) error { return nil })
				require.NoError(t, err)
			}
			time.Sleep(24 * time.Hour)
		}
	}
}

// process has the metrics that Prometheus scrapes.
type process struct {
	server   *hasptest.Server
	registry *prometheus.Registry
	options  *primitives.Options
}

func newProcess(t *testing.T) process {
	t.Helper()
	registry := prometheus.NewRegistry()
	tracer, err := promhasp.NewTracer(registry)
	require.NoError(t, err)
	return process{hasptest.New(t), registry, &primitives.Options{Tracer: tracer}}
}

// client returns a further client of the process.
func (p process) client(t *testing.T, opts *primitives.Options) *primitives.Client {
	t.Helper()
	o := *p.options
	if opts != nil {
		o.WatchdogLease = opts.WatchdogLease
	}
	return p.server.Client(&o)
}

// work holds a lock, and has three workers share another one: one of them waits at any time.
func (p process) work(ctx context.Context, t *testing.T) {
	t.Helper()
	client := p.client(t, nil)
	hold(t, client, "held")
	for range 3 {
		go func() {
			for ctx.Err() == nil {
				_ = client.NewFairLock("shared", nil).Do(ctx, func(context.Context, *primitives.Lease) error {
					time.Sleep(time.Second)
					return nil
				})
				time.Sleep(time.Second)
			}
		}()
	}
}

// run returns what Prometheus has scraped, and when the scenario began.
func run(
	t *testing.T, begin func(*testing.T, process), every time.Duration, idle bool,
) (scraped *storage, began time.Time) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		scraped = newStorage(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for ctx.Err() == nil {
				scraped.scrape(p.registry)
				time.Sleep(every)
			}
		}()
		if !idle {
			p.work(ctx, t)
		}
		time.Sleep(rest)
		began = time.Now()
		begin(t, p)
		time.Sleep(observed)
		p.server.SetLatency(0)
		stop()
		time.Sleep(every + time.Minute) // All have ended.
	})
	return scraped, began
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	alerts := readAlerts(t)
	fired := map[string]bool{}
	for _, s := range scenarios {
		for _, name := range s.fires {
			fired[name] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(fired)), slices.Collect(maps.Keys(alerts)))
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s.every == 0 {
				s.every = 15 * time.Second
			}
			scraped, began := run(t, s.begin, s.every, s.idle)
			var fires []string
			for name, a := range alerts {
				if at := a.fires(t, scraped, s.every); !at.IsZero() {
					require.True(t, at.After(began), "%s: at rest", name)
					fires = append(fires, name)
				}
			}
			require.ElementsMatch(t, s.fires, fires)
		})
	}
}
