package matrix

import (
	"context"
	"flag"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/servers"
)

// direct returns a harness without a proxy before the server.
func direct(a adapter, on *target) *conformance.Harness {
	h := harness(a, on, variant{})
	h.Faults = false
	h.New = func(ctx context.Context) (*conformance.Instance, error) {
		return a.open(ctx, clientOptions{
			addrs: on.addrs(),
			dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			},
		})
	}
	return h
}

// BenchmarkAdapters measures each adapter on one server, and the embedded one.
func BenchmarkAdapters(b *testing.B) {
	on := standalone(b, servers.Redis)
	b.Run("Embedded", func(b *testing.B) { conformance.RunBenchmarks(b, virtual.Harness()) })
	for _, a := range adapters() {
		b.Run(a.name, func(b *testing.B) { conformance.RunBenchmarks(b, direct(a, on)) })
	}
}

// TestBenchmarks runs each benchmark once, so that they cannot rot.
func TestBenchmarks(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value
	given := benchtime.String()
	require.NoError(t, benchtime.Set("1x"))
	defer func() { require.NoError(t, benchtime.Set(given)) }()
	once := func(name string, h *conformance.Harness) {
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
	once("Embedded", virtual.Harness())
	on := standalone(t, servers.Redis)
	for _, a := range adapters() {
		once(a.name, direct(a, on))
	}
}
