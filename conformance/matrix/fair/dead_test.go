package fair

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

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
