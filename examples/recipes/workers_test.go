package recipes_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
)

// TestWorkLimitsAllProcesses has six workers of three processes, of whom two may work at a time.
func TestWorkLimitsAllProcesses(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		const workers, limit, count = 6, 2, 40
		jobs, done := make(chan string), make(chan error, workers)
		var inside, did atomic.Int64
		full := make(chan struct{}) // closed when as many are inside as may be
		closeFull := sync.OnceFunc(func() { close(full) })
		do := func(ctx context.Context, _ string) error {
			defer inside.Add(-1)
			switch now := inside.Add(1); {
			case now > limit:
				return errors.New("too many are inside")
			case now == limit:
				closeFull()
			}
			did.Add(1)
			select {
			case <-full:
			case <-ctx.Done():
			}
			time.Sleep(time.Millisecond) // time for one too many to come in
			return ctx.Err()
		}
		for range workers / 2 {
			client := process()
			for range 2 {
				go func() { done <- recipes.Work(t.Context(), client, "crawlers", limit, jobs, do) }()
			}
		}
		for range count {
			select {
			case jobs <- "a page":
			case err := <-done:
				require.FailNow(t, "a worker has left", "%v", err)
			case <-time.After(patience):
				require.FailNow(t, "no worker takes a job")
			}
		}
		close(jobs)
		for range workers {
			require.NoError(t, receive(t, done))
		}
		require.EqualValues(t, count, did.Load())
	})
}

func TestWorkReportsErrors(t *testing.T) {
	t.Parallel()
	failed := errors.New("not found")
	jobs := make(chan string, 1)
	jobs <- "a page"
	err := recipes.Work(t.Context(), onEmbedded(t, embedded.NewServer())(), "crawlers", 1, jobs,
		func(context.Context, string) error { return failed })
	require.ErrorIs(t, err, failed)
}
