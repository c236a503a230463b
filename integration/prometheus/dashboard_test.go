package promhasp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

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
