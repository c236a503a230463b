package goredisbackend_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/fanout"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// commandInfo is what a cluster client learns of commands, to route them.
const commandInfo = "*4\r\n" +
	"*6\r\n$7\r\nevalsha\r\n:-3\r\n~0\r\n:0\r\n:0\r\n:0\r\n" +
	"*6\r\n$4\r\npttl\r\n:2\r\n~1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n" +
	"*6\r\n$10\r\nevalsha_ro\r\n:-3\r\n~1\r\n+readonly\r\n:0\r\n:0\r\n:0\r\n" +
	"*6\r\n$6\r\nexists\r\n:-2\r\n~1\r\n+readonly\r\n:1\r\n:-1\r\n:1\r\n"

// node is a fake node of a cluster: it answers what concerns the cluster, and the test the rest.
func node(t *testing.T, answer func(words []string) string) *adaptertest.Server {
	t.Helper()
	return newFakeServer(t, ofNode(answer))
}

func ofNode(answer func(words []string) string) func(words []string) string {
	return func(words []string) string {
		switch strings.ToLower(words[0]) {
		case "command":
			return commandInfo
		case "pubsub":
			return "*0\r\n"
		}
		return answer(words)
	}
}

// cluster returns a client of a cluster whose lower half of slots is one's, with a replica, and
// whose upper is two's. The slot of "b" is in the lower half, that of "a" in the upper.
func cluster(
	t *testing.T, one, replica, two string, opts redis.ClusterOptions,
) *redis.ClusterClient {
	t.Helper()
	opts.ClusterSlots = func(ctx context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: one}, {Addr: replica}}},
			{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: two}}},
		}, ctx.Err()
	}
	return closing(t, redis.NewClusterClient(&opts))
}

func ok([]string) string { return ":1\r\n" }

func TestClusterRunsOnPrimaries(t *testing.T) {
	t.Parallel()
	one, replica, two := node(t, ok), node(t, ok), node(t, ok)
	b := over(t, cluster(t, one.Addr, replica.Addr, two.Addr, redis.ClusterOptions{ReadOnly: true}))
	pttl := &backend.Script{Name: "pttl", Command: "PTTL", Keys: 1, Retry: backend.RetryReadOnly}
	exists := &backend.Script{Name: "exists", Command: "EXISTS", Keys: -1, Retry: backend.RetryReadOnly}
	for _, call := range []backend.Call{
		{Script: script, Keys: []string{"b"}}, {Script: read, Keys: []string{"b"}},
		{Script: pttl, Keys: []string{"b"}}, {Script: exists, Keys: []string{"b", "{b}2", "b"}},
	} {
		require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), call.Script, call.Keys, call.Args)))
		require.NoError(t, backend.RunAll(t.Context(), b, []backend.Call{call})[0].Err)
	}
	for _, command := range []string{
		"EVALSHA " + script.SHA1 + " 1 b\n", "EVALSHA_RO " + read.SHA1 + " 1 b\n", "PTTL b\n",
		"EXISTS b {b}2 b\n",
	} {
		require.Equal(t, 2, one.Count(command), command)
		require.Zero(t, replica.Count(command)+two.Count(command), command)
	}
}

// A batch that is redirected, sent there and then lost must not look merely redirected.
func TestClusterBatchLostAfterRedirect(t *testing.T) {
	t.Parallel()
	two := node(t, func(words []string) string {
		if words[3] == "b" {
			return adaptertest.HangUp
		}
		return ":1\r\n"
	})
	one := node(t, func([]string) string { return "-MOVED 1 " + two.Addr + "\r\n" })
	b := over(t, cluster(t, one.Addr, two.Addr, two.Addr, redis.ClusterOptions{}))
	outcomes := backend.RunAll(t.Context(), b, []backend.Call{
		{Script: script, Keys: []string{"b"}}, {Script: script, Keys: []string{"{b}2"}},
	})
	require.ErrorIs(t, outcomes[0].Err, backend.ErrIndeterminate)
	require.Equal(t, 1, two.Count(" 1 b\n"))
	require.Equal(t, 1, two.Count(" 1 {b}2\n"))
}

func TestClusterDetectsShardedPubSub(t *testing.T) {
	t.Parallel()
	knows := node(t, ok)
	lacks := newFakeServer(t, func(words []string) string {
		if words[0] == "PUBSUB" {
			return "-ERR Unknown PUBSUB subcommand or wrong number of arguments for 'shardnumsub'\r\n"
		}
		return commandInfo
	})
	refuses := newFakeServer(t, func([]string) string { return "-NOPERM x\r\n" })
	for _, c := range []struct {
		two     string
		option  backend.Sharding
		sharded bool
	}{
		{knows.Addr, backend.ShardedAuto, true}, {lacks.Addr, backend.ShardedAuto, false},
		{knows.Addr, backend.ShardedOff, false}, {lacks.Addr, backend.ShardedOn, true},
		{refuses.Addr, backend.ShardedAuto, true}, {"127.0.0.1:1", backend.ShardedAuto, true},
	} {
		client := cluster(t, knows.Addr, knows.Addr, c.two, redis.ClusterOptions{})
		b := adaptertest.Must(goredisbackend.New(client, &goredisbackend.Options{Sharded: c.option}))(t)
		require.Equal(t, backend.Capabilities{PubSub: true, Cluster: true, Sharded: c.sharded},
			b.Capabilities())
		require.NoError(t, b.Close())
	}
	client := cluster(t, refuses.Addr, knows.Addr, refuses.Addr, redis.ClusterOptions{})
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(client, nil)), "NOPERM")
}

// What the client knows of the cluster is out of date: it asks again, or it would never find the new node.
func TestClusterIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]string{
		"AfterALoss":             node(t, func([]string) string { return adaptertest.HangUp }).Addr,
		"AfterAMoveWithoutAHost": node(t, func([]string) string { return "-MOVED 1 :7001\r\n" }).Addr,
		"AfterAFailedDial":       "127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var owner atomic.Value // as the cluster says: first the old one
			owner.Store(old)
			found := node(t, adaptertest.Ack).Addr
			client := closing(t, redis.NewClusterClient(&redis.ClusterOptions{
				ClusterStateReloadInterval: time.Hour,
				ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
					nodes := []redis.ClusterNode{{Addr: owner.Swap(found).(string)}}
					return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: nodes}}, nil
				},
			}))
			b, err := goredisbackend.New(client, &goredisbackend.Options{
				Sharded: backend.ShardedOn, // With a question or a ping, the client asks, too.
				PubSub:  &fanout.Options{PingEvery: time.Hour, SubscribeTimeout: time.Minute},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			_, _ = collect(t, b, "b")
		})
	}
}

func TestClusterAfterAFailover(t *testing.T) {
	t.Parallel()
	adaptertest.Failover(t, func(nodes [2]*adaptertest.Server, primary *atomic.Int32) adaptertest.Adapter {
		for _, n := range nodes {
			n.Answer = ofNode(n.Answer)
			n.Listen(t)
		}
		client := closing(t, redis.NewClusterClient(&redis.ClusterOptions{
			ClusterStateReloadInterval: time.Hour,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				now := primary.Load()
				both := []redis.ClusterNode{{Addr: nodes[now].Addr}, {Addr: nodes[1-now].Addr}}
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: both}}, nil
			},
		}))
		return over(t, client)
	})
}

// TestLinkFollowsTheCluster: it stays at a primary, and leaves a node that is none any more, though its connection is sound.
func TestLinkFollowsTheCluster(t *testing.T) {
	t.Parallel()
	one, two := node(t, adaptertest.Ack), node(t, adaptertest.Ack)
	var primary atomic.Value
	primary.Store(one.Addr)
	client := closing(t, redis.NewClusterClient(&redis.ClusterOptions{
		ClusterStateReloadInterval: time.Millisecond,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			nodes := []redis.ClusterNode{{Addr: primary.Load().(string)}}
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: nodes}}, nil
		},
	}))
	b := adaptertest.Must(goredisbackend.New(client, &goredisbackend.Options{PubSub: &fanout.Options{PingEvery: 10 * time.Millisecond}}))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	_, events := collect(t, b, "b")
	require.Eventually(t, func() bool { return one.Count("subscribe b\n") > 20 }, 20*time.Second, time.Millisecond)
	require.Empty(t, events)
	primary.Store(two.Addr)
	require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
	require.Positive(t, two.Count("subscribe b\n"))
}
