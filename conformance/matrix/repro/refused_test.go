package repro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// leased are all kinds of objects whose leases the watchdog renews, by their kinds.
func leased(c *primitives.Client, name string) map[string]func(context.Context) (*primitives.Lease, error) {
	rw := c.NewReadWriteLock(name, nil)
	arrival := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	permits := c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: 2})
	return map[string]func(context.Context) (*primitives.Lease, error){
		"Lock": c.NewLock(name, nil).Lock, "FencedLock": c.NewFencedLock(name, nil).Lock,
		"SpinLock": c.NewSpinLock(name, nil).Lock, "FairLock": c.NewFairLock(name, nil).Lock,
		"Mutex": c.NewMutex(name, nil).Lock, "PlainLock": c.NewPlainLock(name, nil).Lock, "ReadLock": rw.ReadLock().Lock, "WriteLock": rw.WriteLock().Lock,
		"ByTime": c.NewCountingSemaphore(name, 1, nil).Acquire, "ByArrival": c.NewCountingSemaphore(name, 1, arrival).Acquire,
		"Permits": func(ctx context.Context) (*primitives.Lease, error) { return permits.Acquire(ctx, 2) },
	}
}

// eachLeased runs a test in virtual time for each of them.
func eachLeased(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	t.Parallel()
	for kind := range leased(cells.Over(t, backendOf(t, embedded.NewServer()), nil), "") {
		t.Run(kind, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) { test(t, kind) })
		})
	}
}

// unread is put before a script: what it may be refused is.
const unread = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.pcall = function() return {err = 'NOPERM WRONGTYPE may not be said'} end; `

// TestRenewalThatMayNotLookLosesNothing takes from a user, for a moment, the permission for the command by which
// renewals look at the key: that says nothing of who holds it.
func TestRenewalThatMayNotLookLosesNothing(t *testing.T) {
	eachLeased(t, func(t *testing.T, kind string) {
		var refused atomic.Int64
		r, until := runner(t), time.Now().Add(2*time.Second)
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if s := c.Script; strings.HasSuffix(s.Name, "_renew") && time.Now().Before(until) {
				refused.Add(1)
				c.Script = backend.NewScript(s.Name, unread+s.Source, s.Keys, s.Retry)
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, &primitives.Options{WatchdogLease: 3 * time.Second})
		lease := cells.Got(leased(c, "x")[kind](t.Context()))(t)
		time.Sleep(20 * time.Second)
		require.Positive(t, refused.Load())
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Release(t.Context()))
	})
}

// unasked is put before a script: all that it asks the server is refused, but for the time.
const unasked = unread + `redis.call = function(name, ...) if name == 'time' then return real.call(name, ...) end; ` +
	`error('NOPERM WRONGTYPE may not be said', 0) end; `

// TestReleasesThatMayNotLookAreRepeated has two holds of a kind given back together by a user who lacks the permissions
// for that. If the user gets them, the holds are released. If not, a warning names each: they were dropped, as if their
// keys were of another type.
func TestReleasesThatMayNotLookAreRepeated(t *testing.T) {
	eachLeased(t, func(t *testing.T, kind string) {
		for _, refused := range []time.Duration{time.Second, time.Hour} {
			releaseUnasked(t, kind, refused)
		}
	})
}

// releaseUnasked loses the replies to two releases, and refuses later ones for a time.
func releaseUnasked(t *testing.T, kind string, refused time.Duration) {
	t.Helper()
	r, began := runner(t), time.Now()
	var together atomic.Int64
	r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		s, age := c.Script, time.Since(began)
		switch {
		case !strings.Contains(s.Name, "_release"), age >= refused:
		case age < 10*time.Millisecond: // The first releases, and the first in the background.
			return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
		case strings.HasSuffix(s.Name, "_all"):
			together.Add(1)
			fallthrough
		default:
			c.Script = backend.NewScript(s.Name, unasked+s.Source, s.Keys, s.Retry)
		}
		return r.Good(ctx, c)
	}
	log, logged := observer.New(zap.WarnLevel)
	c := cells.Over(t, r, &primitives.Options{WatchdogLease: 3 * time.Second, Logger: zap.New(log)})
	for _, name := range []string{"x", "y"} {
		lease := cells.Got(leased(c, name)[kind](t.Context()))(t)
		require.ErrorIs(t, lease.Release(t.Context()), backend.ErrIndeterminate)
	}
	time.Sleep(2 * time.Second)
	require.Equal(t, int64(1), together.Load())
	if refused == time.Second {
		other := strings.Replace(kind, "Read", "Write", 1) // A reader keeps no reader out.
		for _, name := range []string{"x", "y"} {
			require.NoError(t, cells.Err(leased(c, name)[other](t.Context())))
		}
		require.Less(t, time.Since(began), 3*time.Second)
		require.Zero(t, logged.Len())
		return
	}
	time.Sleep(time.Minute)
	names := []any{}
	for _, entry := range logged.FilterMessage("gave up releasing").All() {
		names = append(names, entry.ContextMap()["name"])
		require.Contains(t, entry.ContextMap()["error"], "NOPERM")
	}
	require.ElementsMatch(t, []any{"x", "y"}, names)
}

// TestReleaseWithAnOverwrittenQueueFrees has another program write a value of another kind to a queue while the owner
// holds: the release frees the object, and its error names the queue's key.
func TestReleaseWithAnOverwrittenQueueFrees(t *testing.T) {
	t.Parallel()
	for kind, keys := range map[string][]string{
		"Mutex":     {"hasp_mutex:{x}:queue", "hasp_mutex:{x}:token"},
		"FairLock":  {"redisson_lock_queue:{x}"},
		"ByArrival": {"{x}:owner"},
	} {
		for _, key := range keys {
			synctest.Test(t, func(t *testing.T) {
				server := embedded.NewServer()
				c := cells.Over(t, backendOf(t, server), &primitives.Options{WatchdogLease: time.Minute})
				held := cells.Got(leased(c, "x")[kind](t.Context()))(t)
				go func() { _, _ = leased(c, "x")[kind](t.Context()) }()
				synctest.Wait()
				cells.Text(t, server, "DEL", key)
				require.Equal(t, 1, cells.Number(t, server, "HSET", key, "not", "ours"), kind)
				err := held.Release(t.Context())
				require.ErrorIs(t, err, primitives.ErrConflict)
				require.ErrorContains(t, err, key)
				require.NotErrorIs(t, err, primitives.ErrNotHeld)
				require.NotErrorIs(t, err, primitives.ErrLost)
				if kind == "ByArrival" {
					require.Zero(t, cells.Number(t, server, "ZCOUNT", "x", "0", "+inf"))
				} else {
					require.Equal(t, "0", cells.Text(t, server, "EXISTS", "x", "hasp_mutex:{x}"), kind)
				}
			})
		}
	}
}

// TestCloseGivesUpWhatIsDenied takes the channels from a user who holds locks: Close does not wait for releases that
// are refused, and would be until it gives up.
func TestCloseGivesUpWhatIsDenied(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"Denied":    "NOPERM User has no permissions to access one of the channels",
		"OldServer": "ERR Unknown Redis command called from Lua script",
	} {
		t.Run(name, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) {
				u := newUnwilling(t)
				u.hold(t, 3)
				u.refuse(func([]string) string { return refusal })
				began := time.Now()
				_ = u.Close(context.Background())
				require.Less(t, time.Since(began), time.Second)
				require.Positive(t, u.refused.Load())
			})
		})
	}
}

// TestFullServer fills a server while an object of each kind is held. An acquire is refused, and nothing is left: it would not
// be, if the script's first write were the PEXPIRE of a lock that is not there. Leases are renewed and released all the same.
// A Mutex for which somebody waits could not be released, nor could permits of a Semaphore: the next one has it at once.
func TestFullServer(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		opts := &primitives.Options{WatchdogLease: 15 * time.Second}
		c, other := cells.Named("GoRedis").Primitives(t, cells.At(s.Addr()), opts), client(t, s.Addr())
		sem, latch, parts := c.NewSemaphore("semaphore", nil), c.NewCountDownLatch("latch"), c.NewPartsLatch("parts")
		hourly := primitives.Rate{Permits: 1, Interval: time.Hour}
		limiter := c.NewRateLimiter("rate", hourly, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
		cells.Want(t, true)(sem.InitPermits(t.Context(), 2))
		cells.Want(t, true)(latch.InitCount(t.Context(), 2))
		cells.Want(t, true)(parts.Init(t.Context(), 2, time.Hour))
		require.NoError(t, sem.Acquire(t.Context(), 2))
		leases, ends := map[string]*primitives.Lease{}, map[string]time.Time{}
		for kind := range leased(c, "") {
			lease, err := leased(c, kind)[kind](t.Context())
			require.NoError(t, err, kind)
			leases[kind] = lease
		}
		got := make(chan *primitives.Lease, 1)
		go func() {
			lease, _ := other.NewMutex("Mutex", nil).Lock(t.Context())
			got <- lease
		}()
		require.Eventually(t, func() bool { return cells.Text(t, s, "ZCARD", "hasp_mutex:{Mutex}:queue") == "1" },
			30*time.Second, time.Millisecond)
		cells.Text(t, s, "CONFIG", "SET", "maxmemory", "1")
		require.ErrorContains(t, cells.Err(c.NewLock("x", nil).TryLock(t.Context())), "OOM")
		require.ErrorContains(t, limiter.Wait(t.Context(), 1), "OOM")
		require.Equal(t, "0", cells.Text(t, s, "EXISTS", "x", "redisson_lock_token:{x}", "rate", "{rate}:value", "{rate}:permits"))
		end := func(lease *primitives.Lease) time.Time { return time.Now().Add(lease.Remaining()) }
		for kind, lease := range leases {
			ends[kind] = end(lease)
		}
		for kind, lease := range leases {
			for end(lease).Before(ends[kind].Add(time.Second)) {
				require.NoError(t, lease.Err(), kind)
				time.Sleep(10 * time.Millisecond)
			}
		}
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
	cells.Bubble(t, func(t *testing.T) {
		u := newUnwilling(t)
		leases := u.hold(t, 200)
		u.refuse(func([]string) string { return "LOADING the dataset" })
		for _, lease := range leases {
			require.Error(t, lease.Release(t.Context()))
		}
		u.together.Store(0)
		u.refuse(func(keys []string) string {
			if slices.Contains(keys, "42") {
				return "NOPERM No permissions to access a key"
			}
			return ""
		})
		time.Sleep(5 * time.Second)
		for i := range leases {
			cells.Want(t, i == 42)(u.NewLock(fmt.Sprint(i), nil).IsLocked(t.Context()))
		}
		require.Positive(t, u.together.Load(), "some were released together")
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

// unwilling is a client whose server refuses releases, as after a change of its access list.
type unwilling struct {
	*primitives.Client
	refused, together atomic.Int64 // such scripts, and those of more than one key

	// refusal returns why the release of some keys is refused; "": it is not.
	refusal atomic.Pointer[func(keys []string) string]
}

func newUnwilling(t *testing.T) *unwilling {
	t.Helper()
	u, r := &unwilling{}, runner(t)
	u.refuse(func([]string) string { return "" })
	r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		refusal := (*u.refusal.Load())(c.Keys)
		if !strings.Contains(c.Script.Name, "release") || refusal == "" {
			return r.Good(ctx, c)
		}
		u.refused.Add(1)
		if len(c.Keys) > 1 {
			u.together.Add(1)
		}
		return backend.Reply{}, backend.ParseServerError(refusal)
	}
	u.Client = cells.Over(t, r, nil)
	return u
}

func (u *unwilling) refuse(refusal func(keys []string) string) { u.refusal.Store(&refusal) }

// hold takes n locks, named by their numbers.
func (u *unwilling) hold(t *testing.T, n int) (leases []*primitives.Lease) {
	t.Helper()
	for i := range n {
		leases = append(leases, lock(t, u.Client, fmt.Sprint(i)))
	}
	return leases
}
