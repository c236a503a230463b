// Package permits has tests of the permit semaphore with processes that are killed.
package permits

import (
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

const (
	// total is how many permits eight processes share, of which five are killed at a time.
	total, victims, survivors = 5, 5, 3

	// lease is the watchdog's of the processes.
	lease = time.Second

	// within is how soon those who live must be granted a permit after the others were killed.
	within = lease + cells.Poll + conformance.Patience
)

// user is a process that takes a permit again and again.
type user struct {
	*cells.Child
	grants atomic.Int64
}

func startUser(t *testing.T, a cells.Adapter, addr string) *user {
	t.Helper()
	u := &user{Child: cells.StartChild(t, os.Args[0], "TestUser", addr, a.Name)}
	go func() {
		for range u.Lines {
			u.grants.Add(1)
		}
	}()
	return u
}

// awaitGrant waits until the process has been granted a permit once more, and returns for how long.
func (u *user) awaitGrant(t *testing.T, bound time.Duration) time.Duration {
	t.Helper()
	begin, before := time.Now(), u.grants.Load()
	require.Eventually(t, func() bool { return u.grants.Load() > before }, bound, time.Millisecond)
	return time.Since(begin)
}

// TestUser is a process of the tests: it takes a permit, says so, keeps it for a moment, and releases it.
func TestUser(t *testing.T) {
	args, _ := cells.AsChild(t)
	s := permitsOf(t, cells.Named(args[1]), args[0])
	for {
		held, err := s.Acquire(t.Context(), 1)
		if err != nil {
			continue // It came too late, on a busy machine.
		}
		cells.Say("held")
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		_ = held.Release(t.Context())
	}
}

// permitsOf returns the semaphore of the tests.
func permitsOf(t *testing.T, a cells.Adapter, addr string) *primitives.PermitSemaphore {
	t.Helper()
	c := a.Primitives(t, cells.At(addr), &primitives.Options{WatchdogLease: lease})
	return c.NewPermitSemaphore("shared", &primitives.PermitSemaphoreOptions{Permits: total})
}

// TestPermitsOfKilledProcessesComeBack kills five of eight processes again and again by SIGKILL. One lease
// later nobody has what they had, and those who live go on within a poll. In the end no permit is missing.
func TestPermitsOfKilledProcessesComeBack(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	server, adapters := servers.Start(t, servers.Redis, nil), cells.Adapters()
	s := permitsOf(t, adapters[0], server.Addr())
	var alive []*user
	for i := range survivors {
		alive = append(alive, startUser(t, adapters[i%len(adapters)], server.Addr()))
	}
	var longest, latest time.Duration
	rounds := cells.Killing(t, func() {
		killFive(t, server.Addr())
		killed := time.Now()
		for _, u := range alive {
			longest = max(longest, u.awaitGrant(t, within))
		}
		require.Eventually(t, func() bool {
			acquired, err := s.AcquiredPermits(t.Context())
			return err == nil && acquired <= survivors
		}, within, 10*time.Millisecond, "the dead keep their permits")
		latest = max(latest, time.Since(killed))
		cells.Want(t, total)(s.TotalPermits(t.Context()))
	})
	for _, u := range alive {
		u.Kill(t)
	}
	time.Sleep(lease)
	cells.Want(t, total)(s.AvailablePermits(t.Context()))
	t.Logf("%d times %d processes were killed; the longest wait for a permit after that was %v; "+
		"all permits of the dead were back within %v, the lease is %v", rounds, victims, longest, latest, lease)
}

// killFive starts five processes, and kills them when all have had permits.
func killFive(t *testing.T, addr string) {
	t.Helper()
	var all []*user
	for i := range victims {
		all = append(all, startUser(t, cells.Adapters()[i%len(cells.Adapters())], addr))
	}
	for _, u := range all {
		require.Eventually(t, func() bool { return u.grants.Load() > 0 }, conformance.Patience, time.Millisecond)
	}
	for _, u := range all {
		u.Kill(t)
	}
}
