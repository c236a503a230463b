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
				var suspended atomic.Int64
				k.now = func() instant {
					now := systemClock()
					now.wall += time.Duration(suspended.Load())
					return now
				}
				lost := make(chan time.Time, 1)
				e := &Entry{
					Key: "x", Terms: &Terms{Lease: 30 * time.Second, ClockDrift: 3 * time.Second, Renewer: unanswered{}},
					OnLost: lossFunc(func() { lost <- time.Now() }),
				}
				if fixed {
					e.Renewer = nil
				}
				k.Begin(e)
				require.True(t, k.Confirm(e))
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

// hold returns an entry of the keeper that is held.
func hold(t *testing.T, k *Keeper, key string, lease time.Duration) *Entry {
	t.Helper()
	e := &Entry{
		Key: key, Terms: &Terms{Lease: lease, ClockDrift: lease / 10, Renewer: unanswered{}}, OnLost: lossFunc(func() {}),
	}
	k.Begin(e)
	require.True(t, k.Confirm(e))
	return e
}

type lossFunc func()

func (f lossFunc) HandleLoss(*lease.LossError) { f() }

// unanswered is a renewer whose renewals are never answered.
type unanswered struct{}

func (unanswered) Renew(
	ctx context.Context, _ backend.ScriptRunner, _, _ []string, _ time.Duration,
) ([]batch.Status, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
