package redisson

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers/redisson"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// patience bounds what is expected to happen at once.
	patience = time.Minute

	// aWhile is how long something is watched that is not expected to happen.
	aWhile = 300 * time.Millisecond
)

// peer is a Redisson client, in a process of its own.
type peer struct {
	*redisson.Client
	t  *testing.T
	at cells.Client // for clients of ours that hear its messages
}

// kill ends the process as kill -9 does.
func (p *peer) kill() {
	p.t.Helper()
	require.NoError(p.t, p.Kill())
}

// libraries skips the test, or has Maven fetch what a peer needs.
func libraries(t *testing.T) {
	t.Helper()
	if os.Getenv("HASP_REDISSON") == "" {
		t.Skip("HASP_REDISSON is not set: it takes Java 17, Maven, and what Maven fetches")
	}
	require.NoError(t, redisson.Prepare())
	t.Logf("Redisson %s", redisson.Version())
}

// before reports whether the version of Redisson is older than this one.
func before(major, minor int) bool {
	var v [2]int
	_, _ = fmt.Sscanf(redisson.Version(), "%d.%d", &v[0], &v[1])
	return slices.Compare(v[:], []int{major, minor}) < 0
}

// startPeer starts a Redisson client of a server, of a cluster, or of more servers, which have red locks.
func startPeer(t *testing.T, at cells.Client) *peer {
	t.Helper()
	p := &peer{redisson.Start(t, at.Cluster, at.Addrs...), t, at}
	// In a cluster, older versions use sharded messages if the server that they ask has slot 0.
	if at.Cluster && p.within("the kind of messages", p.begin("client.isSharded", "-")) != "true" {
		t.Log("Redisson publishes by PUBLISH, and so do we")
		p.at.Sharded = backend.ShardedOff
	}
	return p
}

// begin begins a call of Redisson's method, on the object called name.
func (p *peer) begin(method, name string, args ...any) <-chan string {
	p.t.Helper()
	answer, err := p.Begin(method, name, args...)
	require.NoError(p.t, err)
	return answer
}

// does makes a call, and requires its answer. It reports whether this version of Redisson has the method.
func (p *peer) does(want, method, name string, args ...any) (has bool) {
	p.t.Helper()
	return p.await(p.begin(method, name, args...), want)
}

// await requires the answer of a call that was begun. An older version of Redisson may lack the method.
func (p *peer) await(answer <-chan string, want string) (has bool) {
	p.t.Helper()
	got := p.within("the answer "+want, answer)
	if strings.HasPrefix(got, "java.lang.NoSuchMethodError") || strings.HasPrefix(got, "java.lang.NoClassDefFoundError") {
		p.t.Logf("left out: Redisson %s: %s", redisson.Version(), got)
		return false
	}
	require.Equal(p.t, want, got)
	return true
}

// within waits for an answer.
func (p *peer) within(what string, answer <-chan string) string {
	p.t.Helper()
	return cells.Within(p.t, patience, what, answer)
}

// waits requires that a call does not return for now.
func (p *peer) waits(answer <-chan string) {
	p.t.Helper()
	require.Never(p.t, func() bool { return len(answer) > 0 }, aWhile, aWhile/30, "it did not wait")
}

// begin begins a call of ours.
func begin(call func() error) <-chan string {
	answer := make(chan string, 1)
	go func() { answer <- fmt.Sprint(call()) }()
	return answer
}

// Each kind has three locks: those that a victim of either side holds when it is killed, and one for which
// both victims wait.
func theirs(kind string) string     { return kind + "-theirs" }
func ownVictims(kind string) string { return kind + "-ours" }
func waited(kind string) string     { return kind + "-waited" }

// testKilled kills a process of each side, by kill -9, that holds locks of all kinds and waits for others.
// The survivors of both sides get all of them: those that the dead read, too, to write.
func testKilled(_ context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	if before(3, 46) {
		t.Skip("Redisson has no setting for how long a killed waiter keeps its place in a fair queue: it is five minutes")
	}
	ctx := t.Context() // Leases have to end.
	victim := startPeer(t, java.at)
	for kind, lockOf := range kinds {
		victim.enters(ctx, ours, kind, theirs(kind), lockOf(ours, theirs(kind)))
	}
	victim.enters(ctx, ours, "read", theirs("read"), readLock(ours, theirs("read")))
	leases := map[string]*primitives.Lease{}
	var parked []<-chan string
	for kind, lockOf := range kinds {
		var err error
		leases[kind], err = lockOf(ours, waited(kind)).Lock(ctx)
		require.NoError(t, err)
		parked = append(parked, victim.begin(kind+".section", waited(kind), "open"))
	}
	ourVictim := startVictim(t, java.at)
	for _, answer := range parked {
		victim.waits(answer)
	}
	victim.kill()
	ourVictim.Kill(t)
	java.does("left", "write.section", ownVictims("read"), "open")
	require.NoError(t, cells.Err(writeLock(ours, theirs("read")).Lock(ctx)))
	for kind, lockOf := range kinds {
		java.does("left", kind+".section", ownVictims(kind), "open")
		lease, err := lockOf(ours, theirs(kind)).Lock(ctx)
		require.NoError(t, err, kind)
		require.NoError(t, lease.Release(ctx))
		section := java.begin(kind+".section", waited(kind), "open")
		next, mine := beginLock(ctx, lockOf(ours, waited(kind)))
		java.waits(mine)
		require.NoError(t, leases[kind].Release(ctx))
		java.await(mine, done)
		require.NoError(t, (*next).Release(ctx))
		java.await(section, "left")
	}
}

// startVictim starts a process of ours that is killed, and returns when it holds all that it is to hold.
func startVictim(t *testing.T, at cells.Client) *cells.Child {
	t.Helper()
	victim := cells.StartChild(t, os.Args[0], "TestVictim", at.Addrs...)
	require.Equal(t, "waits", victim.Next(t))
	return victim
}

// TestVictim is our process that is killed: it holds locks, and waits for others.
func TestVictim(t *testing.T) {
	addrs, _ := cells.AsChild(t)
	c := cells.Named("Rueidis").Primitives(t, cells.Client{Addrs: addrs, Cluster: len(addrs) > 1},
		&primitives.Options{WatchdogLease: time.Second})
	for kind, lockOf := range kinds {
		require.NoError(t, cells.Err(lockOf(c, ownVictims(kind)).Lock(context.Background())))
		go func() { _, _ = lockOf(c, waited(kind)).Lock(context.Background()) }()
	}
	require.NoError(t, cells.Err(readLock(c, ownVictims("read")).Lock(context.Background())))
	time.Sleep(aWhile) // They come to waiting. On a slow machine they may be killed before that.
	cells.Say("waits")
	select {}
}
