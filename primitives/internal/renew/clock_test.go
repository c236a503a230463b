package renew

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestKeeperRemainingReadsTheClock stops the timer, as a pause of the process does: who asks is
// gets the truth all the same, and the loss is reported to the holder once.
func TestKeeperRemainingReadsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told counter
		k, h := holding(t, &told)
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

// holding returns a keeper of one hold, of a second less 100 ms, which it has just confirmed.
func holding(t *testing.T, told *counter) (*Keeper, *Hold) {
	t.Helper()
	k := NewKeeper(nil, false, zap.NewNop())
	h := &Hold{Lease: time.Second, Allowance: 100 * time.Millisecond, OnLost: told}
	k.Begin(h)
	require.True(t, k.Confirm(h))
	return k, h
}

// TestKeeperMindsBothClocks: while the machine is suspended the monotonic clock stands still, and the
// wall clock may be set back. What went further ends a lease.
func TestKeeperMindsBothClocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ pass, step, left time.Duration }{
		"Suspended":        {step: 400 * time.Millisecond, left: 500 * time.Millisecond},
		"SuspendedForLong": {step: 900 * time.Millisecond},
		"SetBack":          {pass: 400 * time.Millisecond, step: -time.Hour, left: 500 * time.Millisecond},
		"SetBackForLong":   {pass: 900 * time.Millisecond, step: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told counter
				k, h := holding(t, &told)
				k.timer.Stop()
				k.now = func() instant {
					now := systemClock()
					now.wall = now.wall.Add(c.step)
					return now
				}
				time.Sleep(c.pass)
				require.Equal(t, c.left, k.Remaining(h))
				require.Equal(t, c.left > 0, k.End(h))
			})
		})
	}
}

type counter int

func (c *counter) Lost() { *c++ }
