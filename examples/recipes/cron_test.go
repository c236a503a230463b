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

// slot is a time of the schedule.
var slot = time.Date(2030, 1, 1, 2, 0, 0, 0, time.UTC)

func TestRunOnceRunsOnOneReplica(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		const replicas = 4
		results := make(chan result, replicas)
		for range replicas {
			client := process()
			go func() { results <- runOnce(t.Context(), client, slot) }()
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
		require.Equal(t, result{}, runOnce(t.Context(), process(), slot), "a late replica")
		require.Equal(t, result{won: true, ran: true}, runOnce(t.Context(), process(), slot.Add(time.Hour)))
	})
}

// result is what RunOnce returned, and whether it ran the job.
type result struct {
	won, ran bool
	err      error
}

func runOnce(ctx context.Context, client *primitives.Client, slot time.Time) (r result) {
	r.won, r.err = recipes.RunOnce(ctx, client, "report", slot, time.Hour,
		func(context.Context) error { r.ran = true; return nil })
	return r
}

// TestRunOnceOutlivesTheWinner closes the winner's client, as a rolling deploy does.
func TestRunOnceOutlivesTheWinner(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		winner := process()
		require.True(t, runOnce(t.Context(), winner, slot).won)
		require.NoError(t, winner.Close(t.Context()))
		require.Equal(t, result{}, runOnce(t.Context(), process(), slot))
	})
}

func TestRunOnceReportsErrors(t *testing.T) {
	t.Parallel()
	failed := errors.New("no space")
	won, err := recipes.RunOnce(t.Context(), onEmbedded(t, embedded.NewServer())(), "report", slot, time.Hour,
		func(context.Context) error { return failed })
	require.ErrorIs(t, err, failed)
	require.True(t, won)
}

func TestRunOnceBoundsTheJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		won, err := recipes.RunOnce(t.Context(), onEmbedded(t, embedded.NewServer())(), "report", slot, time.Hour,
			func(ctx context.Context) error { <-ctx.Done(); return nil })
		require.True(t, won)
		require.ErrorIs(t, err, primitives.ErrLost)
		require.LessOrEqual(t, time.Since(began), time.Hour)
	})
}
