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
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// setUp is an adapter's NewClient over one driver's client, and a use of that client without hasp.
type setUp struct {
	newClient func(opts *primitives.Options) (*primitives.Client, error)
	ping      func(ctx context.Context) error
}

// setUps returns one for each adapter. Their drivers' clients end with the test.
func setUps(t *testing.T) map[string]setUp {
	t.Helper()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	overRueidis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	require.NoError(t, err)
	overValkey, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
	require.NoError(t, err)
	overGoRedis, server := redis.NewClient(&redis.Options{Addr: addr}), embedded.NewServer()
	t.Cleanup(func() {
		overRueidis.Close()
		overValkey.Close()
		require.NoError(t, overGoRedis.Close())
	})
	return map[string]setUp{
		"Rueidis": {
			func(o *primitives.Options) (*primitives.Client, error) {
				return rueidisbackend.NewClient(overRueidis, o)
			},
			func(ctx context.Context) error { return overRueidis.Do(ctx, overRueidis.B().Ping().Build()).Error() },
		},
		"Valkey": {
			func(o *primitives.Options) (*primitives.Client, error) { return valkeybackend.NewClient(overValkey, o) },
			func(ctx context.Context) error { return overValkey.Do(ctx, overValkey.B().Ping().Build()).Error() },
		},
		"GoRedis": {
			func(o *primitives.Options) (*primitives.Client, error) {
				return goredisbackend.NewClient(overGoRedis, o)
			},
			func(ctx context.Context) error { return overGoRedis.Ping(ctx).Err() },
		},
		"Embedded": {
			func(o *primitives.Options) (*primitives.Client, error) { return embedded.NewClient(server, o) },
			func(context.Context) error { _, err := server.Do("PING"); return err },
		},
	}
}

// TestNewClientOwnsItsBackend closes a client that holds a lock, and has a waiter: the backend is
// closed, and the driver's client can still be used. So it can after a bad option.
func TestNewClientOwnsItsBackend(t *testing.T) {
	t.Parallel()
	for name, s := range setUps(t) {
		opts := &primitives.Options{KeyPrefix: name}
		client, err := s.newClient(opts)
		require.NoError(t, err, name)
		require.False(t, opts.OwnsBackend, "%s: the options are the caller's", name)
		_, err = client.NewLock("x", nil).Lock(t.Context())
		require.NoError(t, err, name)
		waiter := make(chan error)
		go func() { _, err := client.NewLock("x", nil).Lock(t.Context()); waiter <- err }()
		require.NoError(t, client.Close(t.Context()), name)
		require.ErrorIs(t, <-waiter, primitives.ErrClosed, name)
		one := backend.NewScript("one", "return 1", 1, backend.RetryReadOnly)
		_, err = client.Core().Backend().Run(t.Context(), one, []string{"x"}, nil)
		require.ErrorIs(t, err, backend.ErrClosed, name)
		require.NoError(t, s.ping(t.Context()), name)

		_, err = s.newClient(&primitives.Options{WatchdogLease: 1})
		require.ErrorAs(t, err, new(*primitives.FieldError), name)
		next, err := s.newClient(opts)
		require.NoError(t, err, name)
		_, err = next.NewLock("x", nil).TryLock(t.Context())
		require.NoError(t, err, "%s: it was released before its backend was closed", name)
		require.NoError(t, next.Close(t.Context()), name)
	}
}
