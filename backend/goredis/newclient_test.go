package goredisbackend_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

// TestNewClientClosesItsBackend closes a client: its backend is closed, and the driver's client can still be used. So it
// can after a bad option.
func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return "+OK\r\n" })
	conn := redis.NewClient(&redis.Options{Addr: s.addr})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	require.NoError(t, client.Close(t.Context()))
	one := backend.NewScript("one", "return 1", 1, backend.RetryReadOnly)
	_, err = client.Core().Backend().Run(t.Context(), one, []string{"x"}, nil)
	require.ErrorIs(t, err, backend.ErrClosed)
	_, err = goredisbackend.NewClient(conn, &primitives.Options{WatchdogLease: 1})
	require.ErrorAs(t, err, new(*primitives.FieldError))
	require.NoError(t, conn.Ping(t.Context()).Err())
}
