package rueidisbackend

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// poolClient is a client whose pool yields a connection for each value sent to yield.
type poolClient struct {
	rueidis.Client
	yield  chan struct{}
	inside atomic.Int32 // calls of Dedicate that wait
	closed atomic.Int32 // connections that were closed
	panics bool
}

type poolConn struct {
	rueidis.DedicatedClient
	closed *atomic.Int32
}

func (c poolConn) Close() { c.closed.Add(1) }

func (c *poolClient) Dedicate() (rueidis.DedicatedClient, func()) {
	c.inside.Add(1)
	defer c.inside.Add(-1)
	<-c.yield
	if c.panics {
		panic("hook")
	}
	return poolConn{closed: &c.closed}, func() {}
}

func TestOneGoroutineWaitsForAPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := &poolClient{yield: make(chan struct{})}, &pools{}
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := p.take(ctx, "a", c)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, int32(1), c.inside.Load())
		}

		got := make(chan error, 2) // The next take over what is under way.
		for range 2 {
			go func() {
				_, err := p.take(t.Context(), "a", c)
				got <- err
			}()
		}
		synctest.Wait()
		require.Equal(t, int32(1), c.inside.Load())
		for range 2 {
			c.yield <- struct{}{}
			require.NoError(t, <-got)
		}
		synctest.Wait()
		require.Zero(t, c.inside.Load())
		require.Zero(t, c.closed.Load())
	})
}

func TestConnectionThatNobodyWantsIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := &poolClient{yield: make(chan struct{})}, &pools{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.take(ctx, "a", c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		c.yield <- struct{}{}
		synctest.Wait()
		require.Equal(t, int32(1), c.closed.Load())
		require.Empty(t, p.queue)
	})
}

// Callers leave in the instant in which the pool yields: each connection is taken or closed.
func TestNoConnectionIsLost(t *testing.T) {
	t.Parallel()
	c, p := &poolClient{yield: make(chan struct{})}, &pools{}
	taken := 0
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		go func() { c.yield <- struct{}{} }()
		if _, err := p.take(ctx, "a", c); err == nil {
			taken++
		}
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.queue) == 0
		}, 10*time.Second, time.Microsecond*50)
	}
	require.Eventually(t, func() bool { return taken+int(c.closed.Load()) == 1000 },
		10*time.Second, time.Millisecond)
}

func TestPanicOfAPool(t *testing.T) {
	t.Parallel()
	c, p := &poolClient{yield: make(chan struct{}, 1), panics: true}, &pools{}
	c.yield <- struct{}{}
	require.PanicsWithValue(t, "hook", func() { _, _ = p.take(t.Context(), "a", c) })
}
