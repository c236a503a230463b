package repro

import (
	"context"
	"errors"
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
