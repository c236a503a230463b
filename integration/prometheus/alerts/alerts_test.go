// Package alerts_test has Prometheus' own engine evaluate the alerts of docs/operate/monitoring.md, in virtual time: at
// rest none fires, and each fires for its reason.
package alerts_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
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
		scraped = &storage{t: t, index: map[uint64]int{}, engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Hour})}
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

// alert is one of the page.
type alert struct {
	query string
	after time.Duration // it fires if the query has had a value for so long
}

// alertRow is a row of the page's table.
var alertRow = regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `([^`]*hasp_[^`]*)`(, for a minute)? \\|")

// readAlerts returns the alerts of the page, by name.
func readAlerts(t *testing.T) map[string]alert {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operate/monitoring.md")
	require.NoError(t, err)
	alerts := map[string]alert{}
	for _, row := range alertRow.FindAllStringSubmatch(string(page), -1) {
		a := alert{query: row[2]}
		if row[3] != "" {
			a.after = time.Minute
		}
		alerts[row[1]] = a
	}
	return alerts
}

// fires returns when a fires first, if it is evaluated with each scrape; zero: never.
func (a alert) fires(t *testing.T, scraped *storage, every time.Duration) time.Time {
	t.Helper()
	var active time.Time
	for now := scraped.first; !now.After(scraped.last); now = now.Add(every) {
		switch {
		case scraped.count(a.query, now) == 0:
			active = time.Time{}
		case active.IsZero():
			active = now
		}
		if !active.IsZero() && now.Sub(active) >= a.after {
			return now
		}
	}
	return time.Time{}
}

// storage has the series that were scraped.
type storage struct {
	t           *testing.T
	engine      *promql.Engine
	series      []promql.Series
	index       map[uint64]int // of series, by the hash of their labels
	first, last time.Time
}

// scrape adds a sample of each metric.
func (s *storage) scrape(registry *prometheus.Registry) {
	now := time.Now()
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
	families, err := registry.Gather()
	require.NoError(s.t, err)
	opts := &expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(now.UnixNano())}
	samples, err := expfmt.ExtractSamples(opts, families...)
	require.NoError(s.t, err)
	for _, sample := range samples {
		of := labels.NewBuilder(labels.EmptyLabels())
		for name, value := range sample.Metric {
			of.Set(string(name), string(value))
		}
		metric := of.Labels()
		i, known := s.index[metric.Hash()]
		if !known {
			i = len(s.series)
			s.index[metric.Hash()] = i
			s.series = append(s.series, promql.Series{Metric: metric})
		}
		s.series[i].Floats = append(s.series[i].Floats, promql.FPoint{T: int64(sample.Timestamp), F: float64(sample.Value)})
	}
}

// count returns how many values a query has.
func (s *storage) count(query string, at time.Time) int {
	queryable := &promstorage.MockQueryable{MockQuerier: &promstorage.MockQuerier{SelectMockFunction: s.find}}
	q, err := s.engine.NewInstantQuery(context.Background(), queryable, nil, query, at)
	require.NoError(s.t, err)
	defer q.Close()
	values, err := q.Exec(context.Background()).Vector()
	require.NoError(s.t, err)
	return len(values)
}

// find returns the series that all matchers match.
func (s *storage) find(_ bool, _ *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	set := &found{next: -1}
	for _, series := range s.series {
		differs := func(m *labels.Matcher) bool { return !m.Matches(series.Metric.Get(m.Name)) }
		if !slices.ContainsFunc(matchers, differs) {
			set.series = append(set.series, series)
		}
	}
	return set
}

// found are series of a query.
type found struct {
	series []promql.Series
	next   int
}

func (f *found) Next() bool { f.next++; return f.next < len(f.series) }

func (f *found) At() promstorage.Series { return promql.NewStorageSeries(f.series[f.next]) }

func (f *found) Err() error { return nil }

func (f *found) Warnings() annotations.Annotations { return nil }
