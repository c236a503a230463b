// Package counting has tests of counting semaphores on servers: clocks that disagree, the order of arrival, and
// what many waiters cost. The textbook's versions are beside ours.
package counting

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The semaphore that the tests use, its keys, and its limit.
const (
	name    = "counting"
	queue   = "{counting}:owner"
	counter = "{counting}:counter"
	slots   = 5
)

// orders are both, by name.
var orders = map[string]primitives.CountingOrder{"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival}

// server is a server of one test's own.
type server struct{ cells.Server }

func start(t *testing.T) server {
	t.Helper()
	return server{cells.StartServer(t)}
}

// settled waits until so many scripts have run at least, and then nothing but INFO and pings. It returns how many
// commands the server has run.
func (s server) settled(t *testing.T, scripts int) int {
	t.Helper()
	last := s.Commands(t)
	s.Await(t, "nobody tries", func() bool {
		before := last
		last = s.Commands(t)
		return last-before <= 2 && s.Calls(t, "evalsha") >= scripts
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
			s.Await(t, "it is in the queue", func() bool {
				require.Empty(t, c.granted)
				return cells.Number(t, s, "ZCARD", queue) == i+1
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
