package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
		o, err := forAWhile(3*time.Second+time.Millisecond, []use{works, waits})(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, o.Ops)
		require.Equal(t, map[string]float64{"stuck": 1}, o.Other)
		require.Equal(t, 3*time.Second+time.Millisecond+stuckAfter, o.Took)
	})
}
