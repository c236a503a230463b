package recipes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
)

func TestGatherWaitsForAllParts(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		parts := []string{"a", "b", "c"}
		queue := make(chan string, len(parts))
		var done atomic.Int64
		let := make(chan struct{})
		worked := make(chan error, len(parts))
		for range parts {
			client := process()
			go func() {
				worked <- recipes.DoPart(t.Context(), client, "42", <-queue, func(context.Context) error {
					<-let
					done.Add(1)
					return nil
				})
			}()
		}
		gathered := make(chan error, 1)
		coordinator := process()
		handOut := func(_ context.Context, part string) error { queue <- part; return nil }
		go func() { gathered <- recipes.Gather(t.Context(), coordinator, "42", parts, time.Hour, handOut) }()
		let <- struct{}{}
		let <- struct{}{}
		for range 2 {
			require.NoError(t, receive(t, worked))
		}
		require.Empty(t, gathered, "one part is missing")
		require.ErrorContains(t,
			recipes.Gather(t.Context(), process(), "42", parts, patience, handOut), "started before")
		let <- struct{}{}
		require.NoError(t, receive(t, gathered))
		require.EqualValues(t, len(parts), done.Load())
	})
}

// TestGatherEndsByItsLimit has a part that fails, and so is not counted.
func TestGatherEndsByItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := onEmbedded(t, embedded.NewServer())()
		failed := errors.New("no space")
		began := time.Now()
		err := recipes.Gather(t.Context(), client, "42", []string{"a"}, time.Minute,
			func(ctx context.Context, _ string) error {
				err := recipes.DoPart(ctx, client, "42", "a", func(context.Context) error { return failed })
				require.ErrorIs(t, err, failed)
				return nil
			})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))
	})
}
