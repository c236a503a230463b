package fair

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// peer is a foreign owner, whose process takes part by commands of its own.
const peer = "0b6e5a4c-4cf2-4f3c-9e19-6c8a8b4c0001:28"

// TestPeerIsServedInOrder queues a foreign owner between two waiters of ours: its score falls as
// Redisson's scripts expect, it is woken on its channel, nobody passes it, and by its release the second
// waiter is woken.
func TestPeerIsServedInOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 3, noPoll)
	b := cells.Named("GoRedis").Backend(t, cells.At(s.Addr()))
	woken := make(chan string, 10)
	listening, err := b.Subscribe(t.Context(), channel+":"+peer, func(e backend.Event) {
		if e.Kind == backend.EventMessage {
			woken <- e.Payload
		}
	})
	require.NoError(t, err)

	holder := hold(t, clients[0])
	ahead := s.waitInTurn(t, 1, clients[1:2], patient)
	last := cells.Texts(t, s, "LRANGE", queue, "-1", "-1")[0]
	score := int64(s.score(t, last))
	require.InDelta(t, s.now(t)+30000+300000, score, 60000, "the holder's lease, and Redisson's default")
	s.enqueue(t, peer, score+300000, 0)
	behind := s.waitInTurn(t, 1, clients[2:], patient)
	last = cells.Texts(t, s, "LRANGE", queue, "-1", "-1")[0]
	require.Equal(t, float64(score+600000), s.score(t, last))
	s.awaitListening(t, 3)

	require.NoError(t, holder.Release(t.Context()))
	lease := ahead.next(t).lease
	require.Equal(t, float64(score), s.score(t, peer), "lowered by what the first had added")
	require.Equal(t, float64(score+300000), s.score(t, last))
	require.Empty(t, woken)
	require.NoError(t, lease.Release(t.Context()))
	require.Equal(t, "0", cells.Within(t, conformance.Patience, "the peer's message", woken))
	_, err = clients[0].NewFairLock(key, nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired, "nobody passes the peer")

	s.acquireAsPeer(t, last)
	require.Empty(t, behind.granted)
	s.do(t, "DEL", key)
	s.do(t, "PUBLISH", channel+":"+last, "0")
	require.NoError(t, behind.next(t).lease.Release(t.Context()))
	listening.Cancel()
	s.requireNothingLeft(t)
}

// acquireAsPeer makes the peer, which is first in the queue, hold the lock; next is behind it.
func (s server) acquireAsPeer(t *testing.T, next string) {
	t.Helper()
	s.do(t, "LPOP", queue)
	s.do(t, "ZREM", timeouts, peer)
	s.do(t, "ZINCRBY", timeouts, "-300000", next)
	s.do(t, "HSET", key, peer, "1")
	s.do(t, "PEXPIRE", key, "30000")
}

// TestDeadPeerIsPassed lets a peer's score pass while it is first in the queue, and leaves others without
// a score: they are taken for dead.
func TestDeadPeerIsPassed(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 1, noPoll)
	now := s.now(t)
	s.enqueue(t, peer, now+1500, 0)
	s.enqueue(t, "stale", now-1, 0)
	s.enqueue(t, "scoreless", 0, 0)
	lease, err := clients[0].NewFairLock(key, patient).Lock(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.now(t), now+1500)
	require.NoError(t, lease.Release(t.Context()))
	s.requireNothingLeft(t)
}

// TestExpiredPeerIsFollowed lets a peer's lease end without a message, with another peer waiting first: it
// is not passed while its score lasts.
func TestExpiredPeerIsFollowed(t *testing.T) {
	t.Parallel()
	s := start(t)
	clients := s.Clients(t, 1, noPoll)
	s.do(t, "HSET", key, "5f0c2a9e-0000-4000-8000-00000000000a:1", "1")
	s.do(t, "PEXPIRE", key, "500")
	score := s.now(t) + 2500
	s.enqueue(t, peer, score, 0)
	lease, err := clients[0].NewFairLock(key, patient).Lock(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.now(t), score)
	require.NoError(t, lease.Release(t.Context()))
	s.requireNothingLeft(t)
}
