package primitives_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

var update = flag.Bool("update", false, "write docs/pictures/rates.times")

// TestRatesPicture: the picture of docs/choosing.md shows which of the same arrivals each limiter of 20 in 10 s grants, in
// tenths of seconds: a client asks each 0.1 s, but for ten seconds of silence.
func TestRatesPicture(t *testing.T) {
	t.Parallel()
	const file = "../../docs/pictures/rates.times"
	var drawn strings.Builder
	synctest.Test(t, func(t *testing.T) {
		c := newServer(t).client(t, nil)
		limiter := c.NewRateLimiter("limiter", &primitives.RateLimiterOptions{
			Rate: primitives.Rate{Permits: 20, Interval: 10 * time.Second},
		})
		allow := func(burst int) func() bool {
			one := c.NewThrottle(fmt.Sprint(burst), primitives.Limit{Permits: 20, Interval: 10 * time.Second, Burst: burst}, refuse)
			return func() bool {
				d, err := one.Allow(t.Context(), 1)
				require.NoError(t, err)
				return d.Allowed
			}
		}
		granted := make([]string, 4)
		limiters := []func() bool{
			func() bool { return true },
			func() bool {
				err := limiter.TryAcquire(t.Context(), 1)
				require.True(t, err == nil || errors.Is(err, primitives.ErrNotAcquired), "%v", err)
				return err == nil
			},
			allow(1), allow(20),
		}
		for tenth := range 300 {
			for i, limiter := range limiters {
				if (tenth < 120 || tenth >= 220) && limiter() {
					granted[i] += fmt.Sprint(" ", tenth)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		for i, name := range []string{"arrivals", "RateLimiter", "Throttle, Burst: 1", "Throttle, Burst: 20"} {
			fmt.Fprintf(&drawn, "%s|%s\n", name, strings.TrimSpace(granted[i]))
		}
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(drawn.String()), 0o600))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, drawn.String(), string(text), "run go test -run TestRatesPicture -update . and docs/pictures/draw all")
}
