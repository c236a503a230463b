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
	acquire func(t *testing.T, c *primitives.Client, more bool) (try func(n int) error)

	// total returns how many permits the server has.
	total func(t *testing.T, c *primitives.Client) int
}

func bothLimited() map[string]limited {
	sizes := map[bool]int{false: 5, true: 9}
	return map[string]limited{
		"RateLimiter": {
			"rate limiter", "Rate", "5 in 1h0m0s", "9 in 1h0m0s",
			func(t *testing.T, c *primitives.Client, more bool) func(int) error {
				t.Helper()
				l := c.NewRateLimiter("x", primitives.Rate{Permits: sizes[more], Interval: time.Hour}, rateRefuse)
				return func(n int) error {
					d, err := l.Allow(t.Context(), n)
					if err == nil && !d.Allowed {
						err = primitives.ErrNotAcquired
					}
					return err
				}
			},
			func(t *testing.T, c *primitives.Client) int {
				t.Helper()
				return must(c.NewRateLimiter("x", primitives.Rate{}, rateRefuse).Rate(t.Context()))(t).Permits
			},
		},
		"PermitSemaphore": {
			"permit semaphore", "Permits", "5", "9",
			func(t *testing.T, c *primitives.Client, more bool) func(int) error {
				t.Helper()
				s := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: sizes[more]})
				return func(n int) error {
					_, err := s.TryAcquire(t.Context(), n)
					return err
				}
			},
			func(t *testing.T, c *primitives.Client) int {
				t.Helper()
				return must(c.NewPermitSemaphore("x", nil).TotalPermits(t.Context()))(t)
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
				require.NoError(t, l.acquire(t, deployed, false)(1))
				require.Empty(t, m.all, "it has made what the option says")
				require.NoError(t, l.acquire(t, old, false)(1))
				try := l.acquire(t, deployed, true)
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
		require.NoError(t, l.acquire(t, s.Client(nil), false)(1))
		err := l.acquire(t, s.Client(&primitives.Options{Tracer: m.tracer()}), true)(7)
		require.ErrorIs(t, err, primitives.ErrAboveRate)
		require.Len(t, m.all, 1)
		require.Equal(t, "fewer than 7 permits", m.all[0].Have)
	})
}
