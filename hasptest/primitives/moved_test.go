package primitives_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// promotes is a cluster of one primary, until its replica takes its place. The driver follows that by itself.
type promotes struct {
	*server
	replica *atomic.Bool
}

// NodeOf is as for [backend.Locator].
func (p promotes) NodeOf(string) string { return fmt.Sprint("replica: ", p.replica.Load()) }

// TestMovedNodeRenewsAtOnce: without a call, and with a subscription that does not break, a holder learns that the
// replica that took its server's place does not have its lock.
func TestMovedNodeRenewsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		p := promotes{s, new(atomic.Bool)}
		c := s.over(t, p, nil)
		kept, err := c.NewLock("kept", nil).Lock(t.Context())
		require.NoError(t, err)
		lost, err := c.NewLock("lost", nil).Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		_, err = s.embedded.Do("DEL", "lost")
		require.NoError(t, err)
		require.Zero(t, s.called("lock_renew"))
		p.replica.Store(true)
		time.Sleep(1100 * time.Millisecond)
		require.ErrorIs(t, lost.Err(), primitives.ErrLost)
		require.NoError(t, kept.Err())
		require.Equal(t, 1, s.called("lock_renew"))
	})
}
