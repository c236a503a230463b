package counting

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// crowdClients are those of [TestCommandsPerGrantStayConstant].
const crowdClients = 20

// many is how many wait there: in a part of the matrix fewer.
var many = map[bool]int{true: 1000, false: 300}[cells.Whole()]

// patient are waiters that nobody takes for dead, and that are woken by messages alone.
func patient(order primitives.CountingOrder) *primitives.CountingSemaphoreOptions {
	return &primitives.CountingSemaphoreOptions{Order: order, Lease: time.Hour, WaiterTimeout: 10 * time.Hour}
}

// noPoll is the configuration of their clients.
var noPoll = &primitives.Options{PollInterval: time.Hour}

// TestCommandsPerGrantStayConstant counts what ten hand-overs take while about 20 of 20 clients wait, and
// while very many do.
func TestCommandsPerGrantStayConstant(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for title, order := range orders {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			few, crowded := handOvers(t, order, crowdClients+10), handOvers(t, order, many)
			t.Logf("%d commands for ten hand-overs with %d waiters, %d with %d",
				few, crowdClients+10, crowded, many)
			require.InDelta(t, few, crowded, float64(few)/4+100) // Pings of subscriptions count, too.
		})
	}
}

func handOvers(t *testing.T, order primitives.CountingOrder, waiters int) int {
	t.Helper()
	s := start(t)
	clients := s.Clients(t, crowdClients, noPoll)
	held := hold(t, clients[0], slots, patient(order))
	c := s.wait(t, waiters, clients, slots, patient(order))
	// Each waiter tries when it comes, and one of each client once the client listens.
	before := s.settled(t, slots+waiters+crowdClients)
	for range 10 {
		require.NoError(t, held[0].Release(t.Context()))
		held = append(held[1:], c.next(t).lease)
	}
	taken := s.settled(t, 0) - before
	for _, cancel := range c.cancel {
		cancel()
	}
	return taken
}
