// Package processes has tests of several processes on one server: the test kills one, or stops it.
package processes

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

const (
	// deadHolder is what a holder costs the others that dies or stops: its lease, and a poll of
	// theirs, give or take a tenth.
	deadHolder = childLease + cells.Poll
	// deadWaiter is what a waiter costs them: nothing, but for a machine that is busy.
	deadWaiter = 10 * time.Second
)

// scenario is what a test does to a child, on a server that other scenarios use, too.
type scenario func(t *testing.T, a cells.Adapter, s *servers.Server)

// play runs scenarios with every adapter.
func play(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	cells.Proof(t)
	t.Parallel()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis, nil)
			for name, scenario := range scenarios {
				t.Run(name, func(t *testing.T) { t.Parallel(); scenario(t, a, s) })
			}
		})
	}
}

// TestKilledProcess kills a process (SIGKILL) that uses a lock.
func TestKilledProcess(t *testing.T) {
	play(t, map[string]scenario{
		"Holding":  killHolder(""),
		"Renewing": killHolder("sends lock_renew"),
		"Waiting":  killWaiter,
	})
}

// TestStoppedProcess stops a process that uses a lock (SIGSTOP) until another has the lock, and
// lets it go on.
func TestStoppedProcess(t *testing.T) {
	play(t, map[string]scenario{
		"Holding": stopHolder, "Acquiring": stopAcquire, "Waiting": stopWaiter,
	})
}

// killHolder kills a child that holds the lock, at once, or when it says what is given. A waiter gets
// the lock.
func killHolder(when string) scenario {
	return func(t *testing.T, a cells.Adapter, s *servers.Server) {
		c := startChild(t, a, s)
		token, _ := c.held(t)
		got := lockLater(t, a, s, nil)
		if when != "" {
			c.await(t, when)
		}
		c.Kill(t)
		lease := within(t, deadHolder, got)
		require.Greater(t, lease.Token(), token)
		require.NoError(t, lease.Release(t.Context()))
	}
}

// killWaiter kills a child that waits. Another waiter gets the lock when it is released, with no
// lease that ends and no poll to help it.
func killWaiter(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	patient := &primitives.Options{PollInterval: time.Hour}
	lease := within(t, conformance.Patience, lockLater(t, a, s, patient))
	c := startChild(t, a, s)
	got := lockLater(t, a, s, patient)
	c.parked(t)
	c.Kill(t)
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, within(t, deadWaiter, got).Release(t.Context()))
}

// stopHolder stops a child that holds the lock. The first thing that it asks its lease then must
// report the loss, and its Release must leave the lock to its new holder.
func stopHolder(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	c := startChild(t, a, s)
	token, _ := c.held(t)
	c.Signal(t, syscall.SIGSTOP)
	lease := within(t, deadHolder, lockLater(t, a, s, nil))
	require.Greater(t, lease.Token(), token)
	goesOn(t, c, lease)
	require.Equal(t, "0s remain, unlock refused true", c.lost)
}

// stopAcquire stops a child about when its acquire is sent. Its grant, if there was one, has ended
// before the reply reaches it: it must wait for its turn.
func stopAcquire(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	c := startChild(t, a, s)
	c.await(t, "sends lock_acquire")
	c.Signal(t, syscall.SIGSTOP)
	time.Sleep(childLease)
	lease := within(t, deadHolder, lockLater(t, a, s, nil))
	goesOn(t, c, lease)
}

// stopWaiter stops a child that waits, while the lock goes from one to another.
func stopWaiter(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	first := within(t, conformance.Patience, lockLater(t, a, s, nil))
	c := startChild(t, a, s)
	c.parked(t)
	c.Signal(t, syscall.SIGSTOP)
	require.NoError(t, first.Release(t.Context()))
	lease := within(t, deadWaiter, lockLater(t, a, s, nil))
	time.Sleep(childLease)
	goesOn(t, c, lease)
}

// goesOn lets the child, which goes on, come to the lock that lease holds: nothing that it does may
// touch the lease, and it may believe that it holds the lock only after that.
func goesOn(t *testing.T, c *child, lease *primitives.Lease) {
	t.Helper()
	granted := time.Now()
	c.Signal(t, syscall.SIGCONT)
	c.await(t, "sends ") // Whatever it has to do about what it had.
	time.Sleep(childLease / 4)
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Release(t.Context()), "the lock was held to the end")
	for {
		token, at := c.held(t)
		if token > lease.Token() {
			return
		}
		require.True(t, at.Before(granted), "the child believed in token %d, after %d was granted",
			token, lease.Token())
	}
}

// lockLater takes the test's lock, by a client of its own.
func lockLater(
	t *testing.T, a cells.Adapter, s *servers.Server, o *primitives.Options,
) <-chan *primitives.Lease {
	t.Helper()
	client := a.Primitives(t, cells.At(s.Addr()), o)
	got := make(chan *primitives.Lease, 1)
	go func() {
		defer close(got)
		if lease, err := client.NewLock(t.Name(), nil).Lock(t.Context()); err == nil {
			got <- lease
		}
	}()
	return got
}

// within returns what comes from got, which must not take longer than bound.
func within(t *testing.T, bound time.Duration, got <-chan *primitives.Lease) *primitives.Lease {
	t.Helper()
	lease := cells.Within(t, bound, "acquiring the lock", got)
	require.NotNil(t, lease, "Lock failed")
	return lease
}
