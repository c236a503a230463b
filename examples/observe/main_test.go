package main

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// rate is the limiter's.
const rate = 5

// patience is the time in which the program does in any case what a test waits for.
const patience = time.Minute

// metered is a tracer whose metrics an HTTP server has.
func metered(t *testing.T) (*prometheus.Registry, *trace.Tracer, *httptest.Server) {
	t.Helper()
	registry := prometheus.NewRegistry()
	tracer, err := promhasp.NewTracer(registry)
	require.NoError(t, err)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return registry, tracer, server
}

// start runs the program's work until the test ends.
func start(t *testing.T, client *primitives.Client) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx, client, rate)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// acquires returns the number of acquires of each kind that a registry has counted.
func acquires(registry *prometheus.Registry) map[string]uint64 {
	families, _ := registry.Gather()
	counts := map[string]uint64{}
	for _, family := range families {
		if family.GetName() != "hasp_acquire_wait_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "kind" {
					counts[l.GetValue()] += m.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return counts
}

func TestOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	registry, tracer, _ := metered(t)
	client := hasptest.New(t).Client(&primitives.Options{Tracer: tracer})
	start(t, client)
	countsAllKinds(t, registry)
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	registry, tracer, _ := metered(t)
	client, err := connect(servers.Start(t, servers.Redis, nil).Addr(), &primitives.Options{Tracer: tracer})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	start(t, client)
	countsAllKinds(t, registry)
}

func countsAllKinds(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	require.Eventually(t, func() bool {
		n := acquires(registry)
		return n["lock"] > 10 && n["permit semaphore"] > 10 && n["rate limiter"] > 10
	}, patience, 10*time.Millisecond)
}
