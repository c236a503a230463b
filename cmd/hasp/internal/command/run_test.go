package command

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestShortGrace: a lease that ends leaves a tenth of it, unless the caller gives more.
func TestShortGrace(t *testing.T) {
	t.Parallel()
	for flags, short := range map[string]time.Duration{
		"": 3 * time.Second, "--lease 5m": 10 * time.Second, "--grace 1s": time.Second, "--grace 10s": 10 * time.Second,
	} {
		c := &cobra.Command{}
		r := (&program{}).addRunner(c)
		require.NoError(t, c.ParseFlags(append(strings.Fields(flags), "name", "--", "true")))
		require.NoError(t, c.Args(c, c.Flags().Args()))
		require.Equal(t, short, r.short, flags)
	}
}

// TestOneWait: what the waiting for the server has taken is not waited for again.
func TestOneWait(t *testing.T) {
	t.Parallel()
	r := &runner{wait: time.Hour, until: time.Now().Add(time.Minute)}
	try := func(context.Context) error { return primitives.ErrNotAcquired }
	require.NoError(t, r.acquired(t.Context(), try, func(ctx context.Context) error {
		end, _ := ctx.Deadline()
		require.Equal(t, r.until, end)
		return nil
	}))
}

// TestDue: a report of 03:00 is made once a day, by whatever host comes first, and by one that was off until the next day.
func TestDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := func(clock string) time.Time {
		now, err := time.Parse("2006-01-2 15:04:05", "2026-11-"+clock)
		require.NoError(t, err)
		return due(now, day, 3*time.Hour).Truncate(day)
	}
	require.Equal(t, at("1 03:00:00"), at("1 02:59:40"), "a clock that is late")
	require.Equal(t, at("1 03:00:00"), at("2 00:30:00"), "a host that was off catches up: another has run it")
	require.NotEqual(t, at("2 00:30:00"), at("2 03:00:00"))
	require.Equal(t, at("2 03:00:00"), at("3 02:59:00"))
	now := time.Date(2026, 11, 29, 15, 20, 40, 5, time.UTC)
	require.Equal(t, "2026-11-29T03:00:00Z", due(now, day, 3*time.Hour).Format(time.RFC3339Nano), "as hasp inspect shows the last run")
	require.Equal(t, "2026-11-29T12:00:00Z", due(now, 7*time.Hour, 0).Format(time.RFC3339Nano), "71 268 periods of 7 hours after 1970")
	require.Equal(t, "2026-11-29T15:21:00Z", due(now, time.Minute, 0).Format(time.RFC3339Nano))
}
