package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// TestDashboard runs each query of the dashboard on a real Prometheus, while the program works, loses its locks, and
// for some time has no server.
func TestDashboard(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no prometheus on PATH; on Debian: apt-get install prometheus")
	}
	_, tracer, metrics := metered(t)
	prometheus := startPrometheus(t, binary, strings.TrimPrefix(metrics.URL, "http://"))
	s := hasptest.New(t)
	client := s.Client(&primitives.Options{Tracer: tracer, WatchdogLease: time.Second})
	start(t, client)

	require.Eventually(t, func() bool {
		return prometheus.largest(`sum(hasp_acquire_wait_seconds_count)`) > 0
	}, patience, 100*time.Millisecond, "scraped")
	callAPI(t.Context(), client, 2*rate) // As a process of another version would.
	s.Away(2 * time.Second)
	for _, p := range panels(t) {
		for _, query := range p.queries {
			require.Eventually(t, func() bool { return prometheus.largest(query) >= 0 }, patience, 100*time.Millisecond,
				"%s: no value of %s", p.title, query)
		}
	}
	for _, query := range []string{
		"hasp_losses_total", "hasp_renewal_failures_total", "hasp_subscription_gaps_total", "hasp_mismatches_total",
	} {
		require.Eventually(t, func() bool { return prometheus.largest(query) > 0 }, patience, 100*time.Millisecond, query)
	}
}

// panel is a panel of the dashboard, with the queries as Grafana would send them.
type panel struct {
	title   string
	queries []string
}

func panels(t *testing.T) (all []panel) {
	t.Helper()
	text, err := os.ReadFile("../../integration/prometheus/dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		next := panel{title: p.Title}
		for _, target := range p.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*").Replace(target.Expr)
			next.queries = append(next.queries, query)
		}
		all = append(all, next)
	}
	return all
}

// running is a Prometheus, by its address.
type running string

// startPrometheus starts Prometheus with the configuration of this folder, but for the program's address.
func startPrometheus(t *testing.T, binary, target string) running {
	t.Helper()
	config, err := os.ReadFile("prometheus.yml")
	require.NoError(t, err)
	require.Contains(t, string(config), "127.0.0.1:9464")
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	changed := strings.NewReplacer("127.0.0.1:9464", target, "interval: 1s", "interval: 200ms").Replace(string(config))
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	addr := freeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr)
	command.Stdout, command.Stderr = t.Output(), t.Output()
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait()
	})
	return running(addr)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// largest returns the largest value of a query; -1 if it has none.
func (r running) largest(query string) float64 {
	values, err := r.values(query)
	most := -1.0
	for _, v := range values {
		most = max(most, v)
	}
	if err != nil || math.IsNaN(most) { // No number: 0/0.
		return -1
	}
	return most
}

// values returns the values of a query now.
func (r running) values(query string) (values []float64, err error) {
	response, err := http.Get(fmt.Sprintf("http://%s/api/v1/query?query=%s", r, url.QueryEscape(query)))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}
