// Package fair has tests of the fair lock's queue on real servers: its order, its repair, and what the dead cost.
package fair

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
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

// crowd gets the grants of waiters, which came in the order of their numbers.
type crowd chan grant

// waitInTurn lets n waiters of the clients come one after the other.
func (s server) waitInTurn(t *testing.T, n int, clients []*primitives.Client, o *primitives.FairLockOptions) crowd {
	t.Helper()
	c, before := make(crowd, n), cells.Number(t, s, "LLEN", queue)
	ctx, cancel := context.WithTimeout(t.Context(), 4*conformance.Patience)
	t.Cleanup(cancel)
	for i := range n {
		lock := clients[i%len(clients)].NewFairLock(key, o)
		go func() {
			lease, err := lock.Lock(ctx)
			c <- grant{i, lease, err}
		}()
		s.awaitQueue(t, before+i+1)
	}
	return c
}

// next returns the next waiter that has the lock, and the lease.
func (c crowd) next(t *testing.T) grant {
	t.Helper()
	g := cells.Within(t, conformance.Patience, "the next grant", c)
	require.NoError(t, g.err)
	return g
}

// serve lets each waiter release the lock when it has it, and returns in which order they had it.
func (c crowd) serve(t *testing.T, n int) (order []int) {
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

// TestDeadLowerNoScoreByWhatHasPassed drops a dead peer whose share has passed: the score of the one behind stays.
func TestDeadLowerNoScoreByWhatHasPassed(t *testing.T) {
	t.Parallel()
	s := start(t)
	score := s.now(t) + 200000
	s.enqueue(t, peer, s.now(t)-1000, 0)
	s.enqueue(t, peer+"1", score, 0)
	_, err := s.Clients(t, 1, noPoll)[0].NewFairLock(key, nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Equal(t, []string{peer + "1"}, cells.Texts(t, s, "LRANGE", queue, "0", "-1"))
	require.Equal(t, float64(score), s.score(t, peer+"1"))
}

// TestClockSetBack sets the server's clock back by an hour while two crashed waiters are the first: they lose their
// places a timeout after the next try, and live waiters keep theirs.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	type locks = func(timeout time.Duration) *primitives.FairLock
	for name, run := range map[string]func(t *testing.T, setBack func(), fair locks){
		"OneWaits": func(t *testing.T, setBack func(), fair locks) {
			setBack()
			begin := time.Now()
			require.NoError(t, cells.Err(fair(3*time.Second).Lock(t.Context())))
			require.Equal(t, time.Second, time.Since(begin).Truncate(time.Second))
		},
		"OneTries": func(t *testing.T, setBack func(), fair locks) {
			setBack()
			for range 10 { // Only the first of them moves the deadlines.
				require.ErrorIs(t, cells.Err(fair(time.Hour).TryLock(t.Context())), primitives.ErrNotAcquired)
				time.Sleep(100 * time.Millisecond)
			}
			require.NoError(t, cells.Err(fair(time.Hour).TryLock(t.Context())))
		},
		"ManyWait": func(t *testing.T, setBack func(), fair locks) {
			holder := cells.Got(fair(time.Hour).Lock(t.Context()))(t)
			order := make(chan int, 4)
			for i, timeout := range []time.Duration{10 * time.Second, time.Second, 10 * time.Hour, 2 * time.Second} {
				go func() {
					lease, err := fair(timeout).Lock(t.Context())
					order <- i
					if err == nil {
						_ = lease.Release(t.Context())
					}
				}()
				time.Sleep(10 * time.Millisecond)
			}
			setBack()
			begin := time.Now()
			require.NoError(t, holder.Release(t.Context()))
			for i := range 4 {
				require.Equal(t, i, <-order)
			}
			require.Less(t, time.Since(begin), 2*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) {
				s := embedded.NewServer()
				c := cells.Over(t, must.Get(embedded.New(s, nil)), noPoll)
				run(t, func() { setBack(t, s) }, func(timeout time.Duration) *primitives.FairLock {
					return c.NewFairLock(key, &primitives.FairLockOptions{WaiterTimeout: timeout})
				})
				left := cells.Got(s.Do("EXISTS", queue, timeouts, deadlines))(t)
				cells.Want(t, int64(0))(left.Int())
			})
		})
	}
}

// setBack puts two crashed waiters with a timeout of a second each before the others, and makes all times of the
// queue an hour later, as if the clock had been set back. A third, behind them,
// has come and crashed since.
func setBack(t *testing.T, s *embedded.Server) {
	t.Helper()
	_, err := s.Do("EVAL", `
		local function crash(waiter)
			redis.call('zadd', KEYS[2], ARGV[1] + 300000, waiter)
			redis.call('hset', KEYS[3], waiter, ARGV[1] + 1000 .. ' 1000')
		end
		for i = 1, 2 do
			redis.call('lpush', KEYS[1], 'crashed' .. i)
			crash('crashed' .. i)
		end
		for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
			local deadline, timeout = string.match(redis.call('hget', KEYS[3], waiter), '(%d+)( %d+)')
			redis.call('zincrby', KEYS[2], 3600000, waiter)
			redis.call('hset', KEYS[3], waiter, deadline + 3600000 .. timeout)
		end
		redis.call('linsert', KEYS[1], 'after', 'crashed1', 'crashed3')
		crash('crashed3')`, "3", queue, timeouts, deadlines, strconv.FormatInt(time.Now().UnixMilli(), 10))
	require.NoError(t, err)
}

// TestDeadWaitersOfOthers lets a live waiter come behind dead ones: one of ours, and one of Redisson's.
func TestDeadWaitersOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, nil)
	now := s.now(t)
	s.enqueue(t, "ours", now+300000, now+1000)
	s.enqueue(t, "theirs", now+302500, 0)
	c := s.waitInTurn(t, 2, clients, nil)
	s.Await(t, "ours is dropped", func() bool { return cells.Number(t, s, "LLEN", queue) == 3 })
	// It had 299 s left, which those behind it do not have to wait for any more.
	require.Less(t, s.score(t, "theirs"), float64(now+100000))
	require.Equal(t, []int{0, 1}, c.serve(t, 2))
	s.requireNothingLeft(t)
}

// TestNoBusyLoopBehindADeadHead counts the scripts of ten waiters while the lock is free, and the first
// in the queue is dead.
func TestNoBusyLoopBehindADeadHead(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 5, nil)
	now := s.now(t)
	s.enqueue(t, "dead", now+300000, now+8000)
	c := s.waitInTurn(t, 10, clients, nil)
	s.awaitListening(t, 10)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, c.serve(t, 10))
	s.requireNothingLeft(t)
	// A first try, one when it listens, one or two polls, one when the dead is dropped, the grant, and
	// the release. On a busy machine subscriptions take longer, and meanwhile there are more polls.
	require.Less(t, s.Calls(t, "evalsha"), 10*20)
}

// TestQueueHeals makes the list and the zset disagree, in each way, while two wait.
func TestQueueHeals(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, s server, first, second string){
		"NoScores":        func(t *testing.T, s server, _, _ string) { s.do(t, "DEL", timeouts) },
		"NoDeadlines":     func(t *testing.T, s server, _, _ string) { s.do(t, "DEL", deadlines) },
		"OneScoreLost":    func(t *testing.T, s server, first, _ string) { s.do(t, "ZREM", timeouts, first) },
		"StrayDeadline":   func(t *testing.T, s server, _, _ string) { s.do(t, "HSET", deadlines, "nobody", "9000000000000 1") },
		"ScoreOfNobody":   func(t *testing.T, s server, _, _ string) { s.do(t, "ZADD", timeouts, "9e12", "nobody") },
		"Twice":           func(t *testing.T, s server, first, _ string) { s.do(t, "RPUSH", queue, first) },
		"DroppedFromList": func(t *testing.T, s server, first, _ string) { s.do(t, "LREM", queue, "0", first) },
		"Scoreless":       func(t *testing.T, s server, _, _ string) { s.do(t, "LPUSH", queue, "nobody") },
		"Exchanged": func(t *testing.T, s server, first, _ string) {
			s.do(t, "ZREM", timeouts, first)
			s.do(t, "ZADD", timeouts, fmt.Sprint(s.now(t)+300000), "nobody")
			s.do(t, "LPUSH", queue, "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			clients := s.Clients(t, 3, &primitives.Options{PollInterval: 300 * time.Millisecond})
			holder := hold(t, clients[0])
			c := s.waitInTurn(t, 2, clients[1:], nil)
			waiting := cells.Texts(t, s, "LRANGE", queue, "0", "-1")
			harm(t, s, waiting[0], waiting[1])
			s.Await(t, "they agree", func() bool { return agree(t, s, 2) })
			healed := cells.Texts(t, s, "LRANGE", queue, "0", "-1")
			require.ElementsMatch(t, waiting, healed)
			if name == "Twice" {
				require.Equal(t, waiting, healed, "the first place stays")
			}
			require.NoError(t, holder.Release(t.Context()))
			require.ElementsMatch(t, []int{0, 1}, c.serve(t, 2))
			s.requireNothingLeft(t)
		})
	}
}

// agree reports whether the list and the zsets have the same n waiters.
func agree(t *testing.T, s server, n int) bool {
	t.Helper()
	listed := cells.Texts(t, s, "LRANGE", queue, "0", "-1")
	for _, owner := range listed {
		if s.do(t, "ZSCORE", timeouts, owner).IsNil() || s.do(t, "HGET", deadlines, owner).IsNil() {
			return false
		}
	}
	return len(listed) == n && cells.Number(t, s, "ZCARD", timeouts) == n &&
		cells.Number(t, s, "HLEN", deadlines) == n
}

// TestOldScoresAreRenewed lets a first waiter have the lock, and 2500 others wait whose scores are old, as in a queue
// that was never empty: they keep what they have added to each other's, from the end of its lease on.
func TestOldScoresAreRenewed(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := s.Clients(t, 1, noPoll)[0]
	holder := hold(t, client)
	c := s.waitInTurn(t, 1, []*primitives.Client{client}, patient)
	s.Await(t, "it has tried since it listens", func() bool { return s.Calls(t, "zcard") == 3 })
	now := s.now(t)
	s.do(t, "ZADD", timeouts, fmt.Sprint(now+1000), cells.Text(t, s, "LINDEX", queue, "0"))
	for i := range 2500 {
		s.enqueue(t, "other:"+strconv.Itoa(i), now+4000+int64(i), 0)
	}
	before := s.Calls(t, "zadd")
	require.NoError(t, holder.Release(t.Context()))
	lease := c.next(t).lease
	require.Equal(t, 3, s.Calls(t, "zadd")-before) // A thousand each.
	next := s.score(t, "other:0")
	require.GreaterOrEqual(t, next, float64(now+30000+3000))
	require.LessOrEqual(t, next, float64(s.now(t)+30000+3000))
	for i := range 2500 {
		require.Equal(t, next+float64(i), s.score(t, "other:"+strconv.Itoa(i)))
	}
	require.NoError(t, lease.Release(t.Context()))
}
