package renew

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/lease"
)

// TestKeeperChecksWhatIsDue holds a hundred thousand leases of 30 s beside three of 100 ms, and counts what ticks check:
// nothing when nothing is due, and never more than what is.
func TestKeeperChecksWhatIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
		defer k.Close()
		k.timer = time.NewTimer(0) // It does nothing: the test checks.
		for i := range 100_000 {
			hold(t, k, fmt.Sprint("long", i), 30*time.Second)
		}
		short := hold(t, k, "short", 100*time.Millisecond)
		checked := func() int { return k.check(k.now(), &round{due: map[groupKey][]*Entry{}}) }
		require.Zero(t, checked())
		time.Sleep(30 * time.Millisecond)
		require.Zero(t, checked())
		time.Sleep(4 * time.Millisecond)
		require.Equal(t, 1, checked())
		require.True(t, short.renewing)
		require.Zero(t, checked())
		time.Sleep(9 * time.Second)
		require.Equal(t, 1, checked(), "the end of the short one")
		require.Equal(t, stateLost, short.state)
		time.Sleep(time.Second)
		for range 100_000 / checksAtOnce {
			require.Equal(t, checksAtOnce, checked(), "in portions, between which others get the mutex")
		}
		require.Zero(t, checked())
	})
}

// TestRoundsForgetLengths: of leases of ever other lengths nothing is left.
func TestRoundsForgetLengths(t *testing.T) {
	t.Parallel()
	k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
	n := k.roundsOf("")
	for i := range time.Duration(1000) {
		k.limit(n, []roundScript{{group: groupKey{lease: time.Second + i}}}, i*time.Second, false)
	}
	require.Len(t, n.next, 1)
}

// TestKeeperFollowsTheWallClock suspends the machine, which the monotonic clock does not see, and the timers follow: the
// loss is reported within a second after the end.
func TestKeeperFollowsTheWallClock(t *testing.T) {
	t.Parallel()
	for name, fixed := range map[string]bool{"Renewed": false, "Fixed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
				defer k.Close()
				suspended, lost := suspendable(k), make(chan time.Time, 1)
				e := hold(t, k, "x", 30*time.Second)
				e.OnLost = lossFunc(func(*lease.LossError) { lost <- time.Now() })
				if fixed {
					e.Renewer = nil
				}
				began := time.Now()
				time.Sleep(2500 * time.Millisecond)
				suspended.Store(int64(20 * time.Second))
				require.Equal(t, 7*time.Second, (<-lost).Sub(began))
				suspended.Store(0) // The clock is set back.
				k.Begin(e)
				require.True(t, k.Confirm(e))
				began = time.Now()
				time.Sleep(2500 * time.Millisecond)
				suspended.Store(int64(10 * time.Second))
				require.Equal(t, 17*time.Second, (<-lost).Sub(began))
			})
		})
	}
}

// suspendable returns for how long the machine was suspended, by the keeper's wall clock.
func suspendable(k *Keeper) *atomic.Int64 {
	var suspended atomic.Int64
	k.now = func() instant {
		now := systemClock()
		now.wall += time.Duration(suspended.Load())
		return now
	}
	return &suspended
}

// hold returns an entry of the keeper that is held.
func hold(t *testing.T, k *Keeper, key string, length time.Duration) *Entry {
	t.Helper()
	e := &Entry{
		Key: key, Terms: &Terms{Lease: length, ClockDrift: length / 10, Renewer: unanswered{}}, OnLost: lossFunc(func(*lease.LossError) {}),
	}
	k.Begin(e)
	require.True(t, k.Confirm(e))
	return e
}

type lossFunc func(*lease.LossError)

func (f lossFunc) HandleLoss(loss *lease.LossError) { f(loss) }

// unanswered is a renewer whose renewals are never answered.
type unanswered struct{}

func (unanswered) Renew(
	ctx context.Context, _ backend.ScriptRunner, _, _ []string, _ time.Duration,
) ([]batch.Status, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

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
					k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
					defer k.Close()
					suspended, losses := suspendable(k), make(chan *lease.LossError, 1)
					e := &Entry{Terms: &c.terms, Key: "key", OnLost: lossFunc(func(loss *lease.LossError) { losses <- loss })}
					k.Begin(e)
					require.True(t, k.Confirm(e))
					time.Sleep(c.run)
					suspended.Store(int64(c.pause))
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

// TestKeeperRemainingReadsTheClock stops the timer, as a pause of the process does. Remaining
// reports the loss all the same, to the holder once.
func TestKeeperRemainingReadsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, e := heldEntry(t)
		losses := 0
		e.OnLost = lossFunc(func(*lease.LossError) { losses++ })
		k.timer.Stop()
		time.Sleep(899 * time.Millisecond)
		require.Equal(t, time.Millisecond, k.Remaining(e))
		require.Zero(t, losses)
		time.Sleep(time.Millisecond)
		for range 2 {
			require.Zero(t, k.Remaining(e))
			require.Equal(t, 1, losses)
		}
		require.False(t, k.End(e))
	})
}

// heldEntry returns a keeper of one lease, of a second less 100 ms, which it has just confirmed.
func heldEntry(t *testing.T) (*Keeper, *Entry) {
	t.Helper()
	k := NewKeeper(nil, new(atomic.Bool), zap.NewNop())
	e := hold(t, k, "x", time.Second)
	e.Renewer = nil
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
				k, e := heldEntry(t)
				k.timer.Stop()
				suspendable(k).Store(int64(c.step))
				time.Sleep(c.pass)
				require.Equal(t, c.left, k.Remaining(e))
				require.Equal(t, c.left > 0, k.End(e))
			})
		})
	}
}
