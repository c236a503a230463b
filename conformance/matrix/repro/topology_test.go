package repro

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// ofThree starts a cluster of three, and returns what its clients must know.
func ofThree(t *testing.T, o *servers.ClusterOptions) (*servers.Cluster, cells.Client) {
	t.Helper()
	cluster, at := servers.StartCluster(t, servers.Redis, 3, o), cells.Client{Cluster: true}
	for _, node := range cluster.Nodes {
		at.Addrs = append(at.Addrs, node.Addr())
	}
	return cluster, at
}

// TestBackendBesideADeadPrimary makes backends on a cluster that has lost a primary and goes on without it: whichever
// node is asked first, New finds out that sharded pub/sub is known.
func TestBackendBesideADeadPrimary(t *testing.T) {
	t.Parallel()
	cluster, at := ofThree(t, &servers.ClusterOptions{Config: map[string]string{"cluster-require-full-coverage": "no"}})
	cluster.Nodes[0].Kill()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				in := cells.Got(a.Open(t.Context(), at))(t)
				require.True(t, in.Backend.Capabilities().Sharded)
				require.NoError(t, in.Backend.Close())
				in.Close()
			}
		})
	}
}

// TestScanOfAKilledPrimary kills a primary of a cluster while each adapter lists its keys: the list ends with one error.
func TestScanOfAKilledPrimary(t *testing.T) {
	t.Parallel()
	cluster, at := ofThree(t, nil)
	for i := range 300 {
		for _, node := range cluster.Nodes {
			_, _ = node.Do("SET", fmt.Sprint(i), "v") // One of them has it, and the others refuse.
		}
	}
	nexts := map[string]func() ([]string, error, bool){}
	for _, a := range cells.Adapters() {
		next, stop := iter.Pull2(a.Backend(t, at).(backend.Scanner).Scan(t.Context(), "*", 1))
		t.Cleanup(stop)
		_, err, more := next()
		require.True(t, more)
		require.NoError(t, err)
		nexts[a.Name] = next
	}
	cluster.Nodes[0].Kill()
	for name, next := range nexts {
		failed, more := error(nil), true
		for failed == nil && more {
			_, failed, more = next()
		}
		require.ErrorIs(t, failed, backend.ErrUnavailable, name)
		_, _, more = next()
		require.False(t, more, name)
	}
}

// TestAddersInTwoDatabases have one name and one channel, but no sum in common: each database has its own, a reset of
// one leaves the other as it is, and no request leaves a key.
func TestAddersInTwoDatabases(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience/4)
		defer cancel()
		var adders []*primitives.LongAdder
		for _, database := range []int{1, 2, 1, 2} {
			a := cells.Got(inDatabase(t, s, database).OpenLongAdder(ctx, "x"))(t)
			adders = append(adders, a)
			a.Add(int64(1) << (4 * len(adders)))
		}
		requireSums(ctx, t, adders, 0x1010, 0x10100)
		require.NoError(t, adders[0].Reset(ctx))
		requireSums(ctx, t, adders, 0, 0x10100)
		require.NoError(t, adders[3].Reset(ctx))
		adders[2].Increment()
		requireSums(ctx, t, adders, 1, 0)
		for database := range 3 {
			require.Empty(t, cells.Text(t, s, "EVAL",
				"redis.call('select', ARGV[1]) return table.concat(redis.call('keys', '*'), ' ')", "0", strconv.Itoa(database)))
		}
	})
}

// inDatabase returns a client of a logical database.
func inDatabase(t *testing.T, s *servers.Server, database int) *primitives.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), DB: database})
	t.Cleanup(func() { _ = c.Close() })
	return cells.Over(t, cells.Got(goredisbackend.New(c, nil))(t), nil)
}

// requireSums requires a sum of every other adder, and one of the rest.
func requireSums(ctx context.Context, t *testing.T, adders []*primitives.LongAdder, sums ...int64) {
	t.Helper()
	for i, a := range adders {
		require.Equal(t, sums[i%2], cells.Got(a.Sum(ctx))(t), "adder %d", i)
	}
}

const (
	consumers   = 4
	blockFor    = 6 * time.Second // two leases
	starveLease = 3 * time.Second
)

// TestBlockingCommandsBesideALease holds a lock while the application's consumers block. If they have all connections
// of go-redis's pool, renewals wait for one, and the holder loses the lease on a healthy server. What package
// goredisbackend says to set keeps the lease.
func TestBlockingCommandsBesideALease(t *testing.T) {
	cells.Proof(t)
	for name, c := range map[string]struct {
		size int // of the pool that hasp has
		own  bool
		err  error
	}{
		"SamePool": {consumers, false, primitives.ErrLost}, "LargerPool": {consumers + 1, false, nil},
		"ClientOfItsOwn": {consumers, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis, nil)
			ours := pool(t, s, c.size)
			theirs := ours
			if c.own {
				theirs = pool(t, s, c.size)
			}
			require.ErrorIs(t, heldWhileOthersBlock(t, s, cells.Got(goredisbackend.New(ours, nil))(t), theirs), c.err)
		})
	}
}

func pool(t *testing.T, s *servers.Server, size int) *redis.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: size, PipelinePoolSize: -1})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// heldWhileOthersBlock holds a lock while consumers block, one call each, and returns the error of its lease then.
func heldWhileOthersBlock(t *testing.T, s *servers.Server, b backend.Backend, theirs *redis.Client) error {
	t.Helper()
	lease := lock(t, cells.Over(t, b, &primitives.Options{WatchdogLease: starveLease}), "x")
	done := make(chan error, consumers)
	for range consumers {
		go func() { done <- theirs.BLPop(t.Context(), blockFor, "queue").Err() }()
	}
	require.Eventually(t, func() bool {
		info, err := s.Info("clients")
		return err == nil && info["blocked_clients"] == "4"
	}, 5*time.Second, 5*time.Millisecond, "the consumers were to block")
	for range consumers {
		<-done
	}
	return lease.Err()
}
