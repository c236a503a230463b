package limiter

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestTimesAreRounded: a permit does not come back before one interval has passed, at whichever part of a
// millisecond it was taken, and comes back when a refusal says.
func TestTimesAreRounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const interval, early = 10 * time.Millisecond, 50 * time.Microsecond
		b, err := embedded.New(embedded.NewServer(), nil)
		require.NoError(t, err)
		l := cells.Over(t, b, nil).NewRateLimiter("x", &primitives.RateLimiterOptions{
			Rate: primitives.Rate{Permits: 1, Interval: interval},
		})
		for range 50 {
			require.NoError(t, l.TryAcquire(t.Context(), 1))
			time.Sleep(interval - early)
			var limited *primitives.RateLimitError
			require.ErrorAs(t, l.TryAcquire(t.Context(), 1), &limited)
			time.Sleep(limited.RetryIn + 70*time.Microsecond)
		}
	})
}

// TestMadeOnDemandEnds: a limiter that a caller makes by its option, as for the name of a user, has no keys any more
// when nobody has used it for an hour, or for a longer interval, which a refusal prolongs. So its permits are free by
// then, and the next caller makes it again. A rate that somebody sets stays.
func TestMadeOnDemandEnds(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Second, time.Hour, 3 * time.Hour} {
		for _, mode := range []primitives.RateMode{primitives.RateOverall, primitives.RatePerClient} {
			t.Run(fmt.Sprint(interval, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { endsUnused(t, primitives.Rate{Permits: 2, Interval: interval, Mode: mode}) })
			})
		}
	}
}

func endsUnused(t *testing.T, rate primitives.Rate) {
	t.Helper()
	const tick = 2 * time.Millisecond // Times are rounded, and an own grant's keys stay so much longer.
	server := embedded.NewServer()
	b, err := embedded.New(server, nil)
	require.NoError(t, err)
	l := cells.Over(t, b, nil).NewRateLimiter("user:1", &primitives.RateLimiterOptions{Rate: rate})
	keys := func(want int64) { cells.Want(t, backend.IntegerReply(want))(server.Do("DBSIZE")) }
	available := func(want int) { cells.Want(t, want)(l.AvailablePermits(t.Context())) }
	life := max(rate.Interval, time.Hour)
	for range 2 {
		require.NoError(t, l.Acquire(t.Context(), 2))
		keys(3)
		time.Sleep(rate.Interval - tick)
		require.ErrorIs(t, l.TryAcquire(t.Context(), 1), primitives.ErrNotAcquired)
		time.Sleep(life - rate.Interval + 2*tick) // The grant is old, and its keys are gone.
		keys(1)
		available(2)
		time.Sleep(rate.Interval - 3*tick) // Since the refusal it is nearly its life.
		keys(1)
		time.Sleep(2 * tick)
		keys(0)
	}
	require.NoError(t, l.Acquire(t.Context(), 1))
	rate.Permits = 3
	require.NoError(t, l.SetRate(t.Context(), rate))
	time.Sleep(100 * life)
	available(3)
}
