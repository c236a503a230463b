package workloads

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// BenchmarkOverhead is what the primitives cost by themselves, on a backend that answers at once:
// time and allocations, which vary less than a ratio does. On one processor:
//
//	go test -run '^$' -bench Overhead -cpu 1 ./bench/internal/workload
func BenchmarkOverhead(b *testing.B) {
	for _, of := range []struct {
		name   string
		object Maker
	}{
		{"LockPair", lockPair}, {"SemaphorePair", semaphorePair}, {"AtomicLongAdd", longAdd},
	} {
		b.Run(of.name, func(b *testing.B) {
			client, err := primitives.New(instant{}, nil)
			require.NoError(b, err)
			call, err := of.object(b.Context(), client, "object")
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := call(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, client.Close(b.Context()))
		})
	}
}

// instant is a backend that grants everything.
type instant struct{}

var granted = map[string]backend.Reply{
	"semaphore_acquire": backend.ArrayReply([]backend.Reply{backend.IntegerReply(1), backend.IntegerReply(0)}),
}

func (instant) Run(
	_ context.Context, script *backend.Script, _, _ []string,
) (backend.Reply, error) {
	if reply, ok := granted[script.Name]; ok {
		return reply, nil
	}
	return backend.IntegerReply(1), nil
}

func (instant) Subscribe(
	context.Context, string, backend.Handler,
) (backend.Subscription, error) {
	return nil, backend.ErrClosed
}

func (instant) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (instant) Close() error { return nil }
