// Package mutex has tests of mutexes on servers: what a hand-over costs, the order of arrival, and waiters
// and holders that die.
package mutex

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The mutex that the tests use, and its keys.
const (
	name     = "shared"
	key      = "hasp_mutex:{shared}"
	queue    = key + ":queue"
	signs    = key + ":signs"
	tokenKey = key + ":token"
)

// server is a server of one test's own.
type server struct{ cells.Server }

func start(t *testing.T) server {
	t.Helper()
	return server{cells.StartServer(t)}
}

// TestHandOverCostsTheSame: a release tells the next holder alone. So the cost of a hand-over does not grow with
// the number of clients as that of a Lock does, which is ten times as much with 64 clients as with 2. The
// commands of beats count, too: a slow machine has more of them in the time of a hand-over.
func TestHandOverCostsTheSame(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	ofTwo := 0.0
	for _, n := range []int{2, 8, 64} {
		c := contest(s.Clients(t, n, nil))
		begin := s.Commands(t)
		c.run(t, s, 100*n)
		each := float64(s.Commands(t)-begin) / float64(100*n)
		least, most := c.served()
		t.Logf("%d clients: %.1f commands a hand-over, served %d to %d times each, in %v",
			n, each, least, most, c.took)
		if n == 2 {
			ofTwo = each
		}
		require.LessOrEqual(t, each, 3*ofTwo)
		require.GreaterOrEqual(t, least, most/2, "a client that is slow to come back misses turns")
		for _, client := range c.clients {
			require.NoError(t, client.Close(t.Context()))
		}
	}
	s.Await(t, "nothing is left", func() bool { return cells.Number(t, s, "EXISTS", key, queue, signs) == 0 })
}

// contestants use one mutex by turns.
type contestants struct {
	clients []*primitives.Client
	times   []atomic.Int64
	took    time.Duration
}

func contest(clients []*primitives.Client) *contestants {
	return &contestants{clients: clients, times: make([]atomic.Int64, len(clients))}
}

// run lets the clients hand the mutex over so many times. All wait before the first is in.
func (c *contestants) run(t *testing.T, s server, handOvers int) {
	t.Helper()
	var all sync.WaitGroup
	var inside, done atomic.Int64
	last := int64(0)
	held, err := c.clients[0].NewMutex(name, nil).Lock(t.Context())
	require.NoError(t, err)
	for i, client := range c.clients {
		all.Go(func() {
			m := client.NewMutex(name, nil)
			for done.Load() < int64(handOvers) {
				lease, err := m.Lock(t.Context())
				if !noError(t, err) {
					return
				}
				if inside.Add(1) != 1 || lease.Token() <= last {
					t.Errorf("two are in, or token %d came after %d", lease.Token(), last)
				}
				last = lease.Token()
				c.times[i].Add(1)
				done.Add(1)
				inside.Add(-1)
				if !noError(t, lease.Release(t.Context())) {
					return
				}
			}
		})
	}
	s.Await(t, "all wait", func() bool { return cells.Number(t, s, "ZCARD", queue) == len(c.clients) })
	begin := time.Now()
	require.NoError(t, held.Release(t.Context()))
	all.Wait()
	c.took = time.Since(begin)
}

// noError reports an error of a goroutine.
func noError(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// served returns how often who was served least, and most, was.
func (c *contestants) served() (least, most int64) {
	least = c.times[0].Load()
	for i := range c.times {
		n := c.times[i].Load()
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

func numeral(n int64) string { return strconv.FormatInt(n, 10) }
