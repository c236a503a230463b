package primitives_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestLockIsTriedByAFewOfMany has many clients use one lock, with a pause after each hold. Once they know how
// many they are, few try at each release: about as many as the square root of their number.
func TestLockIsTriedByAFewOfMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		newLock        func(c *primitives.Client) locker
		clients, tries int
	}{
		{func(c *primitives.Client) locker { return c.NewLock("x", nil) }, 64, 10},
		{func(c *primitives.Client) locker { return c.NewFencedLock("x", nil) }, 64, 10},
		{func(c *primitives.Client) locker { return c.NewLock("x", nil) }, 200, 25},
	} {
		synctest.Test(t, func(t *testing.T) {
			require.Less(t, triesForARelease(t, c.clients, c.newLock), c.tries, "%d clients", c.clients)
		})
	}
}

// triesForARelease returns how many clients of so many try for each release, on average.
func triesForARelease(t *testing.T, clients int, newLock func(c *primitives.Client) locker) int {
	t.Helper()
	s := newFakeServer()
	s.fault = func(string) fault { return fault{before: 200 * time.Microsecond, after: 200 * time.Microsecond} }
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range clients {
		lock := newLock(s.client(t, &primitives.Options{PollInterval: time.Hour}))
		all.Go(func() { holdInTurns(ctx, t, lock) })
	}
	time.Sleep(time.Duration(clients) * 3 * time.Millisecond) // Each has released once.
	tries, releases := s.called("lock_acquire"), s.called("lock_release")
	time.Sleep(150 * time.Millisecond)
	tries, releases = s.called("lock_acquire")-tries, s.called("lock_release")-releases
	stop()
	all.Wait()
	require.Greater(t, releases, 75)
	t.Logf("%d clients: %d tries for %d releases", clients, tries, releases)
	return tries / releases
}

// holdInTurns holds a lock, releases it and pauses until ctx ends.
func holdInTurns(ctx context.Context, t *testing.T, lock locker) {
	t.Helper()
	for {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return
		}
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
