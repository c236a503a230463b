package counting

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

// naive is the semaphore of the Redis literature as one client has it: it goes by the client's clock, and
// takes several commands. Its scores are times of acquisition, from which each client takes off the timeout
// that it has itself.
type naive struct {
	server  *embedded.Server
	limit   int64
	timeout time.Duration
	clock   func() time.Time
	fair    bool
}

// do sends a command over a link, and returns the number that it replies.
func (n *naive) do(t *testing.T, words ...string) int64 {
	t.Helper()
	reply, err := n.send(words...)
	require.NoError(t, err)
	if reply.IsNil() {
		return 1 << 40 // ZRANK of one whom somebody has dropped.
	}
	number, err := reply.Int()
	require.NoError(t, err)
	return number
}

func (n *naive) send(words ...string) (backend.Reply, error) {
	time.Sleep(rand.N(time.Millisecond)) //nolint:gosec // A link.
	return n.server.Do(words...)
}

// try is acquire_semaphore, or acquire_fair_semaphore.
func (n *naive) try(t *testing.T, id string) bool {
	t.Helper()
	now := n.clock()
	ranked := name
	n.do(t, "ZREMRANGEBYSCORE", name, "-inf", millis(now.Add(-n.timeout)))
	if n.fair {
		ranked = queue
		n.do(t, "ZINTERSTORE", queue, "2", queue, name, "WEIGHTS", "1", "0")
		number := n.do(t, "INCR", counter)
		n.do(t, "ZADD", queue, strconv.FormatInt(number, 10), id)
	}
	n.do(t, "ZADD", name, millis(now), id)
	if n.do(t, "ZRANK", ranked, id) < n.limit {
		return true
	}
	n.release(t, id)
	return false
}

func (n *naive) release(t *testing.T, id string) {
	t.Helper()
	n.do(t, "ZREM", name, id)
	if n.fair {
		n.do(t, "ZREM", queue, id)
	}
}

func millis(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
