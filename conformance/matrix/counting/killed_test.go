package counting

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

const (
	slots     = 5
	processes = 8
	deadLease = 2 * time.Second // of holders that are killed; so long waiters keep their places, too

	// within is how soon all slots are in use again after holders were killed.
	within = deadLease + cells.Poll + conformance.Patience
)

// TestKilledHolders has eight processes for five slots, and kills all five that hold one by SIGKILL, again and
// again. Each time those who wait are in within a lease and a poll, and new processes take the place of
// the dead. At no time are there more than five holders by the server.
func TestKilledHolders(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for title, order := range orders {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			killHolders(t, start(t), order)
		})
	}
}

// holder is a process that waits for a slot, and then keeps it.
type holder struct {
	*cells.Child
	in chan struct{} // closed when it is in
}

func (s server) startHolder(t *testing.T, i int, order primitives.CountingOrder) *holder {
	t.Helper()
	a := cells.Adapters()[i%len(cells.Adapters())]
	h := &holder{cells.StartChild(t, "TestHolder", a.Name, s.Addr(), strconv.Itoa(int(order))), make(chan struct{})}
	go func() {
		if line := <-h.Lines; line == "in" {
			close(h.in)
		}
	}()
	return h
}

func killHolders(t *testing.T, s server, order primitives.CountingOrder) {
	t.Helper()
	observer := s.Clients(t, 1, nil)[0].NewCountingSemaphore(name, slots, nil)
	holders := make([]*holder, processes)
	for i := range holders {
		holders[i] = s.startHolder(t, i, order)
	}
	longest := time.Duration(0)
	rounds := cells.Killing(t, func() {
		s.awaitHolders(t, observer, holders)
		killed := 0
		for i, h := range holders {
			if isIn(h) {
				h.Kill(t)
				killed++
				holders[i] = s.startHolder(t, rand.IntN(processes), order) //nolint:gosec // A driver.
			}
		}
		require.Equal(t, slots, killed)
		longest = max(longest, s.awaitHolders(t, observer, holders))
	})
	t.Logf("%d rounds of five kills; all slots were in use again within %v", rounds, longest)
}

func isIn(h *holder) bool {
	select {
	case <-h.in:
		return true
	default:
		return false
	}
}

// awaitHolders waits until as many are in as there are slots, which must be soon, and returns how long that
// took. Meanwhile there are never more holders.
func (s server) awaitHolders(
	t *testing.T, observer *primitives.CountingSemaphore, holders []*holder,
) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		n, err := observer.Holders(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, n, slots)
		in := 0
		for _, h := range holders {
			if isIn(h) {
				in++
			}
		}
		took := time.Since(begin)
		if in == slots {
			return took
		}
		require.Less(t, took, within, "%d of %d slots are in use", in, slots)
		time.Sleep(5 * time.Millisecond)
	}
}

// TestHolder is the process of a holder.
func TestHolder(t *testing.T) {
	args, _ := cells.AsChild(t)
	order, err := strconv.Atoi(args[2])
	require.NoError(t, err)
	client := cells.Named(args[0]).Primitives(t, cells.At(args[1]), &primitives.Options{WatchdogLease: deadLease})
	lease, err := client.NewCountingSemaphore(name, slots,
		&primitives.CountingSemaphoreOptions{Order: primitives.CountingOrder(order)}).Acquire(context.Background())
	require.NoError(t, err)
	cells.Say("in")
	<-lease.Done()
	cells.Say("lost")
}

// TestKilledWaiterIsPassed kills the first of those who wait in turn: the others pass it when its place has
// been lost, and not before.
func TestKilledWaiterIsPassed(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, nil)
	o := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	held := hold(t, clients[0], slots, o)
	victim := s.startHolder(t, 0, primitives.ByArrival)
	s.Await(t, "the victim waits", func() bool { return s.Number(t, "ZCARD", queue) == 1 })
	got := make(chan error, 1)
	go func() {
		lease, err := clients[1].NewCountingSemaphore(name, slots, o).Acquire(t.Context())
		if err == nil {
			err = lease.Release(t.Context())
		}
		got <- err
	}()
	s.Await(t, "the other waits behind it", func() bool { return s.Number(t, "ZCARD", queue) == 2 })
	victim.Kill(t)
	for _, lease := range held {
		require.NoError(t, lease.Release(t.Context()))
	}
	require.NoError(t, cells.Within(t, within, "the waiter behind the dead one", got))
	s.awaitNothingLeft(t)
}
