package promhasp_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	promhasp "github.com/hasp-go/hasp/integration/prometheus"
)

// suffixes are what Prometheus adds to the name of a histogram.
var suffixes = regexp.MustCompile(`_(bucket|count|sum)$`)

// TestDashboardNamesTheMetrics: the panels' queries name each metric, and no other. Prometheus itself runs them in
// examples/observe.
func TestDashboardNamesTheMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	queried := map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`hasp_\w+`).FindAllString(target.Expr, -1) {
				queried[suffixes.ReplaceAllString(name, "")] = true
			}
			require.Equal(t, strings.Count(target.Expr, "hasp_"), strings.Count(target.Expr, `job=~"$job"`), target.Expr)
		}
	}
	require.Equal(t, described(t), queried)
}

// described returns the names of the tracer's metrics.
func described(t *testing.T) map[string]bool {
	t.Helper()
	tracer, err := promhasp.NewTracer(prometheus.NewRegistry())
	require.NoError(t, err)
	descriptions := make(chan *prometheus.Desc, 100)
	tracer.Describe(descriptions)
	close(descriptions)
	names := map[string]bool{}
	for d := range descriptions {
		names[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return names
}
