package evalsha_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/evalsha"
)

func TestPromptlyReturnsTheResult(t *testing.T) {
	t.Parallel()
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		n, ok := evalsha.Promptly(ctx, func() int { return 7 })
		require.True(t, ok)
		require.Equal(t, 7, n)
	}
}

func TestPromptlyLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release, ended := make(chan struct{}), false
		go func() { synctest.Wait(); cancel() }()
		_, ok := evalsha.Promptly(ctx, func() int { <-release; ended = true; return 7 })
		require.False(t, ok)
		close(release)
		synctest.Wait()
		require.True(t, ended, "what was left goes on by itself")
	})
}

func TestPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		require.PanicsWithValue(t, "hook", func() {
			evalsha.Promptly(ctx, func() int { panic("hook") })
		})
	}
	caught := evalsha.Catch(func() int { panic("hook") })
	require.PanicsWithValue(t, "hook", func() { caught.Get() })
}

// A panic that nobody waits for any more does not end the process.
func TestPanicOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		go func() { synctest.Wait(); cancel() }()
		_, ok := evalsha.Promptly(ctx, func() int { <-release; panic("hook") })
		require.False(t, ok)
		close(release)
		synctest.Wait()
	})
}
