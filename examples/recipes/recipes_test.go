package recipes_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// patience is how long a test waits for what happens at once on a machine that is not busy.
const patience = 30 * time.Second

// processes returns clients on one server, each as a process of its own has it.
type processes func() *primitives.Client

// onServers runs a test on the embedded server, and on a real one if there is one.
func onServers(t *testing.T, test func(t *testing.T, process processes)) {
	t.Helper()
	t.Parallel()
	t.Run("Embedded", func(t *testing.T) {
		t.Parallel()
		test(t, onEmbedded(t, embedded.NewServer()))
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		test(t, onRedis(t, servers.Start(t, servers.Redis, nil).Addr()))
	})
}

func onEmbedded(t *testing.T, server *embedded.Server) processes {
	t.Helper()
	return func() *primitives.Client {
		client, err := embedded.NewClient(server, nil)
		return closing(t, client, err)
	}
}

func onRedis(t *testing.T, addr string) processes {
	t.Helper()
	return func() *primitives.Client {
		conn := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		client, err := goredisbackend.NewClient(conn, nil)
		return closing(t, client, err)
	}
}

// closing returns a client that ends with the test.
func closing(t *testing.T, client *primitives.Client, err error) *primitives.Client {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client
}

// receive waits for a value.
func receive[T any](t *testing.T, values <-chan T) T {
	t.Helper()
	select {
	case value := <-values:
		return value
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}
