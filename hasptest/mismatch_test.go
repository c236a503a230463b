package hasptest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// mismatches keeps the mismatches of one client, whose calls come one after the other.
type mismatches struct{ all []trace.Mismatch }

func (m *mismatches) tracer() *trace.Tracer {
	return &trace.Tracer{Mismatch: func(data trace.Mismatch) { m.all = append(m.all, data) }}
}

// limited are two deployments of a limiter or semaphore, of which the second has more permits.
type limited struct {
	kind, option, less, more string

	// acquire acquires n permits of "x" without waiting, with the option of a deployment.
	acquire func(t *testing.T, c *primitives.Client, more, update bool) (try func(n int) error)

	// total returns how many permits the server has.
	total func(t *testing.T, c *primitives.Client) int
}

func bothLimited() map[string]limited {
	sizes := map[bool]int{false: 5, true: 9}
	return map[string]limited{
		"RateLimiter": {
			"rate limiter", "Rate", "5 in 1h0m0s", "9 in 1h0m0s",
			func(t *testing.T, c *primitives.Client, more, update bool) func(int) error {
				t.Helper()
				l := c.NewRateLimiter("x", &primitives.RateLimiterOptions{
					Rate: primitives.Rate{Permits: sizes[more], Interval: time.Hour}, Update: update,
				})
				return func(n int) error { return l.TryAcquire(t.Context(), n) }
			},
			func(t *testing.T, c *primitives.Client) int {
				t.Helper()
				rate := must(c.NewRateLimiter("x", nil).Rate(t.Context()))(t)
				return rate.Permits
			},
		},
		"PermitSemaphore": {
			"permit semaphore", "Permits", "5", "9",
			func(t *testing.T, c *primitives.Client, more, update bool) func(int) error {
				t.Helper()
				s := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: sizes[more], Update: update})
				return func(n int) error {
					_, err := s.TryAcquire(t.Context(), n)
					return err
				}
			},
			func(t *testing.T, c *primitives.Client) int {
				t.Helper()
				total := must(c.NewPermitSemaphore("x", nil).TotalPermits(t.Context()))(t)
				return total
			},
		},
	}
}

// TestMismatch deploys another number of permits: the server's applies, and the mismatch is reported, once.
func TestMismatch(t *testing.T) {
	t.Parallel()
	for name, l := range bothLimited() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m := hasptest.New(t), &mismatches{}
				old, deployed := s.Client(nil), s.Client(&primitives.Options{Tracer: m.tracer()})
				require.NoError(t, l.acquire(t, deployed, false, false)(1))
				require.Empty(t, m.all, "it has made what the option says")
				require.NoError(t, l.acquire(t, old, false, false)(1))
				try := l.acquire(t, deployed, true, false)
				require.NoError(t, try(1))
				require.NoError(t, try(1))
				require.ErrorIs(t, try(3), primitives.ErrNotAcquired)
				require.Equal(t, []trace.Mismatch{{
					Object: trace.Object{Kind: l.kind, Name: "x"}, Option: l.option, Want: l.more, Have: l.less,
				}}, m.all)
				require.Equal(t, 5, l.total(t, old))
			})
		})
	}
}

// TestMismatchOfMoreThanThereAre: the rate has fewer permits than a caller needs, whose option has them.
func TestMismatchOfMoreThanThereAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := hasptest.New(t), &mismatches{}
		l := bothLimited()["RateLimiter"]
		require.NoError(t, l.acquire(t, s.Client(nil), false, false)(1))
		err := l.acquire(t, s.Client(&primitives.Options{Tracer: m.tracer()}), true, false)(7)
		require.ErrorIs(t, err, primitives.ErrAboveRate)
		require.Len(t, m.all, 1)
		require.Equal(t, "fewer than 7 permits", m.all[0].Have)
	})
}

// TestUpdate deploys another number of permits, which replaces that of the server. A process of the earlier deployment
// reports the mismatch, and does not restore its own.
func TestUpdate(t *testing.T) {
	t.Parallel()
	for name, l := range bothLimited() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m, n := hasptest.New(t), &mismatches{}, &mismatches{}
				old, deployed := s.Client(&primitives.Options{Tracer: m.tracer()}), s.Client(&primitives.Options{Tracer: n.tracer()})
				former := l.acquire(t, old, false, true)
				require.NoError(t, former(1), "a missing one is made")
				require.Equal(t, 5, l.total(t, old))
				require.NoError(t, l.acquire(t, deployed, true, true)(7), "the permit that is taken still counts")
				require.Equal(t, 9, l.total(t, old))
				require.Empty(t, n.all)
				require.NoError(t, former(1))
				require.Equal(t, 9, l.total(t, old))
				require.Len(t, m.all, 1)
			})
		})
	}
}

// TestUpdateWithoutAServer: the error is the acquire's, and the next acquire tries again.
func TestUpdateWithoutAServer(t *testing.T) {
	t.Parallel()
	for name, l := range bothLimited() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := hasptest.New(t)
				client := s.Client(nil)
				require.NoError(t, l.acquire(t, client, false, false)(1))
				try := l.acquire(t, client, true, true)
				s.Away(time.Minute)
				require.ErrorIs(t, try(1), primitives.ErrUnavailable)
				time.Sleep(2 * time.Minute)
				require.NoError(t, try(1))
				require.Equal(t, 9, l.total(t, client))
			})
		})
	}
}
