package workloads

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/benchmark"
)

// TestStuckUse: a use that never ends is given up and counted, and the others' work is kept.
func TestStuckUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}
		waits := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		o, err := ForAWhile(3*time.Second+time.Millisecond, []use{works, waits})(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, o.Ops)
		require.Equal(t, map[string]float64{"stuck": 1}, o.Other)
		require.Equal(t, 3*time.Second+time.Millisecond+stuckAfter, o.Took)
	})
}

// TestWorkloads: each has what a plan needs.
func TestWorkloads(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		require.False(t, seen[w.Name], w.Name)
		seen[w.Name] = true
		require.NotEmpty(t, w.Unit, w.Name)
		require.Positive(t, w.Short, w.Name)
		require.LessOrEqual(t, w.Short, len(w.Sizes), w.Name)
		redisson := slices.Contains([]string{"lock_pair", "hand_over"}, w.Name)
		require.Equal(t, redisson, slices.Contains(w.Peers, benchmark.Redisson), "%s: fetched only where it takes part", w.Name)
		require.Equal(t, w.Name == "scripts", w.Unlinked, w.Name)
	}
}
