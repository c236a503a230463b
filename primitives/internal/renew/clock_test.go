package renew

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKeeperRemainingReadsTheClock stops the timer, as a pause of the process does: who asks is
// gets the truth all the same, and the loss is reported to the holder once.
func TestKeeperRemainingReadsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k Keeper
		var told counter
		h := &Hold{Lease: time.Second, Allowance: 100 * time.Millisecond, OnLost: &told}
		k.Begin(h)
		require.True(t, k.Confirm(h))
		k.timer.Stop()
		time.Sleep(899 * time.Millisecond)
		require.Equal(t, time.Millisecond, k.Remaining(h))
		require.Zero(t, told)
		time.Sleep(time.Millisecond)
		for range 2 {
			require.Zero(t, k.Remaining(h))
			require.EqualValues(t, 1, told)
		}
		require.False(t, k.End(h))
	})
}

type counter int

func (c *counter) Lost() { *c++ }
