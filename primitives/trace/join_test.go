package trace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/trace"
)

type nameKey struct{}

// named returns a tracer of all events, which notes its name for each. Its starts add the name to the context, and its
// ends check it.
func named(t *testing.T, name string, events *[]string) *trace.Tracer {
	t.Helper()
	note := func(event string) { *events = append(*events, name+" "+event) }
	return &trace.Tracer{
		AcquireStart: func(ctx context.Context, _ trace.AcquireStart) context.Context {
			note("start")
			return context.WithValue(ctx, nameKey{}, name)
		},
		AcquireEnd: func(ctx context.Context, _ trace.AcquireEnd) {
			note("end")
			require.Equal(t, name, ctx.Value(nameKey{}))
		},
		LeaseEnd:        func(trace.LeaseEnd) { note("lease") },
		Renewal:         func(trace.Renewal) { note("renewal") },
		SubscriptionGap: func(trace.SubscriptionGap) { note("gap") },
		Mismatch:        func(trace.Mismatch) { note("mismatch") },
		JobCompleted:    func(trace.JobCompleted) { note("job") },
		Throttled:       func(trace.Throttled) { note("throttled") },
	}
}

// report reports one event of each to a tracer.
func report(ctx context.Context, tracer *trace.Tracer) {
	tracer.AcquireEnd(tracer.AcquireStart(ctx, trace.AcquireStart{}), trace.AcquireEnd{})
	tracer.LeaseEnd(trace.LeaseEnd{})
	tracer.Renewal(trace.Renewal{})
	tracer.SubscriptionGap(trace.SubscriptionGap{})
	tracer.Mismatch(trace.Mismatch{})
	tracer.JobCompleted(trace.JobCompleted{})
	tracer.Throttled(trace.Throttled{})
}

func TestJoin(t *testing.T) {
	t.Parallel()
	var events []string
	inner := trace.Join(named(t, "a", &events), nil, named(t, "b", &events))
	report(t.Context(), trace.Join(inner, named(t, "c", &events)))
	var want []string
	for _, event := range []string{"start", "end", "lease", "renewal", "gap", "mismatch", "job", "throttled"} {
		want = append(want, "a "+event, "b "+event, "c "+event)
	}
	require.Equal(t, want, events)
}

// TestJoinOfParts joins three tracers, some with an AcquireStart: their AcquireEnd gets its context, and each gets one.
func TestJoinOfParts(t *testing.T) {
	t.Parallel()
	type last struct{}
	for some := range 1 << 3 {
		var tracers []*trace.Tracer
		ends := 0
		for i := range 3 {
			starts := some&(1<<i) != 0
			tracer := &trace.Tracer{AcquireEnd: func(ctx context.Context, _ trace.AcquireEnd) {
				ends++
				require.NotNil(t, ctx.Value(last{}))
				require.True(t, !starts || ctx.Value(last{}) == i, "tracer %d of %b", i, some)
			}}
			if starts {
				tracer.AcquireStart = func(ctx context.Context, _ trace.AcquireStart) context.Context {
					return context.WithValue(ctx, last{}, i)
				}
			}
			tracers = append(tracers, tracer)
		}
		joined, ctx := trace.Join(tracers...), context.WithValue(t.Context(), last{}, "caller")
		if joined.AcquireStart != nil {
			ctx = joined.AcquireStart(ctx, trace.AcquireStart{})
		}
		joined.AcquireEnd(ctx, trace.AcquireEnd{})
		require.Equal(t, 3, ends)
	}
}

// TestJoinOfNothing: a tracer without functions is not called.
func TestJoinOfNothing(t *testing.T) {
	t.Parallel()
	joined := trace.Join(nil, new(trace.Tracer))
	require.Nil(t, joined.AcquireStart)
	require.Nil(t, joined.LeaseEnd)
	require.Nil(t, joined.Renewal)
	joined.AcquireEnd(t.Context(), trace.AcquireEnd{})
}
