package repro

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestCloseGivesUpWhatIsDenied takes the channels from a user who holds locks: Close does not wait for releases that
// are refused, and would be until it gives up.
func TestCloseGivesUpWhatIsDenied(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"Denied":    "NOPERM User has no permissions to access one of the channels",
		"OldServer": "ERR Unknown Redis command called from Lua script",
	} {
		t.Run(name, func(t *testing.T) { closesAtOnce(t, refusal) })
	}
}

func closesAtOnce(t *testing.T, refusal string) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		u := newUnwilling(t, nil)
		u.name = "release"
		u.hold(t, 3)
		u.refuse(func([]string) string { return refusal })
		began := time.Now()
		_ = u.client.Close(context.Background())
		require.Less(t, time.Since(began), time.Second)
		require.Positive(t, u.refused.Load())
		require.NoError(t, u.Close())
		time.Sleep(time.Minute) // What is under way arrives.
	})
}

// TestAcquireWithoutMemory: a full server refuses an acquire, and nothing is left. It would not, if the script's first
// write were the PEXPIRE of a lock that is not there.
func TestAcquireWithoutMemory(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		c := client(t, s.Addr())
		limiter := c.NewRateLimiter("rate", primitives.Rate{Permits: 1, Interval: time.Hour}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
		cells.Text(t, s, "CONFIG", "SET", "maxmemory", "1")
		require.ErrorContains(t, cells.Err(c.NewLock("x", nil).TryLock(t.Context())), "OOM")
		require.ErrorContains(t, limiter.Wait(t.Context(), 1), "OOM")
		require.Equal(t, "0", cells.Text(t, s, "DBSIZE"))
	})
}

// TestRenewalsWithoutMemory holds an object of each kind on a server that is full: its lease is renewed all the same.
func TestRenewalsWithoutMemory(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		opts := &primitives.Options{WatchdogLease: 15 * time.Second}
		c := cells.Named("GoRedis").Primitives(t, cells.At(s.Addr()), opts)
		end := func(lease *primitives.Lease) time.Time { return time.Now().Add(lease.Remaining()) }
		leases, ends := map[string]*primitives.Lease{}, map[string]time.Time{}
		for kind := range leased(c, "") {
			lease, err := leased(c, kind)[kind](t.Context())
			require.NoError(t, err, kind)
			leases[kind] = lease
		}
		cells.Text(t, s, "CONFIG", "SET", "maxmemory", "1")
		for kind, lease := range leases {
			ends[kind] = end(lease)
		}
		for kind, lease := range leases {
			for end(lease).Before(ends[kind].Add(time.Second)) {
				require.NoError(t, lease.Err(), kind)
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
}

// TestReleasesWithoutMemory releases an object of each kind on a server that is full, while another client waits for
// it. A Mutex that had a waiter could not be released, nor could permits of a Semaphore. The next one has a Mutex at
// once, although the server is still full.
func TestReleasesWithoutMemory(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		c, other := client(t, s.Addr()), client(t, s.Addr())
		sem, latch, parts := c.NewSemaphore("semaphore", nil), c.NewCountDownLatch("latch"), c.NewPartsLatch("parts")
		cells.Want(t, true)(sem.InitPermits(t.Context(), 2))
		cells.Want(t, true)(latch.InitCount(t.Context(), 2))
		cells.Want(t, true)(parts.Init(t.Context(), 2, time.Hour))
		require.NoError(t, sem.Acquire(t.Context(), 2))
		leases, got := map[string]*primitives.Lease{}, make(chan *primitives.Lease, 1)
		for kind := range leased(c, "") {
			lease, err := leased(c, kind)[kind](t.Context())
			require.NoError(t, err, kind)
			leases[kind] = lease
		}
		go func() {
			lease, _ := other.NewMutex("Mutex", nil).Lock(t.Context())
			got <- lease
		}()
		require.Eventually(t, func() bool { return cells.Text(t, s, "ZCARD", "hasp_mutex:{Mutex}:queue") == "1" },
			30*time.Second, time.Millisecond)
		cells.Text(t, s, "CONFIG", "SET", "maxmemory", "1")
		for kind, lease := range leases {
			require.NoError(t, lease.Release(t.Context()), kind)
		}
		next := <-got
		require.NotNil(t, next)
		require.Greater(t, next.Token(), leases["Mutex"].Token())
		require.NoError(t, next.Release(t.Context()))
		require.NoError(t, sem.Release(t.Context(), 2))
		cells.Want(t, int64(1))(latch.CountDown(t.Context()))
		cells.Want(t, int64(1))(parts.CountDown(t.Context(), "a"))
		cells.Want(t, int64(0))(parts.CountDown(t.Context(), "b"))
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "hasp_mutex:{Mutex}", "hasp_mutex:{Mutex}:queue", "hasp_mutex:{Mutex}:signs"))
	})
}

// TestReleasesDeniedForOneKeyKeepOneLock denies one key of 200 whose releases were lost, so the background
// releases them together: all others are free well before their leases end.
func TestReleasesDeniedForOneKeyKeepOneLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := newUnwilling(t, nil)
		u.name = "release"
		leases := u.hold(t, 200)
		u.refuse(func([]string) string { return "LOADING the dataset" })
		for _, lease := range leases {
			require.Error(t, lease.Release(t.Context()))
		}
		u.halved.Store(0)
		u.refuse(func(keys []string) string {
			if slices.Contains(keys, "42") {
				return "NOPERM No permissions to access a key"
			}
			return ""
		})
		time.Sleep(5 * time.Second)
		for i := range leases {
			cells.Want(t, i == 42)(u.client.NewLock(fmt.Sprint(i), nil).IsLocked(t.Context()))
		}
		require.Positive(t, u.halved.Load(), "some were released together")
		u.close(t)
	})
}

// TestSideKeyOfAnotherKindIsNamed puts another kind of value at each key of an object but its own: the error names the
// key, and nothing is left but that.
func TestSideKeyOfAnotherKindIsNamed(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	lock, fair := get(c.NewLock("x", nil).Lock), get(c.NewFairLock("x", nil).Lock)
	semaphore := c.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
	arrival := func(ctx context.Context) (any, error) { // It waits for its own slot.
		lease, err := semaphore.TryAcquire(ctx)
		if err == nil {
			_, err = semaphore.Acquire(ctx)
			_ = lease.Release(ctx)
		}
		return nil, err
	}
	const token = "redisson_lock_token:{x}"
	for _, side := range []struct {
		key, says string
		call      func(ctx context.Context) (any, error)
		stored    []string
	}{
		{token, "token key", lock, []string{"HSET", token, "a", "b"}},
		{token, "token key", lock, []string{"SET", token, strings.Repeat("a", 20)}},
		{token, "token key", lock, []string{"SET", token, "9223372036854775807"}},
		{token, "token key", fair, []string{"SADD", token, "a"}},
		{"redisson_lock_queue:{x}", "queue", fair, []string{"SADD", "redisson_lock_queue:{x}", "a"}},
		{"redisson_lock_timeout:{x}", "set of scores", fair, []string{"SADD", "redisson_lock_timeout:{x}", "a"}},
		{"hasp_lock_deadline:{x}", "deadlines", fair, []string{"SADD", "hasp_lock_deadline:{x}", "a"}},
		{"{x}:owner", "queue", arrival, []string{"SADD", "{x}:owner", "a"}},
		{"{x}:counter", "counter", arrival, []string{"SADD", "{x}:counter", "a"}},
		{"hasp_lock_holder:{x}", "holder's key", get(c.NewLock("x", nil).Holder), []string{"RPUSH", "hasp_lock_holder:{x}", "a"}},
	} {
		cells.Text(t, server, side.stored...)
		_, err := side.call(t.Context())
		require.ErrorIs(t, err, primitives.ErrConflict, side)
		require.ErrorContains(t, err, fmt.Sprintf("the %s %q of this ", side.says, side.key))
		require.Equal(t, 1, cells.Number(t, server, "DBSIZE"), side)
		if side.stored[0] == "SET" {
			require.Equal(t, side.stored[2], cells.Text(t, server, "GET", token))
		}
		cells.Text(t, server, "FLUSHALL")
	}
	cells.Text(t, server, "SET", token, "0") // A reader has the token of the writer before it.
	require.Positive(t, cells.Got(c.NewReadWriteLock("x", nil).ReadLock().Lock(t.Context()))(t).Token())
}

// unwilling is a backend whose server refuses renewals, as after a change of its access list.
type unwilling struct {
	*cells.Runner
	client          *primitives.Client
	name            string       // of the scripts that are refused; "": renewals
	refused, halved atomic.Int64 // such scripts, and those of more than one key

	// refusal returns why the renewal of some keys is refused; "": it is not.
	refusal atomic.Pointer[func(keys []string) string]
}

func newUnwilling(t *testing.T, opts *primitives.Options) *unwilling {
	t.Helper()
	u := &unwilling{Runner: runner(t)}
	u.refuse(func([]string) string { return "" })
	u.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		refusal := ""
		if strings.Contains(c.Script.Name, cmp.Or(u.name, "renew")) {
			refusal = (*u.refusal.Load())(c.Keys)
		}
		if refusal == "" {
			return u.Good(ctx, c)
		}
		u.refused.Add(1)
		if len(c.Keys) > 1 {
			u.halved.Add(1)
		}
		return backend.Reply{}, backend.ParseServerError(refusal)
	}
	var err error
	u.client, err = primitives.New(u, opts)
	require.NoError(t, err)
	return u
}

func (u *unwilling) refuse(refusal func(keys []string) string) { u.refusal.Store(&refusal) }

// hold takes n locks, named by their numbers.
func (u *unwilling) hold(t *testing.T, n int) (leases []*primitives.Lease) {
	t.Helper()
	for i := range n {
		leases = append(leases, lock(t, u.client, fmt.Sprint(i)))
	}
	return leases
}

// close ends the client and its backend within the test's bubble.
func (u *unwilling) close(t *testing.T) {
	t.Helper()
	u.refuse(func([]string) string { return "" })
	require.NoError(t, u.client.Close(context.Background()))
	require.NoError(t, u.Close())
	time.Sleep(time.Minute) // What is under way arrives.
}
