// Package fair has tests of the fair lock's queue on real servers: its order, its repair, and what the dead cost.
package fair

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The keys of the lock that the tests use, and the channel of its waiters.
const (
	key       = "fair"
	queue     = "redisson_lock_queue:{fair}"
	timeouts  = "redisson_lock_timeout:{fair}"
	deadlines = "hasp_lock_deadline:{fair}"
	channel   = "redisson_lock__channel:{fair}"
)

// peer is an owner of another program.
const peer = "0b6e5a4c-4cf2-4f3c-9e19-6c8a8b4c0001:28"

// patient is the configuration of waiters that nobody takes for dead, and that are woken by messages alone.
var patient = &primitives.FairLockOptions{WaiterTimeout: 10 * time.Hour}

// noPoll is that of their clients.
var noPoll = &primitives.Options{PollInterval: time.Hour}

// server is a server of one test's own.
type server struct{ cells.Server }

func start(t *testing.T) server {
	t.Helper()
	return server{cells.StartServer(t)}
}

// do sends a command, and returns its reply.
func (s server) do(t *testing.T, words ...string) backend.Reply {
	t.Helper()
	return cells.Got(s.Do(words...))(t)
}

// score returns when a waiter's turn is, as the lock's timeouts have it.
func (s server) score(t *testing.T, waiter string) float64 {
	t.Helper()
	return cells.Got(strconv.ParseFloat(cells.Text(t, s, "ZSCORE", timeouts, waiter), 64))(t)
}

// now returns the server's time in milliseconds.
func (s server) now(t *testing.T) int64 {
	t.Helper()
	return int64(cells.Number(t, s, "EVAL", "local t = redis.call('time') return t[1] * 1000 + math.floor(t[2] / 1000)", "0"))
}

// enqueue puts a waiter into the queue as another program does. It is one of ours if it has a deadline, and has an
// timeout of ten hours then, else of Redisson's. 0 leaves out what it stands for.
func (s server) enqueue(t *testing.T, owner string, score, deadline int64) {
	t.Helper()
	s.do(t, "EVAL", `redis.call('rpush', KEYS[1], ARGV[1])
		if ARGV[2] ~= '0' then redis.call('zadd', KEYS[2], ARGV[2], ARGV[1]) end
		if ARGV[3] ~= '0' then redis.call('hset', KEYS[3], ARGV[1], ARGV[3] .. ' 36000000') end`, "3", queue, timeouts, deadlines, owner,
		strconv.FormatInt(score, 10), strconv.FormatInt(deadline, 10))
}

// awaitQueue waits until so many wait.
func (s server) awaitQueue(t *testing.T, n int) {
	t.Helper()
	s.Await(t, "so many wait: "+strconv.Itoa(n), func() bool { return cells.Number(t, s, "LLEN", queue) == n })
}

// awaitListening waits until n waiters are subscribed.
func (s server) awaitListening(t *testing.T, n int) {
	t.Helper()
	s.Await(t, "waiters listen", func() bool {
		return len(cells.Texts(t, s, "PUBSUB", "CHANNELS", channel+":*")) == n
	})
}

// requireNothingLeft requires that nobody waits or listens, and that nothing is in their place.
func (s server) requireNothingLeft(t *testing.T) {
	t.Helper()
	s.Await(t, "nothing is left", func() bool {
		return cells.Number(t, s, "EXISTS", key, queue, timeouts, deadlines) == 0
	})
	s.awaitListening(t, 0)
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

func newCrowd(n int) *crowd {
	return &crowd{granted: make(chan grant, n), cancel: make([]context.CancelFunc, n)}
}

// waitInTurn lets n waiters of the clients come one after the other.
func (s server) waitInTurn(t *testing.T, n int, clients []*primitives.Client, o *primitives.FairLockOptions) *crowd {
	t.Helper()
	c := newCrowd(n)
	before := cells.Number(t, s, "LLEN", queue)
	for i := range n {
		c.wait(t, i, clients[i%len(clients)].NewFairLock(key, o))
		s.awaitQueue(t, before+i+1)
	}
	return c
}

// wait begins to wait as waiter i.
func (c *crowd) wait(t *testing.T, i int, lock *primitives.FairLock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*conformance.Patience)
	t.Cleanup(cancel)
	c.cancel[i] = cancel
	go func() {
		lease, err := lock.Lock(ctx)
		c.granted <- grant{i, lease, err}
	}()
}

// next returns the next waiter that has the lock, and the lease.
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

// serve lets each waiter release the lock when it has it, and returns in which order they had it.
func (c *crowd) serve(t *testing.T, n int) (order []int) {
	t.Helper()
	for range n {
		g := c.next(t)
		order = append(order, g.waiter)
		require.NoError(t, g.lease.Release(t.Context()))
	}
	return order
}

// hold takes the lock.
func hold(t *testing.T, c *primitives.Client) *primitives.Lease {
	t.Helper()
	return cells.Got(c.NewFairLock(key, nil).Lock(t.Context()))(t)
}
