package matrix

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

const crowdClients = 20

// crowd is how many waiters there are: in a part of the matrix fewer.
var crowd = map[bool]int{true: 1000, false: 200}[wholeMatrix()]

// crowdOf makes clients on a server of the test's own.
func crowdOf(t *testing.T, o *primitives.Options) (*target, []*primitives.Client) {
	t.Helper()
	on := standalone(t, servers.Redis)
	clients := make([]*primitives.Client, crowdClients)
	for i := range clients {
		clients[i], _ = openClient(t, adapters()[i%len(adapters())], on, o)
	}
	return on, clients
}

// awaitListeners waits until every client listens on the channel.
func awaitListeners(t *testing.T, on *target, channel string) {
	t.Helper()
	require.Eventually(t, func() bool {
		reply, err := on.nodes[0].Do("PUBSUB", "NUMSUB", channel)
		require.NoError(t, err)
		items, err := reply.Tuple(2)
		require.NoError(t, err)
		n, err := items[1].Int()
		require.NoError(t, err)
		return n == crowdClients
	}, conformance.Patience, 20*time.Millisecond)
}

// commandsRun returns how many commands the server has run, those of scripts included.
func commandsRun(t *testing.T, on *target) int {
	t.Helper()
	stats, err := on.nodes[0].Info("stats")
	require.NoError(t, err)
	n, err := strconv.Atoi(stats["total_commands_processed"])
	require.NoError(t, err)
	return n
}

// TestLatchReleasesACrowd lets waiters of 20 clients wait for one latch. The last count-down
// releases them all; with the pub/sub connections killed at that moment, and the latch opened without
// a message, all go on when these have subscribed again.
func TestLatchReleasesACrowd(t *testing.T) {
	proof(t)
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, on *target, l *primitives.CountDownLatch){
		"CountDown": func(t *testing.T, _ *target, l *primitives.CountDownLatch) {
			t.Helper()
			left, err := l.CountDown(t.Context())
			require.NoError(t, err)
			require.Zero(t, left)
		},
		"KilledConnections": func(t *testing.T, on *target, l *primitives.CountDownLatch) {
			t.Helper()
			_, err := on.nodes[0].Do("CLIENT", "KILL", "TYPE", "pubsub")
			require.NoError(t, err)
			_, err = on.nodes[0].Do("DEL", l.Name())
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, clients := crowdOf(t, &primitives.Options{PollInterval: time.Hour})
			latch := clients[0].NewCountDownLatch("crowd")
			set, err := latch.TrySetCount(t.Context(), 1)
			require.NoError(t, err)
			require.True(t, set)
			ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
			defer cancel()
			var all sync.WaitGroup
			var released, looked atomic.Int64
			for i := range crowd {
				all.Go(func() {
					looked.Add(1)
					if clients[i%crowdClients].NewCountDownLatch("crowd").Wait(ctx) == nil {
						released.Add(1)
					}
				})
			}
			awaitListeners(t, on, "redisson_countdownlatch__channel__{crowd}")
			require.Eventually(t, func() bool { return looked.Load() == int64(crowd) },
				conformance.Patience, time.Millisecond)
			require.Zero(t, released.Load(), "nobody goes on early")
			before := commandsRun(t, on)
			open(t, on, latch)
			all.Wait()
			require.EqualValues(t, crowd, released.Load())
			t.Logf("%d waiters of %d clients: %d commands", crowd, crowdClients, commandsRun(t, on)-before)
		})
	}
}

// TestSemaphoreServesACrowd lets waiters of 20 clients wait for one permit each, and releases
// one after the other.
func TestSemaphoreServesACrowd(t *testing.T) {
	proof(t)
	t.Parallel()
	on, clients := crowdOf(t, &primitives.Options{PollInterval: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 3*conformance.Patience)
	defer cancel()
	granted := make(chan error, crowd)
	for i := range crowd {
		go func() { granted <- clients[i%crowdClients].NewSemaphore("crowd", nil).Acquire(ctx, 1) }()
	}
	awaitListeners(t, on, "redisson_sc:{crowd}")
	before := commandsRun(t, on)
	for range crowd {
		require.NoError(t, clients[0].NewSemaphore("crowd", nil).Release(ctx, 1))
		require.NoError(t, <-granted)
	}
	perGrant := float64(commandsRun(t, on)-before) / float64(crowd)
	t.Logf("%.1f server commands for each grant, with %d clients that wait", perGrant, crowdClients)
	free, err := clients[0].NewSemaphore("crowd", nil).AvailablePermits(ctx)
	require.NoError(t, err)
	require.Zero(t, free)
	// One release, and at most one try of each client: 4 and 2 commands.
	require.Less(t, perGrant, float64(4+4*crowdClients))
}
