package promhasp_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestAllocations: counting an acquire and its lease allocates nothing.
func TestAllocations(t *testing.T) { //nolint:paralleltest // It counts allocations.
	tracer := must(promhasp.NewTracer(prometheus.NewRegistry()))(t)
	ctx, object := t.Context(), trace.Object{Kind: "lock", Name: "orders"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tracer.AcquireEnd(tracer.AcquireStart(ctx, trace.AcquireStart{Object: object}), trace.AcquireEnd{Object: object, Waited: time.Millisecond})
		tracer.LeaseEnd(trace.LeaseEnd{Object: object, Held: time.Second})
	}))
}
