package repro

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// get makes a call of a method that returns a value and an error.
func get[T any](call func(ctx context.Context) (T, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return call(ctx) }
}

// shareable are the kinds of leased, and those that two owners can hold.
func shareable(c *primitives.Client, name string) map[string]func(context.Context) (*primitives.Lease, error) {
	all := leased(c, name)
	arrival := &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}
	permits := c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: 2})
	all["ByTimeOfTwo"] = c.NewCountingSemaphore(name, 2, nil).Acquire
	all["ByArrivalOfTwo"] = c.NewCountingSemaphore(name, 2, arrival).Acquire
	all["OnePermit"] = func(ctx context.Context) (*primitives.Lease, error) { return permits.Acquire(ctx, 1) }
	preferred := c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{PreferWriters: true})
	all["PreferringReadLock"], all["PreferringWriteLock"] = preferred.ReadLock().Lock, preferred.WriteLock().Lock
	all["Described"] = c.NewLock(name, &primitives.LockOptions{Metadata: "of me"}).Lock
	return all
}

// TestNoScriptShortensAnotherCallsHold has a holder of each kind, with a lease of a minute, and sends again what it
// sent before, as if that came late: its tries, beats and renewals. Then others, with leases of 3 s, use every kind
// by the same name: they try, wait, hold, renew, leave and release. After none of all these scripts the hold ends
// earlier on the server. A late beat of a Mutex could have made it 10 s.
func TestNoScriptShortensAnotherCallsHold(t *testing.T) {
	t.Parallel()
	for kind := range shareable(cells.Over(t, backendOf(t, embedded.NewServer()), nil), "x") {
		t.Run(kind, func(t *testing.T) {
			cells.Bubble(t, func(t *testing.T) { shortensNothing(t, kind) })
		})
	}
}

func shortensNothing(t *testing.T, kind string) {
	t.Helper()
	server := embedded.NewServer()
	client := func(lease time.Duration, run func(r *cells.Runner, c backend.Call) (backend.Reply, error)) *primitives.Client {
		r := &cells.Runner{Backend: backendOf(t, server)}
		r.Instead = func(_ context.Context, c backend.Call) (backend.Reply, error) { return run(r, c) }
		return cells.Over(t, r, &primitives.Options{WatchdogLease: lease})
	}
	good := func(r *cells.Runner, c backend.Call) (backend.Reply, error) { return r.Good(t.Context(), c) }
	first := cells.Got(shareable(client(time.Minute, good), "x")[kind](t.Context()))(t)
	time.AfterFunc(6*time.Second, func() { _ = first.Release(t.Context()) })
	sent := make(chan backend.Call, 1000)
	lease, err := shareable(client(time.Minute, func(r *cells.Runner, c backend.Call) (backend.Reply, error) {
		sent <- c
		return good(r, c)
	}), "x")[kind](t.Context())
	require.NoError(t, err)
	time.Sleep(30 * time.Second) // It has been renewed.

	var one sync.Mutex // No other script runs while the test reads when the hold ends.
	ran := 0
	keeps := func(r *cells.Runner, c backend.Call) (backend.Reply, error) {
		one.Lock()
		defer one.Unlock()
		before := endsOf(t, server, lease.Owner())
		reply, err := good(r, c)
		after := endsOf(t, server, lease.Owner())
		for place, end := range before {
			if after[place] < end { // It may be a goroutine of the client.
				t.Errorf("%s: %s ended at %d, and ends at %d", c.Script.Name, place, end, after[place])
			}
		}
		ran++
		return reply, err
	}
	late := &cells.Runner{Backend: backendOf(t, server)}
	for n := len(sent); n > 0; n-- {
		_, _ = keeps(late, <-sent)
	}
	require.GreaterOrEqual(t, ran, 2, "a try and a renewal")
	require.NotEmpty(t, endsOf(t, server, lease.Owner()))
	for _, use := range shareable(client(3*time.Second, keeps), "x") {
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		if other, err := use(ctx); err == nil {
			time.Sleep(2 * time.Second)
			_ = other.Release(ctx)
		}
		cancel()
	}
	time.Sleep(20 * time.Second) // What the others have left to the background has ended.
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Release(t.Context()))
}

// endsOf returns when an owner's hold ends on a server, in milliseconds: the expiries of all keys that name it, and its
// scores there.
func endsOf(t *testing.T, server *embedded.Server, owner string) map[string]int64 {
	t.Helper()
	ends := map[string]int64{}
	owner = owner[:min(len(owner), 16)] // Of permits the first.
	for _, key := range cells.Texts(t, server, "KEYS", "*") {
		named := strings.Contains(key, owner)
		switch cells.Text(t, server, "TYPE", key) {
		case "string":
			named = named || strings.HasPrefix(cells.Text(t, server, "GET", key), owner)
		case "hash":
			fields := strings.Join(cells.Texts(t, server, "HKEYS", key), " ")
			named = named || strings.Contains(fields, owner)
		case "zset":
			members := cells.Texts(t, server, "ZRANGE", key, "0", "-1", "WITHSCORES")
			for i := 0; i < len(members); i += 2 {
				if named = strings.HasPrefix(members[i], owner); named {
					score := cells.Got(strconv.ParseFloat(members[i+1], 64))(t)
					ends[key+" score"] = int64(score)
					break
				}
			}
		}
		if named {
			if ends[key] = int64(cells.Number(t, server, "PEXPIRETIME", key)); ends[key] < 0 {
				ends[key] = math.MaxInt64
			}
		}
	}
	return ends
}
