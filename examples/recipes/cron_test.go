package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// result is what RunHourly returned, and whether it ran the report.
type result struct {
	won, ran bool
	err      error
}

func runHourly(ctx context.Context, client *primitives.Client, hour time.Time) (r result) {
	r.won, r.err = recipes.RunHourly(ctx, client, hour, func(context.Context) error { r.ran = true; return nil })
	return r
}

func TestRunHourlyRunsOnOneReplica(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		hour := time.Now().Truncate(time.Hour)
		for _, hour := range []time.Time{hour.Add(-time.Hour), hour} {
			const replicas = 4
			results := make(chan result, replicas)
			for range replicas {
				client := process()
				go func() { results <- runHourly(t.Context(), client, hour) }()
			}
			var winners int
			for range replicas {
				r := receive(t, results)
				require.NoError(t, r.err)
				require.Equal(t, r.won, r.ran)
				if r.won {
					winners++
				}
			}
			require.Equal(t, 1, winners)
			require.Equal(t, result{}, runHourly(t.Context(), process(), hour.Add(-time.Hour)), "an hour late")
		}
		require.Equal(t, result{}, runHourly(t.Context(), process(), hour), "a late replica")
		require.ErrorIs(t, runHourly(t.Context(), process(), hour.Add(48*time.Hour)).err, primitives.ErrClockAhead)
	})
}

// TestRunHourlyAgain has a replica fail, and another one lose its lock.
func TestRunHourlyAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		process, hour, failed := onEmbedded(t, server), time.Now(), errors.New("no space")
		_, err := recipes.RunHourly(t.Context(), process(), hour, func(context.Context) error { return failed })
		require.ErrorIs(t, err, failed)
		won, err := recipes.RunHourly(t.Context(), process(), hour, func(ctx context.Context) error {
			require.NoError(t, server.Revoke("report"))
			<-ctx.Done()
			return nil
		})
		require.True(t, won)
		require.ErrorIs(t, err, primitives.ErrLost)
		require.Equal(t, result{won: true, ran: true}, runHourly(t.Context(), process(), hour))
		time.Sleep(24*time.Hour - time.Second)
		require.Equal(t, result{}, runHourly(t.Context(), process(), hour), "the record is kept for a day")
	})
}
