package benchmark

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/report"
)

// TestFigures: what this process used is the client's, unless another process is the client or makes the link.
func TestFigures(t *testing.T) {
	t.Parallel()
	before := reading{at: time.Now()}
	after := reading{at: before.at.Add(time.Second), cpu: 500 * time.Millisecond}
	after.mem.Mallocs = 100
	for name, c := range map[string]struct {
		meter   meter
		outcome Outcome
		used    any // percent of a core; nil: not known
		allocs  any
	}{
		"Here":            {meter{}, Outcome{Ops: 10}, 50.0, 10.0},
		"Linked":          {meter{linked: true}, Outcome{Ops: 10}, nil, nil},
		"Elsewhere":       {meter{}, Outcome{Ops: 10, Elsewhere: true, Processor: 200 * time.Millisecond}, 20.0, nil},
		"ElsewhereLinked": {meter{linked: true}, Outcome{Ops: 10, Elsewhere: true, Processor: time.Second}, 100.0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			figures := c.meter.figures(before, after, c.outcome)
			require.InDelta(t, 10, figures["ops/s"], 1e-9)
			for unit, want := range map[string]any{"client-cpu%": c.used, "allocs/op": c.allocs} {
				got, found := figures[unit]
				require.Equal(t, want != nil, found, unit)
				if found {
					require.InDelta(t, want, got, 1e-9, unit)
				}
			}
		})
	}
}

// TestWaits: the percentiles of percentiles are these.
func TestWaits(t *testing.T) {
	t.Parallel()
	o := Outcome{Served: []int{3, 1, 2}}
	for i := range 101 {
		o.Waits = append(o.Waits, time.Duration(i)*time.Millisecond)
	}
	figures := o.waits()
	for _, percent := range report.Percentiles {
		require.InDelta(t, 1000*percent, figures[report.Percentile(percent)], 1e-9)
	}
	require.InDelta(t, 100, figures["longest-ms"], 1e-9)
	require.InDelta(t, 1, figures["least"], 0)
	require.InDelta(t, 3, figures["most"], 0)
}
