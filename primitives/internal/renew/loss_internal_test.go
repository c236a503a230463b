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

// TestLossByClock ends leases by the clock, after pauses of the process and without any.
func TestLossByClock(t *testing.T) {
	t.Parallel()
	renewed := Terms{Lease: 30 * time.Second, Renewer: unanswered{}}
	bounded := renewed
	bounded.MaxHold = 20 * time.Second
	for name, c := range map[string]struct {
		terms Terms
		run   time.Duration // before the pause
		pause time.Duration
		want  lease.LossError
	}{
		"Outage":             {terms: renewed, run: time.Minute, want: lease.LossError{Reason: lease.LossOutage}},
		"ShortPause":         {terms: renewed, run: 28500 * time.Millisecond, pause: 900 * time.Millisecond, want: lease.LossError{Reason: lease.LossOutage}},
		"Pause":              {terms: renewed, run: 5500 * time.Millisecond, pause: time.Minute, want: lease.LossError{Reason: lease.LossPaused, Paused: time.Minute}},
		"PauseBeforeTheLoss": {terms: renewed, run: 5500 * time.Millisecond, pause: 20 * time.Second, want: lease.LossError{Reason: lease.LossOutage}},
		"MaxHold":            {terms: bounded, run: 5500 * time.Millisecond, pause: time.Minute, want: lease.LossError{Reason: lease.LossMaxHold}},
		"Fixed":              {terms: Terms{Lease: time.Second}, run: time.Minute, want: lease.LossError{Reason: lease.LossExpired}},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var skipped atomic.Int64 // by the wall clock: what a suspended machine misses
					k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
					k.now = func() instant {
						now := systemClock()
						now.wall += time.Duration(skipped.Load())
						return now
					}
					defer k.Close()
					losses := make(chan *lease.LossError, 1)
					e := &Entry{Terms: &c.terms, Key: "key", OnLost: lossChannel(losses)}
					k.Begin(e)
					require.True(t, k.Confirm(e))
					time.Sleep(c.run)
					skipped.Store(int64(c.pause))
					if asked {
						k.Remaining(e)
					}
					time.Sleep(time.Minute)
					loss := <-losses
					require.Equal(t, loss, k.Loss(e))
					require.InDelta(t, c.want.Paused, loss.Paused, float64(time.Second))
					loss.Paused = c.want.Paused
					require.Equal(t, &c.want, loss)
				})
			})
		}
	}
}

type lossChannel chan *lease.LossError

func (c lossChannel) HandleLoss(loss *lease.LossError) { c <- loss }
