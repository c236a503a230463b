package redisson

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
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

// TestKilled kills a process of each side, by kill -9, that holds locks of all kinds and waits for others.
// The survivors of both sides get all of them.
func TestKilled(t *testing.T) {
	_, ours, java := pair(t)
	ctx := t.Context() // Leases have to end.
	victim := startPeer(t, java.addr)
	for kind, lockOf := range kinds {
		victim.enters(ctx, ours, kind, theirs(kind), lockOf(ours, theirs(kind)))
	}
	leases := map[string]*primitives.Lease{}
	var parked []chan string
	for kind, lockOf := range kinds {
		var err error
		leases[kind], err = lockOf(ours, waited(kind)).Lock(ctx)
		require.NoError(t, err)
		parked = append(parked, victim.begin(kind+".section", waited(kind), "open"))
	}
	killOurs := startVictim(t, java.addr)
	for _, answer := range parked {
		victim.waits(answer)
	}
	victim.kill()
	killOurs()
	for kind, lockOf := range kinds {
		java.does("left", kind+".section", ownVictims(kind), "open")
		lease, err := lockOf(ours, theirs(kind)).Lock(ctx)
		require.NoError(t, err, kind)
		require.NoError(t, lease.Unlock(ctx))
		section := java.begin(kind+".section", waited(kind), "open")
		next, mine := beginLock(ctx, lockOf(ours, waited(kind)))
		java.waits(mine)
		require.NoError(t, leases[kind].Unlock(ctx))
		java.await(mine, done)
		require.NoError(t, (*next).Unlock(ctx))
		java.await(section, "left")
	}
}

// victimAddr says to a process of ours that it is a victim.
const victimAddr = "HASP_REDISSON_VICTIM"

// startVictim runs this test binary again, as [TestVictim], and returns when that holds all that it is to
// hold.
func startVictim(t *testing.T, addr string) (kill func()) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$") //nolint:gosec // Ours.
	victim.Env = append(os.Environ(), victimAddr+"="+addr)
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	t.Cleanup(func() { _ = victim.Wait() })
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- line
	}()
	require.Equal(t, "victim waits\n", cells.Within(t, patience, "the victim", said))
	return func() { require.NoError(t, victim.Process.Kill()) }
}

// TestVictim is our process that is killed: it holds locks, and waits for others.
func TestVictim(t *testing.T) {
	addr := os.Getenv(victimAddr)
	if addr == "" {
		t.Skip("it is the child of another test")
	}
	c := cells.Named("Rueidis").Primitives(t, cells.At(addr), &primitives.Options{WatchdogLease: time.Second})
	for kind, lockOf := range kinds {
		_, err := lockOf(c, ownVictims(kind)).Lock(context.Background())
		require.NoError(t, err)
		go func() { _, _ = lockOf(c, waited(kind)).Lock(context.Background()) }()
	}
	time.Sleep(aWhile) // They come to waiting. On a slow machine they may be killed before that.
	fmt.Println("victim waits")
	select {}
}
