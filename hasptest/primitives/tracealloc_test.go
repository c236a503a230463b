package primitives_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestTracerThatDoesNothingAllocatesNothing counts the allocations of a Lock and its Release: without a tracer, and with
// one that gets everything. Under the race detector a sync.Pool drops values at random, so that counts are averages.
func TestTracerThatDoesNothingAllocatesNothing(t *testing.T) { //nolint:paralleltest // It counts allocations.
	none, idle := pairAllocations(t, nil), pairAllocations(t, idleTracer{})
	require.InDelta(t, none, idle, 0.5)
	require.Greater(t, pairAllocations(t, allocatingTracer{}), idle+0.5, "the count notices one allocation")
	t.Logf("allocations of a pair: %.2f without a tracer, %.2f with one", none, idle)
}

// pairAllocations returns how many allocations a Lock and its Release take.
func pairAllocations(t *testing.T, tracer trace.Tracer) float64 {
	t.Helper()
	const pairs = 1000
	client, err := primitives.New(freeLocks{}, &primitives.Options{Tracer: tracer})
	require.NoError(t, err)
	ctx, lock := context.Background(), client.NewLock("x", nil)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // It empties the pools.
	fewest := math.Inf(1)
	for range 3 {
		fewest = min(fewest, testing.AllocsPerRun(1, func() {
			for range pairs {
				lease, err := lock.Lock(ctx)
				require.NoError(t, err)
				require.NoError(t, lease.Release(ctx))
			}
		}))
	}
	require.NoError(t, client.Close(ctx))
	return fewest / pairs
}

// freeLocks is a backend whose locks are always free.
type freeLocks struct{ backend.Backend }

func (freeLocks) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (freeLocks) Run(
	_ context.Context, script *backend.Script, _, _ []string,
) (backend.Reply, error) {
	runtime.Gosched() // So that goroutines end, whose memory the next one gets.
	if script.Name == "lock_acquire" {
		return backend.StringReply("1"), nil
	}
	return backend.IntegerReply(1), nil
}

// idleTracer gets everything, and does nothing.
type idleTracer struct{}

func (idleTracer) TraceAcquireStart(ctx context.Context, _ trace.AcquireStart) context.Context {
	return ctx
}

func (idleTracer) TraceAcquireEnd(context.Context, trace.AcquireEnd) {}

func (idleTracer) TraceLeaseEnd(trace.LeaseEnd) {}

func (idleTracer) TraceRenewal(trace.Renewal) {}

func (idleTracer) TraceSubscriptionGap(trace.SubscriptionGap) {}

func (idleTracer) TraceMismatch(trace.Mismatch) {}

// allocatingTracer makes a context of its own for each acquire.
type allocatingTracer struct{ idleTracer }

func (allocatingTracer) TraceAcquireStart(
	ctx context.Context, _ trace.AcquireStart,
) context.Context {
	return context.WithValue(ctx, tracedKey{}, time.Now())
}
