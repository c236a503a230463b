package fair

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// TestDeadArePassedByTheThousand has more dead waiters than one script passes: each passes a thousand, and the next
// one goes on, also for a caller that does not wait.
func TestDeadArePassedByTheThousand(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.do(t, "EVAL", `for i = 1, 2500 do
		redis.call('rpush', KEYS[1], ARGV[1] .. i)
		redis.call('zadd', KEYS[2], ARGV[2] + i, ARGV[1] .. i)
	end`, "2", queue, timeouts, peer, strconv.FormatInt(s.now(t)-1000000, 10))
	client := s.Clients(t, 1, noPoll)[0]
	require.NoError(t, cells.Err(client.NewFairLock("warm", nil).TryLock(t.Context())))
	scripts := s.Calls(t, "evalsha")
	lease := cells.Got(client.NewFairLock(key, patient).TryLock(t.Context()))(t)
	require.Equal(t, 3, s.Calls(t, "evalsha")-scripts)
	require.NoError(t, lease.Release(t.Context()))
	s.requireNothingLeft(t)
}

// TestManyLeaveTogether closes a client with 300 waiters: a script takes out many, and reads the queue once.
func TestManyLeaveTogether(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, noPoll)
	holder := hold(t, clients[0])
	lock := clients[1].NewFairLock(key, patient)
	for range 300 {
		go func() { _, _ = lock.Lock(t.Context()) }()
	}
	s.awaitQueue(t, 300)
	c := s.waitInTurn(t, 1, clients[2:], patient)
	s.Await(t, "all have tried since they listen", func() bool { return s.Calls(t, "zcard") >= 1+2*301 })
	behind := cells.Texts(t, s, "LRANGE", queue, "-1", "-1")[0]
	score, scripts, reads := s.score(t, behind), s.Calls(t, "evalsha"), s.Calls(t, "zrange")
	require.NoError(t, clients[1].Close(t.Context()))
	s.awaitQueue(t, 1)
	require.LessOrEqual(t, s.Calls(t, "zrange")-reads, s.Calls(t, "evalsha")-scripts)
	require.Equal(t, score-300*300000, s.score(t, behind)) // For each as long as Redisson waits.
	require.NoError(t, holder.Release(t.Context()))
	require.Equal(t, []int{0}, c.serve(t, 1))
	s.requireNothingLeft(t)
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
// queue an hour later, as if the clock had been set back.
func setBack(t *testing.T, s *embedded.Server) {
	t.Helper()
	_, err := s.Do("EVAL", `
		for i = 1, 2 do
			redis.call('lpush', KEYS[1], 'crashed' .. i)
			redis.call('zadd', KEYS[2], ARGV[1] + 300000, 'crashed' .. i)
			redis.call('hset', KEYS[3], 'crashed' .. i, ARGV[1] + 1000 .. ' 1000')
		end
		for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
			local deadline, timeout = string.match(redis.call('hget', KEYS[3], waiter), '(%d+)( %d+)')
			redis.call('zincrby', KEYS[2], 3600000, waiter)
			redis.call('hset', KEYS[3], waiter, deadline + 3600000 .. timeout)
		end`, "3", queue, timeouts, deadlines, strconv.FormatInt(time.Now().UnixMilli(), 10))
	require.NoError(t, err)
}
