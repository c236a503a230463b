// Package joint has tests of locks that are several: red locks on five servers, some of which fail, and multi
// locks of several drivers and servers.
package joint

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// lease is the longest that is used, with a drift that a busy machine does not use up. A server that
// has lost its data stays out for as long.
const (
	lease = 6 * time.Second
	drift = 2 * time.Second
)

// nodes are the servers of a red lock.
type nodes []*servers.Server

func start(t *testing.T) (all nodes) {
	t.Helper()
	for range 5 {
		all = append(all, servers.Start(t, servers.Redis, nil))
	}
	return all
}

// lock returns the lock as a process of its own has it.
func (all nodes) lock(t *testing.T, a cells.Adapter, o *primitives.RedLockOptions) *primitives.RedLock {
	t.Helper()
	var clients []*primitives.Client
	for _, s := range all {
		clients = append(clients, a.Primitives(t, cells.At(s.Addr()), &primitives.Options{
			WatchdogLease: lease, ClockDrift: drift,
		}))
	}
	return primitives.NewRedLock(clients, "x", o)
}

// jump does to what is held on a node what a jump of its clock does.
func (all nodes) jump(t *testing.T, node int, by time.Duration) {
	t.Helper()
	reply, err := all[node].Do("PTTL", "x")
	require.NoError(t, err)
	if left, err := reply.Int(); err == nil && left > 0 {
		left = max(left-by.Milliseconds(), 1)
		_, err = all[node].Do("PEXPIRE", "x", strconv.FormatInt(left, 10))
		require.NoError(t, err)
	}
}

// TestNeverTwoHolders lets callers of three processes, one for each driver, contend while servers fail in
// turn.
func TestNeverTwoHolders(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	all, watch := start(t), &holders{}
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for _, a := range cells.Adapters() {
		lock := all.lock(t, a, nil)
		callers.Go(func() { watch.contend(t, lock, stop) })
	}
	watch.goOn(t, "at first")
	all[0].Kill()
	all[1].Kill()
	watch.goOn(t, "with three of five")
	time.Sleep(lease) // They stay out for the longest lease.
	require.NoError(t, all[0].Restart(servers.DropData))
	require.NoError(t, all[1].Restart(servers.DropData))
	watch.goOn(t, "after two are back")
	require.NoError(t, all[2].Pause())
	watch.goOn(t, "with one that is stopped")
	require.NoError(t, all[2].Resume())
	watch.goOn(t, "after it goes on")
	all[3].Kill()
	time.Sleep(lease)
	require.NoError(t, all[3].Restart(servers.DropData))
	watch.goOn(t, "after one has lost its data")
	for range 20 {
		all.jump(t, 4, drift/2)
		time.Sleep(50 * time.Millisecond)
	}
	watch.goOn(t, "after a clock has jumped")
	close(stop)
	callers.Wait()
	require.Empty(t, watch.twice)
	t.Logf("%d grants", watch.grants)
}

// holders watches who holds the lock.
type holders struct {
	mu     sync.Mutex
	now    *primitives.Lease
	grants int
	twice  []string
}

// contend takes the lock again and again. It may lose it.
func (h *holders) contend(t *testing.T, lock *primitives.RedLock, stop <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-stop:
			return
		default:
		}
		l, err := lock.Lock(t.Context())
		if err != nil { // No majority, as far as this process can see.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		h.enter(l)
		time.Sleep(20 * time.Millisecond)
		h.leave(l)
		_ = l.Release(t.Context()) // It may be lost.
	}
}

func (h *holders) enter(l *primitives.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants++
	// The newer one is asked last: it may have been granted after the other has ended.
	if h.now != nil && h.now.Err() == nil && l.Err() == nil {
		h.twice = append(h.twice, fmt.Sprintf("grant %d while another is held for %v", h.grants, h.now.Remaining()))
	}
	h.now = l
}

func (h *holders) leave(l *primitives.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == l {
		h.now = nil
	}
}

// goOn waits until the lock was granted some more times.
func (h *holders) goOn(t *testing.T, when string) {
	t.Helper()
	count := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.grants
	}
	enough := count() + 30
	require.Eventually(t, func() bool { return count() >= enough }, 2*time.Minute, 10*time.Millisecond, when)
}
