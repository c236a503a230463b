package repro

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
)

// R9: while the application has all connections of the pool for blocking commands, attempts to
// subscribe leave one goroutine in all that waits for the pool, and none once the pool yields.
func TestDialsOfAUsedUpPoolPileUp(t *testing.T) { //nolint:paralleltest // It counts goroutines.
	s := servers.Start(t, servers.Redis, nil)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, BlockingPoolSize: 1,
	})
	require.NoError(t, err)
	defer client.Close()
	application, release := client.Dedicate()
	require.NoError(t, application.Do(t.Context(), application.B().Ping().Build()).Error())
	b, err := rueidisbackend.New(client, &rueidisbackend.Options{
		PubSub: &fanout.Options{DialWithin: 100 * time.Millisecond, Patience: 100 * time.Millisecond},
	})
	require.NoError(t, err)
	for range 6 {
		_, err := b.Subscribe(t.Context(), "c", func(backend.Event) {})
		require.ErrorIs(t, err, context.DeadlineExceeded, "the pool was to be used up")
		require.Equal(t, 1, goroutinesIn("rueidis.(*pool).Acquire"))
	}
	require.NoError(t, b.Close())
	require.Equal(t, 1, goroutinesIn("backend/rueidis."), "after Close")
	release()
	require.Eventually(t, func() bool { return goroutinesIn("backend/rueidis.") == 0 },
		10*time.Second, 10*time.Millisecond, "once the pool yields")

	next, release := client.Dedicate() // The pool has its connection again.
	defer release()
	require.NoError(t, next.Do(t.Context(), next.B().Ping().Build()).Error())
}

// goroutinesIn counts the goroutines that have part in their stacks.
func goroutinesIn(part string) (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, part) && !strings.Contains(stack, "goroutinesIn") {
			n++
		}
	}
	return n
}
