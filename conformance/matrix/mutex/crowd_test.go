package mutex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// crowd is how many wait in [TestCrowdIsServedInOrder], of two clients.
	crowd = 400

	// watched is for how long their beats are counted: four rounds.
	watched = 10 * time.Second
)

// TestCrowdIsServedInOrder lets 400 goroutines of two clients wait. Their beats are one script for a hundred of
// them, they come back to their places when the queue is lost, and are served in its order.
func TestCrowdIsServedInOrder(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	synctest.Test(t, serveCrowd)
}

func serveCrowd(t *testing.T) {
	w := &world{Server: embedded.NewServer()}
	clients := []*primitives.Client{w.client(t), w.client(t)}
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
	time.Sleep(time.Second) // Then all wait.
	order, beats := textsOf(t, w.Server, "ZRANGE", queue, "0", "-1"), w.beats.Load()
	require.Len(t, order, crowd)
	time.Sleep(watched)
	require.LessOrEqual(t, w.beats.Load()-beats, int64(crowd/100*(watched/(2500*time.Millisecond)+1)))
	require.Equal(t, 2, numberOf(t, w.Server, "DEL", queue, signs))
	time.Sleep(watched) // By then each client has shown signs of life again, and asked for its place.
	require.Equal(t, order, textsOf(t, w.Server, "ZRANGE", queue, "0", "-1"), "each came back to its place")

	require.NoError(t, held.Release(t.Context()))
	for i := range crowd {
		lease := <-granted
		require.NotNil(t, lease)
		require.Equal(t, order[i], lease.Owner(), i)
		require.NoError(t, lease.Release(t.Context()))
	}
	require.Zero(t, numberOf(t, w.Server, "EXISTS", key, queue, signs))
}
