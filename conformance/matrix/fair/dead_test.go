package fair

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// TestWaitersOfADeadClientArePassedTogether cuts off a client with eight waiters: those behind it pass
// them all together, long before their scores say so.
func TestWaitersOfADeadClientArePassedTogether(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, nil)
	p := proxy.Start(t, s.Addr(), nil)
	dead := cells.Named("GoRedis").Primitives(t, cells.At(p.Addr()), nil)
	t.Cleanup(func() { _ = dead.Close(t.Context()) }) // It has ended, and the server cannot be reached.
	holder := hold(t, clients[0])
	before := s.waitInTurn(t, 1, clients, patient)
	s.waitInTurn(t, 8, []*primitives.Client{dead}, &primitives.FairLockOptions{WaiterTimeout: 3 * time.Second})
	behind := s.waitInTurn(t, 2, clients, &primitives.FairLockOptions{WaiterTimeout: time.Minute})
	p.Refuse()
	require.NoError(t, holder.Release(t.Context()))
	require.Equal(t, []int{0}, before.serve(t, 1))
	scripts := s.Calls(t, "evalsha")
	require.Equal(t, []int{0, 1}, behind.serve(t, 2))
	// Two waiters try every five seconds: after one timeout, and not after Redisson's five minutes.
	require.Less(t, s.Calls(t, "evalsha")-scripts, 30)
	s.requireNothingLeft(t)
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

// TestReleaseOfWhatHasExpiredWakesTheFirst lets the lease of a holder expire that cannot reach the server:
// when it can, its release wakes the waiter, which has not been told of that lease and does not poll.
func TestReleaseOfWhatHasExpiredWakesTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, noPoll)
	p := proxy.Start(t, s.Addr(), nil)
	flaky := cells.Named("GoRedis").Primitives(t, cells.At(p.Addr()), noPoll)
	holder := hold(t, clients[0])
	brief := s.waitInTurn(t, 1, []*primitives.Client{flaky}, &primitives.FairLockOptions{
		Lease: time.Second, WaiterTimeout: time.Hour,
	})
	c := s.waitInTurn(t, 1, clients[1:], patient)
	s.awaitListening(t, 2)
	require.NoError(t, holder.Release(t.Context()))
	lease, ok := brief.next(t).lease.(*primitives.Lease)
	require.True(t, ok)
	p.Refuse()
	cells.Within(t, conformance.Patience, "the end of the lease", lease.Done())
	s.Await(t, "it expires on the server", func() bool { return cells.Number(t, s, "EXISTS", key) == 0 })
	require.Empty(t, c.granted)
	p.Restore()
	require.Equal(t, []int{0}, c.serve(t, 1))
	s.requireNothingLeft(t)
}

// TestTryThatPassesTheDeadWakesTheFirst lets one who only tries find that the first in the queue is dead: it does
// not pass the waiter behind, which sleeps, and wakes it.
func TestTryThatPassesTheDeadWakesTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, noPoll)
	_, err := clients[1].NewFairLock("warm", nil).TryLock(t.Context())
	require.NoError(t, err)
	now, scripts := s.now(t), s.Calls(t, "evalsha")
	s.enqueue(t, "ours", now+300000, now+time.Hour.Milliseconds())
	c := s.waitInTurn(t, 1, clients[1:], patient)
	// A waiter that had still to try since it listens would itself find the dead.
	s.Await(t, "it sleeps", func() bool { return s.Calls(t, "evalsha") == scripts+2 })
	s.do(t, "HSET", deadlines, "ours", strconv.FormatInt(now-1, 10)+" 36000000")
	require.Empty(t, c.granted)
	_, err = clients[0].NewFairLock(key, nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Equal(t, []int{0}, c.serve(t, 1))
	s.requireNothingLeft(t)
}

// TestCancelledWithoutAnAnswerLeaves loses the answers to a waiter's tries, and cancels it: it leaves the
// queue when the server can be reached again, and the next one is served.
func TestCancelledWithoutAnAnswerLeaves(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 2, noPoll)
	p := proxy.Start(t, s.Addr(), nil)
	link := cells.Client{Addrs: []string{p.Addr()}, Multiplex: -1}
	deaf := cells.Named("Rueidis").Primitives(t, link, nil)
	_, err := deaf.NewFairLock("warm", nil).Lock(t.Context())
	require.NoError(t, err)
	holder := hold(t, clients[0])
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	p.BlackholeReplies()
	go func() {
		_, err := deaf.NewFairLock(key, nil).Lock(ctx)
		got <- err
	}()
	s.awaitQueue(t, 1)
	c := s.waitInTurn(t, 1, clients[1:], patient)
	s.awaitListening(t, 1)
	cancel()
	require.ErrorIs(t, cells.Within(t, conformance.Patience, "the cancelled", got), context.Canceled)
	p.Restore()
	s.awaitQueue(t, 1)
	require.NoError(t, holder.Release(t.Context()))
	require.Equal(t, []int{0}, c.serve(t, 1))
	s.requireNothingLeft(t)
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
			require.ElementsMatch(t, waiting, cells.Texts(t, s, "LRANGE", queue, "0", "-1"))
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

// TestHandOverCommandsStayConstant counts the commands of ten hand-overs while ten wait, and while 300
// do.
func TestHandOverCommandsStayConstant(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	few, many := handOverCommands(t, 20), handOverCommands(t, 310)
	t.Logf("%d commands for ten hand-overs with 10 to 20 waiters, %d with 300 to 310", few, many)
	// Redisson's would be 3 000 more. Pings, which keep subscriptions alive, count too.
	require.InDelta(t, few, many, 150)
	require.Less(t, many, 10*50)
}

func handOverCommands(t *testing.T, waiters int) int {
	t.Helper()
	s := start(t)
	clients := s.Clients(t, 10, noPoll)
	holder, err := clients[0].NewFairLock(key, &primitives.FairLockOptions{Lease: time.Hour}).Lock(t.Context())
	require.NoError(t, err)
	c := s.waitInTurn(t, waiters, clients, &primitives.FairLockOptions{
		Lease: time.Hour, WaiterTimeout: 10 * time.Hour,
	})
	s.awaitListening(t, waiters)
	settled := s.Commands(t)
	s.Await(t, "the tries at subscribing are over", func() bool {
		before := settled
		settled = s.Commands(t)
		return settled-before <= 2 // INFO itself, and a ping
	})
	before := s.Commands(t)
	require.NoError(t, holder.Release(t.Context()))
	for i := range 10 {
		g := c.next(t)
		require.Equal(t, i, g.waiter)
		require.NoError(t, g.lease.Release(t.Context()))
	}
	last := c.next(t)
	taken := s.Commands(t) - before
	for _, cancel := range c.cancel[last.waiter+1:] {
		cancel()
	}
	s.awaitQueue(t, 0)
	require.NoError(t, last.lease.Release(t.Context()))
	return taken
}

// TestScoresFallByOneCommandPerThousand lets a first waiter leave before 2500 others.
func TestScoresFallByOneCommandPerThousand(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := s.Clients(t, 1, noPoll)[0]
	holder := hold(t, client)
	c := s.waitInTurn(t, 1, []*primitives.Client{client}, patient)
	s.awaitListening(t, 1)
	base := s.now(t) + 10_000_000
	for i := range 2500 {
		s.enqueue(t, "other:"+strconv.Itoa(i), base+int64(i), 0)
	}
	calls := func() int {
		info, err := s.Info("commandstats")
		require.NoError(t, err)
		var n int
		_, err = fmt.Sscanf(info["cmdstat_zadd"], "calls=%d,", &n)
		require.NoError(t, err)
		return n
	}
	before := calls()
	require.NoError(t, holder.Release(t.Context()))
	lease := c.next(t).lease
	require.Equal(t, 3, calls()-before)
	for i := range 2500 {
		require.Equal(t, float64(base+int64(i)-300000), s.score(t, "other:"+strconv.Itoa(i)))
	}
	require.NoError(t, lease.Release(t.Context()))
}
