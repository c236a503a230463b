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
	for clients, most := range map[int]int{64: 10, 128: 16} {
		synctest.Test(t, func(t *testing.T) {
			require.Less(t, triesForARelease(t, clients), most, "%d clients", clients)
		})
	}
}

// triesForARelease returns how many clients of so many try for each release, on average.
func triesForARelease(t *testing.T, clients int) int {
	t.Helper()
	s := newServer(t)
	s.fault = func(string) fault { return fault{before: 200 * time.Microsecond, after: 200 * time.Microsecond} }
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range clients {
		lock := s.over(t, s.newOwnLink(t), &primitives.Options{PollInterval: time.Hour}).NewLock("x", nil)
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
func holdInTurns(ctx context.Context, t *testing.T, lock *primitives.Lock) {
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
