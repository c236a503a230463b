package mutex

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// crowd is how many wait in [TestTenThousandAreServedInOrder], of two clients.
	crowd = 10_000

	// watched is for how long what they cost the server is measured.
	watched = 10 * time.Second
)

// TestTenThousandAreServedInOrder lets 10 000 goroutines of two clients wait. They cost the server little, come
// back to their places when the queue is lost, and are served in its order.
func TestTenThousandAreServedInOrder(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, nil)
	held, err := clients[0].NewMutex(name, nil).Lock(t.Context())
	require.NoError(t, err)
	granted := make(chan *primitives.Lease, crowd)
	for i := range crowd {
		go func() {
			lease, err := clients[i%len(clients)].NewMutex(name, nil).Lock(t.Context())
			noError(t, err)
			granted <- lease
		}()
	}
	s.Await(t, "all wait", func() bool { return s.Number(t, "ZCARD", queue) == crowd })
	busy, commands := s.busy(t), s.Commands(t)
	time.Sleep(watched) // It is no bound: in this time what they cost is counted.
	share := (s.busy(t) - busy).Seconds() / watched.Seconds()
	t.Logf("%d who wait cost the server %.2f %% of a core", crowd, 100*share)
	// A beat of a hundred is about as many commands, each 2.5 s.
	require.Less(t, s.Commands(t)-commands, 2*crowd*int(watched/(2500*time.Millisecond)))
	order := s.Texts(t, "ZRANGE", queue, "0", "-1")
	require.Len(t, order, crowd)
	s.loseQueue(t)
	require.Equal(t, order, s.Texts(t, "ZRANGE", queue, "0", "-1"), "each came back to its place")

	begin := time.Now()
	require.NoError(t, held.Release(t.Context()))
	for i := range crowd {
		lease := cells.Within(t, time.Minute, "the next one", granted)
		require.NotNil(t, lease)
		require.Equal(t, order[i], lease.Owner(), i)
		require.NoError(t, lease.Release(t.Context()))
	}
	t.Logf("they were served in %v", time.Since(begin))
	require.Zero(t, s.Number(t, "EXISTS", key, queue, signs))
}

// loseQueue deletes the queue, and waits until all are in it again.
func (s server) loseQueue(t *testing.T) {
	t.Helper()
	begin := time.Now()
	require.Equal(t, 2, s.Number(t, "DEL", queue, signs))
	s.Await(t, "all are back", func() bool { return s.Number(t, "ZCARD", queue) == crowd })
	t.Logf("after the queue was lost all were back within %v", time.Since(begin))
}

// busy returns for how long the server's processor was busy.
func (s server) busy(t *testing.T) (sum time.Duration) {
	t.Helper()
	info, err := s.Info("cpu")
	require.NoError(t, err)
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info[field], 64)
		require.NoError(t, err)
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum
}
