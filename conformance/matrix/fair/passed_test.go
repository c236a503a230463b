package fair

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestDeadArePassedByTheThousand has more dead waiters than one script passes: each passes a thousand, and the next
// one goes on.
func TestDeadArePassedByTheThousand(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.do(t, "EVAL", `for i = 1, 2500 do
		redis.call('rpush', KEYS[1], ARGV[1] .. i)
		redis.call('zadd', KEYS[2], ARGV[2] + i, ARGV[1] .. i)
	end`, "2", queue, timeouts, peer, strconv.FormatInt(s.now(t)-1000000, 10))
	lock := s.Clients(t, 1, noPoll)[0].NewFairLock(key, patient)
	_, err := lock.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Equal(t, 1500.0, s.number(t, "LLEN", queue))
	lease, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Unlock(t.Context()))
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
	require.Equal(t, []string{peer + "1"}, s.Texts(t, "LRANGE", queue, "0", "-1"))
	require.Equal(t, float64(score), s.number(t, "ZSCORE", timeouts, peer+"1"))
}

// TestHealingKeepsTheFirstPlace has a peer in the queue twice.
func TestHealingKeepsTheFirstPlace(t *testing.T) {
	t.Parallel()
	s := start(t)
	score := s.now(t) + 200000
	s.enqueue(t, peer, score, 0)
	s.enqueue(t, peer+"1", score+300000, 0)
	s.enqueue(t, peer, score, 0)
	_, err := s.Clients(t, 1, noPoll)[0].NewFairLock(key, nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.Equal(t, []string{peer, peer + "1"}, s.Texts(t, "LRANGE", queue, "0", "-1"))
}
