package fair

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// TestCrowdIsServedInOrder lets 300 waiters of 30 clients come one after the other. A quarter is
// cancelled, and two clients are cut off midway: all others are served in the order of their arrival.
func TestCrowdIsServedInOrder(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	const waiters, clients, dead = 300, 30, 2
	s := start(t)
	p := proxy.Start(t, s.Addr(), nil)
	all := s.clients(t, clients-dead, nil)
	for range dead {
		all = append(all, cells.Named("GoRedis").Primitives(t, cells.At(p.Addr()),
			&primitives.Options{CloseTimeout: time.Millisecond}))
	}
	holder := hold(t, all[0])
	c := s.waitInTurn(t, waiters, all, &primitives.FairLockOptions{WaitAllowance: 15 * time.Second})
	alive := func(i int) bool { return i%clients < clients-dead }
	cancelled := func(i int) bool { return alive(i) && i%4 == 1 }
	require.NoError(t, holder.Unlock(t.Context()))
	order := c.serve(t, 50)
	p.Refuse()
	cancelAll(c.cancel[51:], func(i int) bool { return cancelled(i + 51) })
	rest := 0
	for i := order[len(order)-1] + 1; i < waiters; i++ {
		if alive(i) && (i < 51 || !cancelled(i)) {
			rest++
		}
	}
	order = append(order, c.serve(t, rest)...)
	require.True(t, slices.IsSorted(order), order)
	require.Len(t, slices.Compact(order), 50+rest)
	s.await(t, "nobody waits", func() bool { return s.number(t, "EXISTS", key, queue, timeouts, deadlines) == 0 })
}

func cancelAll(cancels []context.CancelFunc, which func(i int) bool) {
	for i, cancel := range cancels {
		if which(i) {
			cancel()
		}
	}
}
