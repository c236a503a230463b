package recipes_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// program is how one version of a program does its work under a lock.
type program func(ctx context.Context, client *primitives.Client, work func() error) error

// programs returns the three versions of a transition. The old library's lock is one for all.
func programs() (old, both, hasp program) {
	var mu sync.Mutex
	lockOld := func(ctx context.Context) (context.Context, func(context.Context) error, error) {
		mu.Lock()
		return ctx, func(context.Context) error { mu.Unlock(); return nil }, nil
	}
	underLease := func(work func() error) func(context.Context, *primitives.Lease) error {
		return func(context.Context, *primitives.Lease) error { return work() }
	}
	old = func(_ context.Context, _ *primitives.Client, work func() error) error {
		mu.Lock()
		defer mu.Unlock()
		return work()
	}
	both = func(ctx context.Context, client *primitives.Client, work func() error) error {
		return recipes.HoldBoth(ctx, client.NewLock("x", nil), lockOld, underLease(work))
	}
	hasp = func(ctx context.Context, client *primitives.Client, work func() error) error {
		return client.NewLock("x", nil).Do(ctx, underLease(work))
	}
	return old, both, hasp
}

// TestHoldBoth has each two versions that follow each other run side by side, as a rolling deploy does.
func TestHoldBoth(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		old, both, hasp := programs()
		requireExclusion(t, process, old, both)
		requireExclusion(t, process, both, hasp)
	})
}

func requireExclusion(t *testing.T, process processes, versions ...program) {
	t.Helper()
	var inside atomic.Int64
	work := func() error {
		defer inside.Add(-1)
		if inside.Add(1) != 1 {
			return errors.New("two are inside")
		}
		time.Sleep(time.Millisecond) // time for another to come in
		return nil
	}
	done := make(chan error, 2*len(versions))
	for _, run := range append(versions, versions...) {
		client := process()
		go func() {
			var err error
			for range 10 {
				err = errors.Join(err, run(t.Context(), client, work))
			}
			done <- err
		}()
	}
	for range 2 * len(versions) {
		require.NoError(t, receive(t, done))
	}
}

func TestHoldBothReportsTheOldRelease(t *testing.T) {
	t.Parallel()
	expired := errors.New("already expired")
	err := recipes.HoldBoth(t.Context(), onEmbedded(t, embedded.NewServer())().NewLock("x", nil),
		func(ctx context.Context) (context.Context, func(context.Context) error, error) {
			return ctx, func(context.Context) error { return expired }, nil
		}, func(context.Context, *primitives.Lease) error { return nil })
	require.ErrorIs(t, err, expired)
}

// TestSameKey shows what docs/migration.md says of redsync and redislock, whose locks are texts at the name: a
// Lock of the same name neither shares the key with them nor waits for them, and a Mutex does not see them.
func TestSameKey(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { require.NoError(t, conn.Close()) }()
	client := onRedis(t, addr)()
	setNX := redis.SetArgs{Mode: "NX", TTL: time.Minute}

	require.NoError(t, conn.SetArgs(t.Context(), "x", "value", setNX).Err())
	_, err := client.NewLock("x", nil).Lock(t.Context())
	require.ErrorIs(t, err, primitives.ErrConflict)
	lease, err := client.NewMutex("x", nil).TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))

	lease, err = client.NewLock("y", nil).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, conn.SetArgs(t.Context(), "y", "value", setNX).Err(), redis.Nil)
	require.ErrorContains(t, conn.GetRange(t.Context(), "y", 0, 1).Err(), "WRONGTYPE") // as redislock does then
	require.NoError(t, lease.Release(t.Context()))
}
