package redigobackend_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	redigobackend "github.com/hasp-go/hasp/examples/ownbackend"
)

func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }

// TestConformance judges the adapter by all clauses, and the primitives over it.
func TestConformance(t *testing.T) {
	t.Parallel()
	h := servers.Harness(t, servers.Redis, open)
	require.Subset(t, servers.Skips(h), conformance.Run(t, h).Reasons(), "reasons of skips")
}

// open makes a backend over a pool of its own, for the server at addr.
func open(_ context.Context, addr string) (*conformance.Instance, error) {
	return instance(&redis.Pool{MaxIdle: 16, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", addr)
	}})
}

// instance makes a backend over pool.
func instance(pool *redis.Pool) (*conformance.Instance, error) {
	b, err := redigobackend.New(pool, nil)
	ping := func(ctx context.Context) error {
		conn, err := pool.GetContext(ctx)
		if err != nil {
			return err
		}
		_, err = redis.DoContext(conn, ctx, "PING")
		return errors.Join(err, conn.Close())
	}
	return &conformance.Instance{Backend: b, Ping: ping, Close: func() { _ = pool.Close() }}, err
}
