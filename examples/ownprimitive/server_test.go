package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	barrier "github.com/hasp-go/hasp/examples/ownprimitive"
	"github.com/hasp-go/hasp/primitives"
)

// addrOfChild says to a process of this program that it is a member, and where the server is.
const addrOfChild = "BARRIER_ADDR"

// The leases of members in real time: one whose end a test waits for, and one that no slow machine
// lets end.
const (
	shortLease  = 3 * time.Second
	steadyLease = time.Minute
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(addrOfChild); addr != "" {
		os.Exit(child(addr))
	}
	os.Exit(conformance.Main(m))
}

// child awaits, until it is killed.
func child(addr string) int {
	client, end, err := connect(addr, shortLease)
	if err == nil {
		defer end()
		err = barrier.New(client, "x", 3).Await(context.Background())
	}
	fmt.Println(err)
	return 1
}

// connect returns a client on the server at addr, as a process has it.
func connect(addr string, lease time.Duration) (client *primitives.Client, end func(), err error) {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	client, err = goredisbackend.NewClient(conn, &primitives.Options{
		WatchdogLease: lease, PollInterval: time.Hour, // Messages wake, or nothing does.
	})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return client, func() {
		_ = client.Close(context.Background())
		_ = conn.Close()
	}, nil
}

// onServer returns a barrier for that number of parties, by a client of its own.
func onServer(
	t *testing.T, server *servers.Server, parties int, lease time.Duration,
) *barrier.Barrier {
	t.Helper()
	client, end, err := connect(server.Addr(), lease)
	require.NoError(t, err)
	t.Cleanup(end)
	return barrier.New(client, "x", parties)
}

func begin(ctx context.Context, b *barrier.Barrier) chan error {
	got := make(chan error, 1)
	go func() { got <- b.Await(ctx) }()
	return got
}

// inShortLeases leaves a test to "make prove": its members lose their leases on a machine that stops for a second.
func inShortLeases(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
}

// requireWaiting waits until so many members wait.
func requireWaiting(t *testing.T, b *barrier.Barrier, members int) {
	t.Helper()
	require.Eventually(t, func() bool {
		n, err := b.Waiting(t.Context())
		return err == nil && n == members
	}, 10*time.Second, 10*time.Millisecond, "%d members", members)
}

// requirePassed waits for an Await to return nil.
func requirePassed(t *testing.T, got chan error) {
	t.Helper()
	select {
	case err := <-got:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.Fail(t, "it has not passed")
	}
}

// TestOnServer has members wait for each other longer than their leases are, and one that gives up.
func TestOnServer(t *testing.T) {
	inShortLeases(t)
	t.Parallel()
	server := servers.Start(t, servers.Redis, nil)
	a, b := onServer(t, server, 2, shortLease), onServer(t, server, 2, shortLease)
	ctx, leave := context.WithCancel(t.Context())
	leaver := begin(ctx, a)
	requireWaiting(t, b, 1)
	leave()
	require.ErrorIs(t, <-leaver, context.Canceled)
	requireWaiting(t, b, 0)
	got := begin(t.Context(), a)
	time.Sleep(2 * shortLease)
	require.Empty(t, got)
	requireWaiting(t, b, 1)
	requirePassed(t, begin(t.Context(), b))
	requirePassed(t, got)
}

// TestKilledMember kills a process whose member waits (SIGKILL): its place is free after its lease, and
// the member that waited with it passes with two others.
func TestKilledMember(t *testing.T) {
	inShortLeases(t)
	t.Parallel()
	server := servers.Start(t, servers.Redis, nil)
	b := onServer(t, server, 3, shortLease)
	program, err := os.Executable()
	require.NoError(t, err)
	dies := exec.CommandContext(t.Context(), program)
	dies.Env = append(os.Environ(), addrOfChild+"="+server.Addr())
	require.NoError(t, dies.Start())
	first := begin(t.Context(), b)
	requireWaiting(t, b, 2)
	require.NoError(t, dies.Process.Kill())
	_ = dies.Wait()
	requireWaiting(t, b, 1)
	second := begin(t.Context(), b)
	requireWaiting(t, b, 2)
	require.Empty(t, first)
	requirePassed(t, begin(t.Context(), b))
	requirePassed(t, first)
	requirePassed(t, second)
}

// TestGenerationsOnServer is [TestBarrierIsUsedAgain] over a network.
func TestGenerationsOnServer(t *testing.T) {
	t.Parallel()
	server := servers.Start(t, servers.Redis, nil)
	var barriers []*barrier.Barrier
	for range 4 {
		barriers = append(barriers, onServer(t, server, 4, steadyLease))
	}
	useAgain(t, barriers)
}
