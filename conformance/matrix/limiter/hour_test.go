package limiter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// model is an exact rate limiter: each grant counts for one interval from its time on.
type model struct {
	permits  int
	interval time.Duration

	mu     sync.Mutex
	grants []took // of the last interval
	sum    int    // of all that were ever granted
}

// took is that so many permits were granted at a time.
type took struct {
	at time.Time
	n  int
}

// used returns how many permits are used up now.
func (m *model) used() (sum int) {
	for len(m.grants) > 0 && time.Since(m.grants[0].at) >= m.interval {
		m.grants = m.grants[1:]
	}
	for _, g := range m.grants {
		sum += g.n
	}
	return sum
}

// granted notes a grant of now, which must have been possible.
func (m *model) granted(t *testing.T, n int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	used := m.used()
	require.LessOrEqual(t, used+n, m.permits, "permits within %v up to %v", m.interval, time.Now())
	m.grants, m.sum = append(m.grants, took{time.Now(), n}), m.sum+n
}

// refused checks what a refusal of now says: it must be right to two milliseconds. Times of grants are
// rounded up to one, and times of looks down.
func (m *model) refused(t *testing.T, n int, retryIn time.Duration) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := m.used() + n - m.permits
	var wait time.Duration
	for _, g := range m.grants {
		if missing > 0 {
			missing, wait = missing-g.n, time.Until(g.at.Add(m.interval))
		}
	}
	require.GreaterOrEqual(t, retryIn, wait, "it says too early a time")
	require.LessOrEqual(t, retryIn, wait+2*time.Millisecond, "it says too late a time")
}

// an hour of virtual time takes some seconds; -short has some minutes of it.
func hour() time.Duration {
	if testing.Short() {
		return 3 * time.Minute
	}
	return time.Hour
}

// TestAnHourBesideTheModel lets callers of four clients take permits, and wait for them, for an hour. In no
// window of the interval are there more than the rate, a refusal says exactly when there will be enough, and
// after an hour of full use none is lost: Redisson's issues 2931, 2072, 3639, 3804, 5687 and 5751 are limits
// that were exceeded, or went down over time.
func TestAnHourBesideTheModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{permits: 4, interval: 1500 * time.Millisecond}
		server := embedded.NewServer()
		rate := primitives.Rate{Permits: m.permits, Interval: m.interval}
		ctx, cancel := context.WithTimeout(t.Context(), hour())
		defer cancel()
		var all sync.WaitGroup
		for i := range 4 {
			b, err := embedded.New(server, nil)
			require.NoError(t, err)
			l := cells.Over(t, b, nil).NewRateLimiter("hour", &primitives.RateLimiterOptions{Rate: rate})
			for _, n := range []int{1, 1, 2} {
				all.Go(func() { m.waits(ctx, t, l, n) })
			}
			draw := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // A schedule.
			all.Go(func() { m.tries(ctx, t, l, draw) })
		}
		all.Wait()
		ideal := int(hour()/m.interval) * m.permits
		t.Logf("%d permits were granted, of %d that %v have", m.sum, ideal, hour())
		require.GreaterOrEqual(t, m.sum, ideal*97/100)
		entries, err := server.Do("ZCARD", "{hour}:permits")
		require.NoError(t, err)
		n, err := entries.Int()
		require.NoError(t, err)
		require.LessOrEqual(t, n, int64(m.permits), "entries that the server keeps")
	})
}

// waits acquires n permits again and again.
func (m *model) waits(ctx context.Context, t *testing.T, l *primitives.RateLimiter, n int) {
	t.Helper()
	for ctx.Err() == nil {
		if err := l.Acquire(ctx, n); err == nil {
			m.granted(t, n)
		}
	}
}

// tries takes up to four permits after pauses of some odd times.
func (m *model) tries(ctx context.Context, t *testing.T, l *primitives.RateLimiter, draw *rand.Rand) {
	t.Helper()
	for ctx.Err() == nil {
		time.Sleep(time.Duration(draw.Int64N(int64(5 * time.Second))))
		n := 1 + draw.IntN(4)
		var limited *primitives.RateLimitError
		switch err := l.TryAcquire(ctx, n); {
		case err == nil:
			m.granted(t, n)
		case errors.As(err, &limited):
			m.refused(t, n, limited.RetryIn)
		}
	}
}

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

// TestServerClockGoesForward: a server whose clock is set forward gives permits back early by so much, and
// counts right from then on.
func TestServerClockGoesForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		b, err := embedded.New(server, nil)
		require.NoError(t, err)
		l := cells.Over(t, b, nil).NewRateLimiter("x", &primitives.RateLimiterOptions{
			Rate: primitives.Rate{Permits: 2, Interval: time.Minute},
		})
		require.NoError(t, l.Acquire(t.Context(), 2))
		server.Advance(59 * time.Second)
		begin := time.Now()
		require.NoError(t, l.Acquire(t.Context(), 2))
		require.LessOrEqual(t, time.Since(begin), time.Second+2*time.Millisecond)
		begin = time.Now()
		require.NoError(t, l.Acquire(t.Context(), 1))
		require.GreaterOrEqual(t, time.Since(begin), time.Minute)
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
