// Package limiter has tests of rate limiters: times that are rounded, rates that another client changes, and thousands
// of grants.
package limiter

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestTimesAreRounded: a permit does not come back before one interval has passed, at whichever part of a
// millisecond it was taken, and comes back when a refusal says.
func TestTimesAreRounded(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		const interval, early = 10 * time.Millisecond, 50 * time.Microsecond
		l := cells.Over(t, must.Get(embedded.New(embedded.NewServer(), nil)), nil).NewRateLimiter("x", primitives.Rate{Permits: 1, Interval: interval}, opts)
		for range 50 {
			require.True(t, cells.Got(l.Allow(t.Context(), 1))(t).Allowed)
			time.Sleep(interval - early)
			time.Sleep(cells.Got(l.Allow(t.Context(), 1))(t).RetryAfter + 70*time.Microsecond)
		}
	})
}

// opts are those of all limiters.
var opts = &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}

// TestMadeOnDemandEnds: a limiter that a caller makes by its option, as for the name of a user, has no keys any more
// when nobody has used it for an hour, or for a longer interval, which a refusal prolongs. So its permits are free by
// then, and the next caller makes it again. A rate that somebody sets stays.
func TestMadeOnDemandEnds(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Second, time.Hour, 3 * time.Hour} {
		for _, mode := range []primitives.RateMode{primitives.RateOverall, primitives.RatePerClient} {
			t.Run(fmt.Sprint(interval, mode), func(t *testing.T) {
				cells.Bubble(t, func(t *testing.T) { endsUnused(t, primitives.Rate{Permits: 2, Interval: interval, Mode: mode}) })
			})
		}
	}
}

func endsUnused(t *testing.T, rate primitives.Rate) {
	t.Helper()
	const tick = 2 * time.Millisecond // Times are rounded, and an own grant's keys stay so much longer.
	server := embedded.NewServer()
	l := cells.Over(t, must.Get(embedded.New(server, nil)), nil).NewRateLimiter("user:1", rate, opts)
	keys := func(want int64) { cells.Want(t, backend.IntegerReply(want))(server.Do("DBSIZE")) }
	available := func(want int) { require.Equal(t, want, cells.Got(l.State(t.Context()))(t).Remaining) }
	life := max(rate.Interval, time.Hour)
	for range 2 {
		require.NoError(t, l.Wait(t.Context(), 2))
		keys(3)
		time.Sleep(rate.Interval - tick)
		require.False(t, cells.Got(l.Allow(t.Context(), 1))(t).Allowed)
		time.Sleep(life - rate.Interval + 2*tick) // The grant is old, and its keys are gone.
		keys(1)
		available(2)
		time.Sleep(rate.Interval - 3*tick) // Since the refusal it is nearly its life.
		keys(1)
		time.Sleep(2 * tick)
		keys(0)
	}
	require.NoError(t, l.Wait(t.Context(), 1))
	rate.Permits = 3
	require.NoError(t, l.SetRate(t.Context(), rate))
	time.Sleep(100 * life)
	available(3)
}

// twoClients returns the limiter of one name at two clients, with a server of their own in virtual time.
func twoClients(t *testing.T, server *embedded.Server) (one, other *primitives.RateLimiter) {
	t.Helper()
	var both [2]*primitives.RateLimiter
	for i := range both {
		both[i] = cells.Over(t, must.Get(embedded.New(server, nil)), &primitives.Options{PollInterval: time.Hour}).NewRateLimiter("x", primitives.Rate{}, opts)
	}
	return both[0], both[1]
}

// own returns a rate of which each client has the permits.
func own(permits int, interval time.Duration) primitives.Rate {
	return primitives.Rate{Permits: permits, Interval: interval, Mode: primitives.RatePerClient}
}

// free requires that so many permits are free, and that one more is refused.
func free(t *testing.T, l *primitives.RateLimiter, n int) {
	t.Helper()
	require.Equal(t, n, cells.Got(l.State(t.Context()))(t).Remaining)
	require.False(t, cells.Got(l.Allow(t.Context(), n+1))(t).Allowed)
}

// TestAnotherClientChangesOwnRates: each client has permits of its own, and one of them changes the rate. The
// others have the new rate at once, and what they were granted counts on.
func TestAnotherClientChangesOwnRates(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	for name, c := range map[string]struct {
		before, after primitives.Rate
		taken, left   int
	}{
		"raised":               {own(4, interval), own(40, interval), 1, 39},
		"lowered":              {own(10, interval), own(5, interval), 3, 2},
		"lowered below":        {own(10, interval), own(5, interval), 6, 0},
		"lengthened":           {own(5, time.Second), own(5, time.Minute), 3, 2},
		"lengthened to hours":  {own(5, 10*time.Millisecond), own(5, 24*time.Hour), 5, 0},
		"shortened":            {own(5, time.Minute), own(5, interval), 5, 0},
		"lengthened and lower": {own(5, time.Second), own(3, time.Minute), 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) {
				one, other := twoClients(t, embedded.NewServer())
				require.NoError(t, one.SetRate(t.Context(), c.before))
				require.NoError(t, other.Wait(t.Context(), c.taken))
				require.NoError(t, one.SetRate(t.Context(), c.after))
				free(t, other, c.left)
				time.Sleep(min(c.after.Interval-time.Second, 59*time.Minute)) // Its keys may have ended.
				free(t, other, c.left)
				time.Sleep(c.after.Interval)
				require.NoError(t, other.Wait(t.Context(), c.after.Permits))
				free(t, other, 0)
			})
		})
	}
}

// TestRetryInOfManyGrants: a refusal says exactly when so many permits are free as thousands of grants give back.
func TestRetryInOfManyGrants(t *testing.T) {
	t.Parallel()
	for _, each := range []int{1, 2} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) {
				const grants, interval = 1500, time.Minute
				l, _ := twoClients(t, embedded.NewServer())
				require.NoError(t, l.SetRate(t.Context(), primitives.Rate{Permits: each * grants, Interval: interval}))
				begin := time.Now()
				for range grants {
					require.True(t, cells.Got(l.Allow(t.Context(), each))(t).Allowed)
					time.Sleep(time.Millisecond)
				}
				for _, missing := range []int{1, 1001, 1200, 1500} {
					in := cells.Got(l.Allow(t.Context(), each*missing))(t).RetryAfter
					at := begin.Add(interval + time.Duration(missing)*time.Millisecond)
					require.InDelta(t, time.Until(at), in, float64(2*time.Millisecond), "%d", missing)
				}
				time.Sleep(interval)
				require.True(t, cells.Got(l.Allow(t.Context(), each*grants))(t).Allowed)
			})
		})
	}
}

// TestClockSetBackOfManyGrants: all grants that are in the future, since the server's clock was set back, count
// for one more interval, however many they are.
func TestClockSetBackOfManyGrants(t *testing.T) {
	t.Parallel()
	for _, each := range []int{1, 3} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) {
				const grants, interval = 5000, 2 * time.Second
				server := embedded.NewServer()
				l, _ := twoClients(t, server)
				require.NoError(t, l.SetRate(t.Context(), primitives.Rate{Permits: each * grants, Interval: interval}))
				fill(t, server, grants, each, time.Now().Add(time.Hour))
				cells.Text(t, server, "SET", "{x}:value", "0")
				for range 19 { // Each looks, and none may move what is left.
					require.False(t, cells.Got(l.Allow(t.Context(), 1))(t).Allowed)
					time.Sleep(interval / 20)
				}
				time.Sleep(interval/20 + 2*time.Millisecond)
				require.True(t, cells.Got(l.Allow(t.Context(), each*grants))(t).Allowed)
			})
		})
	}
}

// fill makes grants at a millisecond each from a time on, of so many permits each.
func fill(t *testing.T, server *embedded.Server, grants, each int, from time.Time) {
	t.Helper()
	for i := range grants {
		member := fmt.Sprintf("\x10%016d%c\x00\x00\x00", i, rune(each))
		cells.Text(t, server, "ZADD", "{x}:permits", fmt.Sprint(from.UnixMilli()+int64(i)), member)
	}
}

// TestManyGrantsAreNotAllRead: where thousands of grants are over at once no script reads them all: where each has
// one permit their number is known, and else that of those that are left.
func TestManyGrantsAreNotAllRead(t *testing.T) {
	t.Parallel()
	const grants, most = 50_000, 25 // The commands of a script, each of which reads a thousand grants.
	s := cells.StartServer(t)
	c := s.Clients(t, 1, nil)[0]
	for _, each := range []int{1, 2} {
		rate := primitives.Rate{Permits: each * grants, Interval: time.Second}
		for name, ask := range map[string]func(*primitives.RateLimiter) error{
			"State": func(l *primitives.RateLimiter) error {
				d, err := l.State(t.Context())
				require.Equal(t, rate.Permits, d.Remaining)
				return err
			},
			"Wait":    func(l *primitives.RateLimiter) error { return l.Wait(t.Context(), rate.Permits) },
			"Return":  func(l *primitives.RateLimiter) error { return l.Return(t.Context(), 1) },
			"SetRate": func(l *primitives.RateLimiter) error { return l.SetRate(t.Context(), rate) },
		} {
			t.Run(fmt.Sprint(name, each), func(t *testing.T) {
				l := c.NewRateLimiter(fmt.Sprint(name, each), primitives.Rate{}, opts)
				require.NoError(t, l.SetRate(t.Context(), rate))
				cells.Number(t, s, "EVAL", `for i = 1, tonumber(ARGV[1]) do
					redis.call('zadd', KEYS[1], i, string.format('%c%016d%c', 16, i, ARGV[2]) .. '\0\0\0')
				end
				redis.call('set', KEYS[2], 0)
				return 1`, "2", "{"+l.Name()+"}:permits", "{"+l.Name()+"}:value", fmt.Sprint(grants), fmt.Sprint(each))
				before := s.Commands(t)
				require.NoError(t, ask(l))
				require.LessOrEqual(t, s.Commands(t)-before, most)
			})
		}
	}
}

// doubled runs each script twice, as a driver does that sends again what the server has run.
type doubled struct{ backend.Backend }

func (d doubled) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	if reply, err := d.Backend.Run(ctx, s, keys, args); err != nil {
		return reply, err
	}
	return d.Backend.Run(ctx, s, keys, args)
}

// TestRepeatedGrantEnds: a script that stores the same grant again, while another call waits, does not look for ever
// for a grant that it has not added.
func TestRepeatedGrantEnds(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		l := cells.Over(t, doubled{must.Get(embedded.New(embedded.NewServer(), nil))}, nil).NewRateLimiter("x", primitives.Rate{}, opts)
		require.NoError(t, l.SetRate(t.Context(), primitives.Rate{Permits: 10, Interval: time.Minute}))
		require.True(t, cells.Got(l.Allow(t.Context(), 1))(t).Allowed)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = l.Wait(ctx, 9) }()
		synctest.Wait()
		require.NoError(t, l.Wait(t.Context(), 3))
	})
}
