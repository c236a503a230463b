package redigobackend_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

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
	requireSkips(t, conformance.Run(t, harness(t, newPool)),
		conformance.SkipUnsharded,
		conformance.SkipNoBatches,
		conformance.SkipNoReplicaWaiter,
		conformance.SkipPubSub,
		conformance.SkipNoFailOver,
		conformance.SkipNoIsolate,
		conformance.SkipNoMigrate,
		conformance.SkipNoAdvance,
		conformance.SkipNoCluster,
	)
}

// TestAwkwardPool judges the adapter by its own clauses, over what applications configure, too.
func TestAwkwardPool(t *testing.T) {
	t.Parallel()
	h := harness(t, newAwkwardPool)
	requireSkips(t, conformance.RunRunner(t, h),
		conformance.SkipNoBatches,
		conformance.SkipNoReplicaWaiter,
		conformance.SkipNoMigrate,
		conformance.SkipNoCluster,
	)
	requireSkips(t, conformance.RunSubscriber(t, h),
		conformance.SkipUnsharded,
		conformance.SkipPubSub,
		conformance.SkipNoIsolate,
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
	return servers.Harness(tb, servers.Redis, func(
		_ context.Context, addr string, dial servers.Dialer,
	) (*conformance.Instance, error) {
		pool := newPool(addr, dial)
		b, err := redigobackend.New(pool, nil)
		return &conformance.Instance{
			Backend: b,
			Ping: func(ctx context.Context) error {
				conn, err := pool.GetContext(ctx)
				if err != nil {
					return err
				}
				_, err = redis.DoContext(conn, ctx, "PING")
				return errors.Join(err, conn.Close())
			},
			Close: func() { _ = pool.Close() },
		}, err
	})
}

type poolMaker func(addr string, dial servers.Dialer) *redis.Pool

func newPool(addr string, dial servers.Dialer) *redis.Pool {
	return &redis.Pool{
		MaxIdle: 16,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(dial))
		},
	}
}

// newAwkwardPool returns a pool that is made as in redigo's oldest examples: nothing of it knows a
// context, and nothing times out.
func newAwkwardPool(addr string, dial servers.Dialer) *redis.Pool {
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
