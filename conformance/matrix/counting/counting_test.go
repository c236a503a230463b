// Package counting has tests of counting semaphores on servers: clocks that disagree, holders and waiters
// that are killed, the order of arrival, and what many waiters cost. The textbook's versions are beside ours.
package counting

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The semaphore that the tests use, and its keys.
const (
	name    = "counting"
	queue   = "{counting}:owner"
	counter = "{counting}:counter"
)

// orders are both, by name.
var orders = map[string]primitives.CountingOrder{"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival}

// server is a server of one test's own.
type server struct{ *servers.Server }

func start(t *testing.T) server {
	t.Helper()
	return server{servers.Start(t, servers.Redis, nil)}
}

// clients makes n clients, of all drivers.
func (s server) clients(t *testing.T, n int, o *primitives.Options) []*primitives.Client {
	t.Helper()
	all := make([]*primitives.Client, n)
	for i := range all {
		all[i] = cells.Adapters()[i%len(cells.Adapters())].Primitives(t, cells.At(s.Addr()), o)
	}
	return all
}

// number sends a command, and returns the number that it replies.
func (s server) number(t *testing.T, words ...string) int {
	t.Helper()
	reply, err := s.Do(words...)
	require.NoError(t, err)
	n, err := reply.Int()
	require.NoError(t, err)
	return int(n)
}

func (s server) await(t *testing.T, what string, met func() bool) {
	t.Helper()
	require.Eventually(t, met, conformance.Patience, 5*time.Millisecond, what)
}

// commands returns how many commands the server has run, those of scripts included.
func (s server) commands(t *testing.T) int {
	t.Helper()
	info, err := s.Info("stats")
	require.NoError(t, err)
	n, err := strconv.Atoi(info["total_commands_processed"])
	require.NoError(t, err)
	return n
}

// settled waits until the server has run nothing but what asks for that, and returns how many commands it has
// run.
func (s server) settled(t *testing.T) int {
	t.Helper()
	last := s.commands(t)
	s.await(t, "nobody tries", func() bool {
		before := last
		last = s.commands(t)
		return last-before <= 2 // INFO itself, and a ping
	})
	return last
}

// grant is what became of a waiter.
type grant struct {
	waiter int
	lease  *primitives.Lease
	err    error
}

// crowd are waiters, in the order in which they came.
type crowd struct {
	granted chan grant
	cancel  []context.CancelFunc
}

// wait lets n waiters of the clients come, by turns of the clients. ByArrival each comes when those before it
// are in the queue.
func (s server) wait(
	t *testing.T, n int, clients []*primitives.Client, limit int, o *primitives.CountingSemaphoreOptions,
) *crowd {
	t.Helper()
	c := &crowd{granted: make(chan grant, n), cancel: make([]context.CancelFunc, n)}
	for i := range n {
		ctx, cancel := context.WithTimeout(t.Context(), 4*conformance.Patience)
		t.Cleanup(cancel)
		c.cancel[i] = cancel
		go func() {
			lease, err := clients[i%len(clients)].NewCountingSemaphore(name, limit, o).Acquire(ctx)
			c.granted <- grant{i, lease, err}
		}()
		if o.Order == primitives.ByArrival {
			s.await(t, "it is in the queue", func() bool {
				require.Empty(t, c.granted)
				return s.number(t, "ZCARD", queue) == i+1
			})
		}
	}
	return c
}

// next returns the next waiter that is in.
func (c *crowd) next(t *testing.T) grant {
	t.Helper()
	for {
		g := cells.Within(t, conformance.Patience, "the next grant", c.granted)
		if !errors.Is(g.err, context.Canceled) {
			require.NoError(t, g.err)
			return g
		}
	}
}

// hold takes all slots.
func hold(
	t *testing.T, c *primitives.Client, limit int, o *primitives.CountingSemaphoreOptions,
) (all []*primitives.Lease) {
	t.Helper()
	for range limit {
		lease, err := c.NewCountingSemaphore(name, limit, o).TryAcquire(t.Context())
		require.NoError(t, err)
		all = append(all, lease)
	}
	return all
}

// awaitNothingLeft waits until nobody holds the semaphore or waits for it.
func (s server) awaitNothingLeft(t *testing.T) {
	t.Helper()
	s.await(t, "nothing is left", func() bool { return s.number(t, "EXISTS", name, queue) == 0 })
}
