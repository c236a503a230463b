package redigobackend_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	redigobackend "github.com/hasp-go/hasp/examples/ownbackend"
)

func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }

// TestConformance judges the adapter by all clauses, and the primitives over it.
func TestConformance(t *testing.T) {
	t.Parallel()
	requireSkips(t, conformance.Run(t, harness(t, newPool)),
		"channels do not move with slots",
		"the backend does not batch",
		"the backend does not wait for replicas",
		"the backend has pub/sub",
		"the harness cannot fail over",
		"the harness cannot isolate a primary",
		"the harness cannot migrate a slot",
		"the harness cannot move the server's clock",
		"the server is not a cluster",
	)
}

// TestAwkwardPool judges the adapter by its own clauses, over what applications configure, too.
func TestAwkwardPool(t *testing.T) {
	t.Parallel()
	h := harness(t, newAwkwardPool)
	requireSkips(t, conformance.RunRunner(t, h),
		"the backend does not batch",
		"the backend does not wait for replicas",
		"the harness cannot migrate a slot",
		"the server is not a cluster",
	)
	requireSkips(t, conformance.RunSubscriber(t, h),
		"channels do not move with slots",
		"the backend has pub/sub",
		"the harness cannot isolate a primary",
	)
}

// requireSkips fails on a skip for a reason that is not expected.
func requireSkips(t *testing.T, report conformance.Report, expected ...string) {
	t.Helper()
	require.Subset(t, expected, report.Reasons(), "reasons of skips")
}

// harness starts a server, for this test alone, and returns what the suite needs to judge backends
// over pools by newPool.
func harness(tb testing.TB, newPool poolMaker) *conformance.Harness {
	tb.Helper()
	server := servers.Start(tb, servers.Redis, nil)
	return &conformance.Harness{
		New: func(context.Context) (*conformance.Instance, error) {
			return newInstance(server.Addr(), newPool)
		},
		Do: func(_ context.Context, _ string, args ...string) (backend.Reply, error) {
			return server.Do(args...)
		},
		Capabilities: backend.Capabilities{PubSub: true},
		ListsClients: true,
		Faults:       true,
		Record: func(context.Context) (stop func() ([][]string, error), err error) {
			return servers.Record(server)
		},
		Restart: func(_ context.Context, keep bool) error {
			if keep {
				return server.Restart(servers.KeepData)
			}
			return server.Restart(servers.DropData)
		},
		Pause: func(context.Context, string) (resume func() error, err error) {
			return server.Resume, server.Pause()
		},
	}
}

// newInstance makes a backend, over a pool whose connections go through a wire of their own: it is
// where the suite makes the faults of a network.
func newInstance(addr string, newPool poolMaker) (*conformance.Instance, error) {
	wire := servers.NewWire(nil)
	pool := newPool(addr, wire.DialContext)
	b, err := redigobackend.New(pool, nil)
	if err != nil {
		return nil, err
	}
	return &conformance.Instance{
		Backend: b,
		Link:    wire,
		Ping: func(ctx context.Context) error {
			conn, err := pool.GetContext(ctx)
			if err != nil {
				return err
			}
			_, err = redis.DoContext(conn, ctx, "PING")
			return errors.Join(err, conn.Close())
		},
		Close: func() {
			_ = pool.Close()
			_ = wire.Close()
		},
	}, nil
}

type (
	poolMaker func(addr string, dial dialer) *redis.Pool
	dialer    func(ctx context.Context, network, addr string) (net.Conn, error)
)

func newPool(addr string, dial dialer) *redis.Pool {
	return &redis.Pool{
		MaxIdle: 16,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(dial))
		},
	}
}

// newAwkwardPool returns a pool that is made as in redigo's oldest examples: nothing of it knows a
// context, and nothing times out.
func newAwkwardPool(addr string, dial dialer) *redis.Pool {
	return &redis.Pool{
		MaxIdle:   4,
		MaxActive: 64,
		Wait:      true,
		Dial: func() (redis.Conn, error) {
			c, err := redis.Dial("tcp", addr, redis.DialContextFunc(dial))
			if err != nil {
				return nil, err
			}
			if _, err := c.Do("SELECT", 0); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return c, nil
		},
		TestOnBorrow: func(c redis.Conn, _ time.Time) error {
			_, err := c.Do("PING")
			return err
		},
	}
}
