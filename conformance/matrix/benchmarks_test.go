package matrix

import (
	"context"
	"flag"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/servers"
)

// measured are harnesses of each adapter on one server, without a proxy before it, and the embedded one.
func measured(tb testing.TB) map[string]*conformance.Harness {
	tb.Helper()
	on := cells.Standalone(tb, servers.Redis)
	all := map[string]*conformance.Harness{"Embedded": virtual.Harness()}
	for _, a := range cells.Adapters() {
		h := on.Harness(a, cells.Variant{})
		h.Faults = false
		h.New = func(ctx context.Context) (*conformance.Instance, error) {
			return a.Open(ctx, on.Client())
		}
		all[a.Name] = h
	}
	return all
}

func BenchmarkAdapters(b *testing.B) {
	for name, h := range measured(b) {
		b.Run(name, func(b *testing.B) { conformance.RunBenchmarks(b, h) })
	}
}

// TestBenchmarks runs each benchmark once, so that they cannot rot.
func TestBenchmarks(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value
	given := benchtime.String()
	require.NoError(t, benchtime.Set("1x"))
	defer func() { require.NoError(t, benchtime.Set(given)) }()
	for name, h := range measured(t) {
		var made atomic.Int32
		open := h.New
		h.New = func(ctx context.Context) (*conformance.Instance, error) {
			made.Add(1)
			return open(ctx)
		}
		failed := true
		testing.Benchmark(func(b *testing.B) {
			conformance.RunBenchmarks(b, h)
			failed = b.Failed()
		})
		require.False(t, failed, name)
		require.GreaterOrEqual(t, made.Load(), int32(8), name)
	}
}
