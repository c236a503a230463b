// Package crowds has tests with many waiters, or many locks, on one server. What they cost is counted
// in the server's commands.
package crowds

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

const crowdClients = 20

// crowd is how many waiters there are: in a part of the matrix fewer.
var crowd = map[bool]int{true: 1000, false: 200}[cells.Whole()]

// awaitListeners waits until every client listens on the channel.
func awaitListeners(t *testing.T, s cells.Server, channel string) {
	t.Helper()
	all := backend.ArrayReply([]backend.Reply{
		backend.StringReply(channel), backend.IntegerReply(crowdClients),
	})
	require.Eventually(t, func() bool {
		reply, err := s.Do("PUBSUB", "NUMSUB", channel)
		return err == nil && harness.Same(all, reply)
	}, conformance.Patience, 20*time.Millisecond)
}

// TestLatchReleasesACrowd lets waiters of 20 clients wait for one latch. The last count-down
// releases them all; if the latch is opened without a message, and the pub/sub connections are killed after
// that, all go on when these have subscribed again.
func TestLatchReleasesACrowd(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, s cells.Server, l *primitives.CountDownLatch){
		"CountDown": func(t *testing.T, _ cells.Server, l *primitives.CountDownLatch) {
			cells.Want(t, int64(0))(l.CountDown(t.Context()))
		},
		"KilledConnections": func(t *testing.T, s cells.Server, l *primitives.CountDownLatch) {
			_, err := s.Do("DEL", l.Name())
			require.NoError(t, err)
			_, err = s.Do("CLIENT", "KILL", "TYPE", "pubsub")
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			releaseCrowd(t, open)
		})
	}
}

func releaseCrowd(
	t *testing.T, open func(t *testing.T, s cells.Server, l *primitives.CountDownLatch),
) {
	t.Helper()
	s := cells.StartServer(t)
	clients := s.Clients(t, crowdClients, &primitives.Options{PollInterval: time.Hour})
	latch := clients[0].NewCountDownLatch("crowd")
	cells.Want(t, true)(latch.InitCount(t.Context(), 1))
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
	awaitListeners(t, s, "redisson_countdownlatch__channel__{crowd}")
	require.Eventually(t, func() bool { return looked.Load() == int64(crowd) },
		conformance.Patience, time.Millisecond)
	require.Zero(t, released.Load(), "nobody goes on early")
	before := s.Commands(t)
	open(t, s, latch)
	all.Wait()
	require.EqualValues(t, crowd, released.Load())
	t.Logf("%d waiters of %d clients: %d commands", crowd, crowdClients, s.Commands(t)-before)
}
