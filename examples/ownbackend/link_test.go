package redigobackend_test

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	redigobackend "github.com/hasp-go/hasp/examples/ownbackend"
)

// TestQuietSubscriptionStays subscribes over a pool whose read time-out is far shorter than the time
// between two messages. The suite cannot know of it.
func TestQuietSubscriptionStays(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, servers.Redis, nil)
	const timeout = 50 * time.Millisecond
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", server.Addr(), redis.DialReadTimeout(timeout))
	}}
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	b, err := redigobackend.New(pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	events := make(chan backend.Event, 100)
	_, err = b.Subscribe(t.Context(), "c", func(e backend.Event) { events <- e })
	require.NoError(t, err)
	for range 3 {
		time.Sleep(3 * timeout)
		_, err := server.Do("PUBLISH", "c", "x")
		require.NoError(t, err)
		select {
		case e := <-events:
			require.Equal(t, backend.Event{Payload: "x"}, e)
		case <-time.After(conformance.Patience):
			require.Fail(t, "no message")
		}
	}
}
