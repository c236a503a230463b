package repro

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

const (
	consumers   = 4
	blockFor    = 6 * time.Second // two leases
	starveLease = 3 * time.Second
)

// lockWhileOthersBlock holds a lock over c while consumers block, one call of block each, and
// returns the lease and its context as they are when these have returned.
func lockWhileOthersBlock(
	t *testing.T, s *servers.Server, c *primitives.Client, block func(queue string),
) (*primitives.Lease, context.Context) {
	t.Helper()
	lease, err := c.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	ctx := lease.Context(t.Context())
	done := make(chan struct{}, consumers)
	for range consumers {
		go func() { block("queue"); done <- struct{}{} }()
	}
	require.Eventually(t, func() bool {
		info, err := s.Info("clients")
		return err == nil && info["blocked_clients"] == "4"
	}, 5*time.Second, 5*time.Millisecond, "the consumers were to block")
	for range consumers {
		<-done
	}
	return lease, ctx
}

// overGoRedis returns a client of primitives over r.
func overGoRedis(t *testing.T, r *redis.Client) *primitives.Client {
	t.Helper()
	b, err := goredisbackend.New(r, nil)
	require.NoError(t, err)
	return over(t, b, &primitives.Options{WatchdogLease: starveLease})
}

func newGoRedis(t *testing.T, s *servers.Server, o redis.Options) *redis.Client {
	t.Helper()
	o.Addr = s.Addr()
	r := redis.NewClient(&o)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// The application's blocking commands have all connections of go-redis's pool: renewals wait for
// one, and the lease is lost, on a healthy server. The holder learns of it.
func TestBlockingCommandsCostTheLease(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	r := newGoRedis(t, s, redis.Options{PoolSize: consumers, PipelinePoolSize: -1})
	lease, ctx := lockWhileOthersBlock(t, s, overGoRedis(t, r), func(queue string) {
		_ = r.BLPop(t.Context(), blockFor, queue).Err()
	})
	require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	require.ErrorIs(t, context.Cause(ctx), primitives.ErrLost)
	<-lease.Done()
	reply, err := s.Do("EXISTS", "x")
	require.NoError(t, err, "the server was to be well")
	n, err := reply.Int()
	require.NoError(t, err)
	require.Zero(t, n)
}

// What package goredisbackend says to set keeps the lease.
func TestBlockingCommandsBesideALease(t *testing.T) {
	t.Parallel()
	t.Run("LargerPool", func(t *testing.T) {
		t.Parallel()
		s := servers.Start(t, servers.Redis, nil)
		r := newGoRedis(t, s, redis.Options{PoolSize: consumers + 1, PipelinePoolSize: -1})
		lease, ctx := lockWhileOthersBlock(t, s, overGoRedis(t, r), func(queue string) {
			_ = r.BLPop(t.Context(), blockFor, queue).Err()
		})
		requireHeld(t, lease, ctx)
	})
	t.Run("ClientOfItsOwn", func(t *testing.T) {
		t.Parallel()
		s := servers.Start(t, servers.Redis, nil)
		ours := newGoRedis(t, s, redis.Options{PoolSize: consumers, PipelinePoolSize: -1})
		theirs := newGoRedis(t, s, redis.Options{PoolSize: consumers, PipelinePoolSize: -1})
		lease, ctx := lockWhileOthersBlock(t, s, overGoRedis(t, ours), func(queue string) {
			_ = theirs.BLPop(t.Context(), blockFor, queue).Err()
		})
		requireHeld(t, lease, ctx)
	})
	// rueidis blocks on connections of another pool than that of scripts.
	t.Run("Rueidis", func(t *testing.T) {
		t.Parallel()
		s := servers.Start(t, servers.Redis, nil)
		r, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{s.Addr()}, BlockingPoolSize: consumers,
		})
		require.NoError(t, err)
		t.Cleanup(r.Close)
		b, err := rueidisbackend.New(r, nil)
		require.NoError(t, err)
		c := over(t, b, &primitives.Options{WatchdogLease: starveLease})
		lease, ctx := lockWhileOthersBlock(t, s, c, func(queue string) {
			_ = r.Do(t.Context(), r.B().Blpop().Key(queue).Timeout(blockFor.Seconds()).Build()).Error()
		})
		requireHeld(t, lease, ctx)
	})
}

func requireHeld(t *testing.T, lease *primitives.Lease, ctx context.Context) {
	t.Helper()
	require.NoError(t, lease.Err())
	require.NoError(t, ctx.Err())
	require.NoError(t, lease.Unlock(t.Context()))
}
