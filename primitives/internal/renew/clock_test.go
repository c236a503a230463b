package renew

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/lease"
)

// TestKeeperRemainingReadsTheClock stops the timer, as a pause of the process does. Remaining
// reports the loss all the same, to the holder once.
func TestKeeperRemainingReadsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var losses counter
		k, e := heldEntry(t, &losses)
		k.timer.Stop()
		time.Sleep(899 * time.Millisecond)
		require.Equal(t, time.Millisecond, k.Remaining(e))
		require.Zero(t, losses)
		time.Sleep(time.Millisecond)
		for range 2 {
			require.Zero(t, k.Remaining(e))
			require.EqualValues(t, 1, losses)
		}
		require.False(t, k.End(e))
	})
}

// heldEntry returns a keeper of one lease, of a second less 100 ms, which it has just confirmed.
func heldEntry(t *testing.T, losses *counter) (*Keeper, *Entry) {
	t.Helper()
	k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
	e := &Entry{Terms: &Terms{Lease: time.Second, ClockDrift: 100 * time.Millisecond}, OnLost: losses}
	k.Begin(e)
	require.True(t, k.Confirm(e))
	return k, e
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
				var losses counter
				k, e := heldEntry(t, &losses)
				k.timer.Stop()
				k.now = func() instant {
					now := systemClock()
					now.wall += c.step
					return now
				}
				time.Sleep(c.pass)
				require.Equal(t, c.left, k.Remaining(e))
				require.Equal(t, c.left > 0, k.End(e))
			})
		})
	}
}

type counter int

func (c *counter) HandleLoss(*lease.LossError) { *c++ }
