package redisson

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// Each kind has three locks: those that a victim of either side holds when it is killed, and one for which
// both victims wait.
func theirs(kind string) string     { return kind + "-theirs" }
func ownVictims(kind string) string { return kind + "-ours" }
func waited(kind string) string     { return kind + "-waited" }

// testKilled kills a process of each side, by kill -9, that holds locks of all kinds and waits for others.
// The survivors of both sides get all of them: those that the dead read, too, to write.
func testKilled(t *testing.T, ours *primitives.Client, java *peer) {
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
