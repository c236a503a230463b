package crowds

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestPermitCrowdCostsWhatAFewDo hands a permit from waiter to waiter of 20 clients, of which each waits
// again when it has had it. What a grant costs the server depends on how many clients wait, not on how many
// waiters they have.
func TestPermitCrowdCostsWhatAFewDo(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	perGrant := map[int]float64{}
	for _, waiters := range []int{10, 100, 1000} {
		perGrant[waiters] = costOfAGrant(t, waiters)
		t.Logf("%d waiters of %d clients: %.1f server commands for each grant", waiters, crowdClients, perGrant[waiters])
	}
	require.Less(t, perGrant[1000], 1.5*perGrant[100])
	// A release, a grant, and at most one refusal of each client: 9, 8 and 5 commands, and the EVALSHA.
	for waiters, cost := range perGrant {
		require.Less(t, cost, float64(10+9+6*crowdClients), "%d waiters", waiters)
	}
}

// costOfAGrant returns how many commands the server runs for each grant while so many wait.
func costOfAGrant(t *testing.T, waiters int) float64 {
	t.Helper()
	const grants = 400
	s, clients := crowdOf(t, crowdClients)
	ctx, cancel := context.WithTimeout(t.Context(), 3*conformance.Patience)
	defer cancel()
	permit := clients[0].NewPermitSemaphore("crowd", nil)
	cells.Want(t, true)(permit.InitPermits(ctx, 1))
	held, err := permit.Acquire(ctx, 1)
	require.NoError(t, err)
	granted, again := make(chan *primitives.Lease), make(chan struct{})
	waiting, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range waiters {
		all.Go(func() {
			takeTurns(waiting, clients[i%crowdClients].NewPermitSemaphore("crowd", nil), granted, again)
		})
	}
	awaitQuiet(t, s)
	before := cells.Server{Server: s}.Commands(t)
	for range grants {
		require.NoError(t, held.Release(ctx))
		held = cells.Within(t, conformance.Patience, "a grant", granted)
		again <- struct{}{}
	}
	cost := float64(cells.Server{Server: s}.Commands(t)-before) / grants
	stop()
	all.Wait()
	require.NoError(t, held.Release(ctx))
	return cost
}

// takeTurns waits for a permit, hands it over, and waits again.
func takeTurns(
	ctx context.Context, s *primitives.PermitSemaphore, granted chan<- *primitives.Lease, again <-chan struct{},
) {
	for {
		got, err := s.Acquire(ctx, 1)
		if err != nil {
			return
		}
		select {
		case granted <- got:
			<-again
		case <-ctx.Done():
			return
		}
	}
}

// awaitQuiet waits until all have been refused, and nobody looks any more: what is left are pings.
func awaitQuiet(t *testing.T, s *servers.Server) {
	t.Helper()
	last := cells.Server{Server: s}.Commands(t)
	require.Eventually(t, func() bool {
		now := cells.Server{Server: s}.Commands(t)
		quiet := now < last+5*crowdClients
		last = now
		return quiet
	}, conformance.Patience, time.Second)
}
