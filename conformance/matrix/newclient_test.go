package matrix

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// setUp is an adapter's NewClient over one driver's client, and a use of that client without hasp.
type setUp struct {
	newClient newClient
	ping      func(ctx context.Context) error
}

type newClient = func(opts *primitives.Options) (*primitives.Client, error)

func over[C any](conn C, create func(C, *primitives.Options) (*primitives.Client, error)) newClient {
	return func(opts *primitives.Options) (*primitives.Client, error) { return create(conn, opts) }
}

// setUps returns one for each adapter. Their drivers' clients end with the test.
func setUps(t *testing.T) map[string]setUp {
	t.Helper()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	overRueidis := cells.Got(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}}))(t)
	overValkey := cells.Got(valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}}))(t)
	overGoRedis, server := redis.NewClient(&redis.Options{Addr: addr}), embedded.NewServer()
	t.Cleanup(func() {
		overRueidis.Close()
		overValkey.Close()
		require.NoError(t, overGoRedis.Close())
	})
	return map[string]setUp{
		"Rueidis": {
			over(overRueidis, rueidisbackend.NewClient),
			func(ctx context.Context) error { return overRueidis.Do(ctx, overRueidis.B().Ping().Build()).Error() },
		},
		"Valkey": {
			over(overValkey, valkeybackend.NewClient),
			func(ctx context.Context) error { return overValkey.Do(ctx, overValkey.B().Ping().Build()).Error() },
		},
		"GoRedis": {
			over[redis.UniversalClient](overGoRedis, goredisbackend.NewClient),
			func(ctx context.Context) error { return overGoRedis.Ping(ctx).Err() },
		},
		"Embedded": {
			over(server, embedded.NewClient),
			func(context.Context) error { _, err := server.Do("PING"); return err },
		},
	}
}

// TestNewClientClosesItsBackend closes a client of each adapter: its backend is closed, and the driver's client can
// still be used. So it can after a bad option.
func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	for name, s := range setUps(t) {
		client, err := s.newClient(nil)
		require.NoError(t, err, name)
		require.NoError(t, client.Close(t.Context()), name)
		one := backend.NewScript("one", "return 1", 1, backend.RetryReadOnly)
		_, err = client.Core().Backend().Run(t.Context(), one, []string{"x"}, nil)
		require.ErrorIs(t, err, backend.ErrClosed, name)
		_, err = s.newClient(&primitives.Options{WatchdogLease: 1})
		require.ErrorAs(t, err, new(*primitives.FieldError), name)
		require.NoError(t, s.ping(t.Context()), name)
	}
}
