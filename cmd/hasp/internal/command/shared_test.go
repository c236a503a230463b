package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDue: a report of 03:00 is made once a day, by whatever host comes first, and by one that was off until the next day.
func TestDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := func(clock string) time.Time {
		now, err := time.Parse("2 15:04:05", clock)
		require.NoError(t, err)
		return due(now, day, 3*time.Hour).Truncate(day)
	}
	require.Equal(t, at("1 03:00:00"), at("1 02:59:40"), "a clock that is late")
	require.Equal(t, at("1 03:00:00"), at("2 00:30:00"), "a host that was off catches up: another has run it")
	require.NotEqual(t, at("2 00:30:00"), at("2 03:00:00"))
	require.Equal(t, at("2 03:00:00"), at("3 02:59:00"))
}
