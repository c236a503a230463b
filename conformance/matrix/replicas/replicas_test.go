// Package replicas has tests on a primary and replicas that lag, stop or leave: what a lagging replica
// forgets when it is promoted, and locks that wait for replicas.
package replicas

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestReadsGoToThePrimary reads behind a client that sends what only reads to a replica, which lags (R8).
func TestReadsGoToThePrimary(t *testing.T) {
	t.Parallel()
	for kind, open := range map[servers.Kind]func(t *testing.T, primary, replica string) backend.Backend{
		servers.Redis: readingRueidis, servers.Valkey: readingValkey,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			r := servers.StartReplicated(t, kind, 1, nil)
			readFresh(t, open(t, r.Primary().Addr(), r.Replicas()[0].Addr()), r)
		})
	}
}

func readingRueidis(t *testing.T, primary, replica string) backend.Backend {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:    []string{primary},
		Standalone:     rueidis.StandaloneOption{ReplicaAddress: []string{replica}},
		SendToReplicas: func(cmd rueidis.Completed) bool { return cmd.IsReadOnly() },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return cells.Got(rueidisbackend.New(client, nil))(t)
}

func readingValkey(t *testing.T, primary, replica string) backend.Backend {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:    []string{primary},
		Standalone:     valkey.StandaloneOption{ReplicaAddress: []string{replica}},
		SendToReplicas: func(cmd valkey.Completed) bool { return cmd.IsReadOnly() },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return cells.Got(valkeybackend.New(client, nil))(t)
}

// readFresh writes what the replica does not get, and reads it.
func readFresh(t *testing.T, b backend.Backend, r *servers.Replicated) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	read := backend.NewScript("read", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
	plain := backend.NewScript("read", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
	plain.Command = "GET"
	require.NoError(t, cells.Err(b.Run(t.Context(), read, []string{"k"}, nil)))
	require.NoError(t, r.Sync())
	require.NoError(t, r.Lag())
	require.NoError(t, cells.Err(r.Primary().Do("SET", "k", "fresh")))
	for range 20 {
		for _, script := range []*backend.Script{read, plain} {
			cells.Want(t, backend.StringReply("fresh"))(b.Run(t.Context(), script, []string{"k"}, nil))
		}
	}
}

// patience bounds what has to happen at all.
const patience = time.Minute

// locker is a lock of any kind.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
}

// lockers makes a lock of each kind, called by it, that waits for n replicas, for timeout.
func lockers(c *primitives.Client, n int, timeout time.Duration) map[string]locker {
	lock := &primitives.LockOptions{Replicas: n, ReplicaTimeout: timeout}
	spin := &primitives.SpinLockOptions{Replicas: n, ReplicaTimeout: timeout}
	fair := &primitives.FairLockOptions{Replicas: n, ReplicaTimeout: timeout}
	readWrite := &primitives.ReadWriteLockOptions{Replicas: n, ReplicaTimeout: timeout}
	return map[string]locker{
		"lock": c.NewLock("lock", lock), "fenced": c.NewFencedLock("fenced", lock),
		"spin": c.NewSpinLock("spin", spin), "fair": c.NewFairLock("fair", fair),
		"read":  c.NewReadWriteLock("read", readWrite).ReadLock(),
		"write": c.NewReadWriteLock("write", readWrite).WriteLock(), "mutex": c.NewMutex("mutex", &primitives.MutexOptions{Replicas: n, ReplicaTimeout: timeout}),
		"plain": c.NewPlainLock("plain", &primitives.PlainLockOptions{Replicas: n, ReplicaTimeout: timeout}),
	}
}

// eventually requires that check succeeds soon.
func eventually(t *testing.T, check func() bool) {
	t.Helper()
	require.Eventually(t, check, patience, 5*time.Millisecond)
}

func run(s *servers.Server, words ...string) error {
	_, err := s.Do(words...)
	return err
}

// TestPrimaryIsDemoted makes the primary a replica while somebody waits for replicas there, and then the primary again.
func TestPrimaryIsDemoted(t *testing.T) {
	for _, a := range cells.Adapters() {
		for _, kind := range servers.Kinds() {
			t.Run(a.Name+"On"+kind.String(), func(t *testing.T) {
				t.Parallel()
				demote(t, a, servers.StartReplicated(t, kind, 1, nil))
			})
		}
	}
}

func demote(t *testing.T, a cells.Adapter, r *servers.Replicated) {
	t.Helper()
	primary, replica := r.Primary(), r.Replicas()[0]
	l := a.Primitives(t, cells.At(primary.Addr()), nil).NewLock("x",
		&primitives.LockOptions{Replicas: 1, ReplicaTimeout: patience / 4, Lease: patience})
	require.NoError(t, replica.Pause())
	locked := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { locked <- cells.LockUnlock(ctx, l) }()
	blocked := func() string { info, _ := primary.Info("clients"); return info["blocked_clients"] }
	eventually(t, func() bool { return blocked() == "1" })
	host, port, _ := strings.Cut(replica.Addr(), ":")
	require.NoError(t, run(primary, "REPLICAOF", host, port))
	eventually(t, func() bool { return blocked() == "0" })
	require.NoError(t, run(primary, "REPLICAOF", "NO", "ONE"))
	require.NoError(t, replica.Resume())
	require.NoError(t, cells.Within(t, patience, "Lock", locked))
	eventually(t, func() bool { return cells.Text(t, primary, "EXISTS", "x") == "0" })
}

// TestSlotMoves moves a lock's slot to another node while somebody waits for it. A call that waits for replicas follows
// no redirect: while the slot is on the move a first try fails, with nothing executed, and a waiter waits on.
func TestSlotMoves(t *testing.T) {
	cells.Proof(t)
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			moveSlot(t, a, servers.StartCluster(t, servers.Redis, 3, &servers.ClusterOptions{Replicas: 1}))
		})
	}
}

func moveSlot(t *testing.T, a cells.Adapter, cluster *servers.Cluster) {
	t.Helper()
	c := cells.Client{Cluster: true}
	for _, s := range cluster.Primaries() {
		c.Addrs = append(c.Addrs, s.Addr())
	}
	client := a.Primitives(t, c, &primitives.Options{PollInterval: time.Second})
	holder := cells.Got(client.NewLock("x", nil).Lock(t.Context()))(t)
	from := cells.Got(cluster.Owner(backend.Slot("x")))(t)
	l := client.NewLock("x", &primitives.LockOptions{Replicas: 1, ReplicaTimeout: patience / 4, Lease: patience})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	locked := make(chan error, 1)
	go func() { locked <- cells.LockUnlock(ctx, l) }()
	eventually(t, func() bool { return cells.Server{Server: cluster.Nodes[from]}.Calls(t, "wait") > 0 }) // It was refused.
	primaries := cluster.Primaries()
	next := primaries[(slices.Index(primaries, cluster.Nodes[from])+1)%len(primaries)]
	m := cells.Got(cluster.BeginMigration(backend.Slot("x"), slices.Index(cluster.Nodes, next)))(t)
	require.NoError(t, m.MoveKeys())
	_, err := l.TryLock(ctx)
	require.ErrorIs(t, err, primitives.ErrUnavailable)
	require.False(t, backend.MayHaveRun(err), err)
	require.NoError(t, holder.Release(ctx))
	require.NoError(t, m.MoveKeys())
	require.NoError(t, m.Finish())
	require.NoError(t, cells.Within(t, patience, "Lock", locked))
}
