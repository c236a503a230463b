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
// one that gets everything. Under the race detector a sync.Pool drops values at random, so counts are averages.
func TestTracerThatDoesNothingAllocatesNothing(t *testing.T) { //nolint:paralleltest // It counts allocations.
	none, quiet := pairAllocations(t, nil), pairAllocations(t, idle())
	require.InDelta(t, none, quiet, 0.5)
	allocating := idle() // It makes a context of its own for each acquire.
	allocating.AcquireStart = func(ctx context.Context, _ trace.AcquireStart) context.Context {
		return context.WithValue(ctx, tracedKey{}, time.Now())
	}
	require.Greater(t, pairAllocations(t, allocating), quiet+0.5, "the count notices one allocation")
	t.Logf("allocations of a pair: %.2f without a tracer, %.2f with one", none, quiet)
}

// pairAllocations returns how many allocations a Lock and its Release take.
func pairAllocations(t *testing.T, tracer *trace.Tracer) float64 {
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

// TestLockIsSmall: a client may have a hundred thousand, and what all locks share must not be copied for each: the kind
// of their leases was 48 bytes.
func TestLockIsSmall(t *testing.T) { //nolint:paralleltest // It counts allocations.
	client, err := primitives.New(freeLocks{}, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { client.NewLock("x", nil) }), 5.0)
	require.NoError(t, client.Close(t.Context()))
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

// idle returns a tracer that gets everything, and does nothing.
func idle() *trace.Tracer {
	return &trace.Tracer{
		AcquireStart:    func(ctx context.Context, _ trace.AcquireStart) context.Context { return ctx },
		AcquireEnd:      func(context.Context, trace.AcquireEnd) {},
		LeaseEnd:        func(trace.LeaseEnd) {},
		Renewal:         func(trace.Renewal) {},
		SubscriptionGap: func(trace.SubscriptionGap) {},
		Mismatch:        func(trace.Mismatch) {},
		JobCompleted:    func(trace.JobCompleted) {},
	}
}
