package alerts_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

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

func newStorage(t *testing.T) *storage {
	t.Helper()
	return &storage{t: t, index: map[uint64]int{}, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e7, Timeout: time.Hour,
	})}
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
