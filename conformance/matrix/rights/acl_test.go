// Package rights has tests of what a server's user needs: the commands that our scripts call, and the
// keys and channels that they touch.
package rights

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// scripts returns the texts of the primitives' scripts, by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	paths := cells.Got(filepath.Glob("../../../primitives/internal/script/*.lua"))(t)
	require.NotEmpty(t, paths)
	all := map[string]string{}
	for _, path := range paths {
		text := cells.Got(os.ReadFile(path))(t)
		all[strings.TrimSuffix(filepath.Base(path), ".lua")] = string(text)
	}
	return all
}

// TestACLInACluster contends for locks of all nodes as the user that the commands on the page make.
func TestACLInACluster(t *testing.T) {
	t.Parallel()
	c := servers.StartCluster(t, servers.Valkey, 3, nil)
	user := cells.Client{Cluster: true, User: "app", Password: "PASSWORD"}
	server, cluster, _ := cells.ACLCommands()
	for _, node := range c.Nodes {
		do(t, node, strings.Fields(server)...)
		do(t, node, strings.Fields(cluster)...)
		user.Addrs = append(user.Addrs, node.Addr())
	}
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) { // One after the other: each flushes the scripts of all.
			// No poll: a message that is refused is missed.
			o := &primitives.Options{KeyPrefix: "app:", PollInterval: time.Hour}
			one, other := a.Primitives(t, user, o), a.Primitives(t, user, o)
			for _, name := range []string{"1", "2", "3", "4", "5", "6", "{7}"} {
				for kind := range lockers(one, "") {
					holder, _ := lockerOf(lockers(one, name+a.Name+kind)[kind])
					waiter, _ := lockerOf(lockers(other, name+a.Name+kind)[strings.Replace(kind, "read", "write", 1)])
					handOver(t, holder, waiter) // A reader keeps no reader out.
				}
				if name == "5" {
					for _, node := range c.Nodes {
						do(t, node, "SCRIPT", "FLUSH")
					}
				}
			}
			for _, name := range []string{"adder", "{adder}"} {
				sumUp(t, one, other, name)
			}
		})
	}
}

// sumUp has two clients count, and ask each other.
func sumUp(t *testing.T, one, other *primitives.Client, name string) {
	t.Helper()
	a := cells.Got(one.OpenLongAdder(t.Context(), name))(t)
	defer a.Close()
	b := cells.Got(other.OpenLongAdder(t.Context(), name))(t)
	defer b.Close()
	a.Add(1)
	b.Add(2)
	cells.Want(t, int64(3))(a.Sum(t.Context()))
	require.NoError(t, a.Reset(t.Context()))
	cells.Want(t, int64(0))(b.Sum(t.Context()))
}

// locker is a kind of lock.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
}

// slot is a counting semaphore of which one has the only slot, as a lock.
type slot struct{ *primitives.CountingSemaphore }

// Lock implements locker.
func (s slot) Lock(ctx context.Context) (*primitives.Lease, error) { return s.Acquire(ctx) }

// TryLock implements locker.
func (s slot) TryLock(ctx context.Context) (*primitives.Lease, error) { return s.TryAcquire(ctx) }

// handOver makes waiter wait for what holder has.
func handOver(t *testing.T, holder, waiter locker) {
	t.Helper()
	lease := cells.Got(holder.Lock(t.Context()))(t)
	got := make(chan error, 1)
	go func() {
		lease, err := waiter.Lock(t.Context())
		if err == nil {
			err = lease.Release(t.Context())
		}
		got <- err
	}()
	require.ErrorIs(t, cells.Err(waiter.TryLock(t.Context())), primitives.ErrNotAcquired)
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, cells.Within(t, conformance.Patience, "waking the waiter", got))
}

// TestOldServerRefusesAtOnce: the first call of each kind whose scripts ask for permissions is refused, and has written
// nothing, on Redis 6.2, which "make test-oldest" has, and on a miniredis that lacks a command like it.
func TestOldServerRefusesAtOnce(t *testing.T) {
	t.Parallel()
	old := miniredis.RunT(t)
	old.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
		if command == "PEXPIRETIME" {
			p.WriteError("ERR unknown command")
		}
		return command == "PEXPIRETIME"
	})
	t.Run("Miniredis", func(t *testing.T) { refusesAtOnce(t, old.Addr()) })
	t.Run("Redis6", func(t *testing.T) {
		if _, version, _ := servers.Find(servers.Redis); !strings.HasPrefix(version, "6.") {
			t.Skipf("make test-oldest runs it: HASP_REDIS_SERVER is Redis %s", version)
		}
		s := servers.Start(t, servers.Redis, &servers.Options{Config: map[string]string{"enable-debug-command": ""}})
		refusesAtOnce(t, s.Addr())
	})
}

func refusesAtOnce(t *testing.T, addr string) {
	t.Helper()
	conn, ran := redis.NewClient(&redis.Options{Addr: addr}), []string{}
	defer func() { _ = conn.Close() }()
	c := cells.Named("GoRedis").Primitives(t, cells.At(addr), nil)
	for kind, o := range objects(t.Context(), c, "x") {
		if err := act(t.Context(), kind, o); err == nil {
			ran = append(ran, kind)
			require.NoError(t, conn.FlushAll(t.Context()).Err())
		} else {
			require.ErrorIs(t, err, primitives.ErrNotSupported, kind)
		}
		require.Zero(t, conn.DBSize(t.Context()).Val(), kind)
		require.ErrorIs(t, cells.Err(o.MissingRights(t.Context())), primitives.ErrNotSupported, kind)
	}
	// The adders only open, and the latch is only set.
	require.ElementsMatch(t, []string{"long", "double", "throttle", "latch", "long adder", "double adder"}, ran)
	latch := c.NewCountDownLatch("x")
	cells.Want(t, true)(latch.InitCount(t.Context(), 2))
	require.ErrorIs(t, cells.Err(latch.CountDown(t.Context())), primitives.ErrNotSupported)
	cells.Want(t, int64(2))(latch.Count(t.Context()))
}
