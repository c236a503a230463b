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
)

// TestAwkwardPool judges the adapter by its own clauses, over what applications configure, too: a pool
// that is made as in redigo's oldest examples. Nothing of it knows a context, and nothing times out.
func TestAwkwardPool(t *testing.T) {
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	t.Parallel()
	h := servers.Harness(t, servers.Redis, func(_ context.Context, addr string) (*conformance.Instance, error) {
		return instance(&redis.Pool{
			MaxIdle:   4,
			MaxActive: 64,
			Wait:      true,
			Dial: func() (redis.Conn, error) { // It waits for a reply, too.
				return redis.Dial("tcp", addr, redis.DialClientName("pool"))
			},
			TestOnBorrow: func(c redis.Conn, _ time.Time) error {
				_, err := c.Do("PING")
				return err
			},
		})
	})
	report := conformance.Run(t, h, conformance.PartRunner, conformance.PartSubscriber)
	require.Subset(t, servers.Skips(h), report.Reasons(), "reasons of skips")
}

// TestQuietSubscriptionStays subscribes over a pool whose read time-out is far shorter than the time
// between two messages. The suite cannot know of it.
func TestQuietSubscriptionStays(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	server := servers.Start(t, servers.Redis, nil)
	in, err := instance(&redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", server.Addr(), redis.DialReadTimeout(timeout))
	}})
	require.NoError(t, err)
	t.Cleanup(in.End)
	events := make(chan backend.Event, 100)
	_, err = in.Backend.Subscribe(t.Context(), "c", func(e backend.Event) { events <- e })
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
