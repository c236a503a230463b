package repro

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// queue is a server that takes 1 ms for each script, in the order of their coming, whether or not
// the caller still waits: 1000 a second.
type queue struct {
	backend.Backend
	mu   sync.Mutex
	free time.Time // when the server is free again
	ran  map[string]int
}

func (q *queue) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	done := make(chan backend.Outcome, 1)
	time.AfterFunc(q.turn(script), func() {
		r, err := q.Backend.Run(context.WithoutCancel(ctx), script, keys, args)
		done <- backend.Outcome{Reply: r, Err: err}
	})
	select {
	case o := <-done:
		return o.Reply, o.Err
	case <-ctx.Done():
		return backend.Reply{}, backend.Indeterminate(ctx.Err())
	}
}

// RunBatch queues each call by itself: a batch costs the server what its scripts cost.
func (q *queue) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			r, err := q.Run(ctx, c.Script, c.Keys, c.Args)
			report(i, backend.Outcome{Reply: r, Err: err})
		})
	}
	all.Wait()
}

// turn counts a script, and returns how long it takes until it has run.
func (q *queue) turn(script *backend.Script) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if q.free.Before(now) {
		q.free = now
	}
	q.free = q.free.Add(time.Millisecond)
	if strings.Contains(script.Name, "release") {
		q.ran["release"]++
	} else {
		q.ran["acquire"]++
	}
	return q.free.Sub(now)
}

// stall keeps the server from doing anything for a while.
func (q *queue) stall(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = time.Now().Add(d)
}

// tally is what became of the calls of one second.
type tally struct{ answered, timedOut, acquires, releases int }

// TestAStallOf2sIsForEver makes 180 TryLocks a second, with a deadline of 100 ms, on locks that
// somebody else holds: 18 % of what the server can do. A stall of 2 s once was for ever, since the
// releases of what was never acquired kept the server busy.
func TestAStallOf2sIsForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := &queue{Backend: backendOf(t, embedded.NewServer()), ran: map[string]int{}}
		c := cells.Over(t, q, nil)
		for i := range 10 {
			lock(t, c, fmt.Sprint(i))
		}
		seconds := make([]tally, 30)
		for second := range seconds {
			if second == 10 {
				q.stall(2 * time.Second)
			}
			seconds[second] = q.second(t, c)
			t.Logf("second %2d: %+v", second, seconds[second])
		}
		require.Positive(t, seconds[10].timedOut, "the stall was felt")
		for _, later := range seconds[14:] {
			require.Equal(t, 180, later.answered)
			require.Zero(t, later.timedOut)
			require.Zero(t, later.releases)
		}
		time.Sleep(10 * time.Second)
	})
}

// second makes the calls of one second, and waits for them.
func (q *queue) second(t *testing.T, c *primitives.Client) (result tally) {
	t.Helper()
	const perSecond = 180
	var mu sync.Mutex
	var calls sync.WaitGroup
	for i := range perSecond {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := c.NewLock(fmt.Sprint(i%10), nil).TryLock(ctx)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, primitives.ErrNotAcquired) {
				result.answered++
			} else {
				result.timedOut++
			}
		})
		time.Sleep(time.Second / perSecond)
	}
	q.mu.Lock()
	result.acquires, result.releases = q.ran["acquire"], q.ran["release"]
	clear(q.ran)
	q.mu.Unlock()
	calls.Wait()
	return result
}

// TestReleasesPerCancelledAcquire cancels acquires of a lock that somebody else holds: each was
// refused, so that there is nothing to release, and nothing to search. Scripts run in time, and answer
// 20 ms later, when the caller has left.
func TestReleasesPerCancelledAcquire(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, time.Hour, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := runner(t)
			var acquires, releases atomic.Int64
			r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				switch {
				case strings.Contains(c.Script.Name, "release"):
					releases.Add(1)
				case strings.Contains(c.Script.Name, "acquire"):
					acquires.Add(1)
				}
				reply, err := r.Good(context.WithoutCancel(ctx), c)
				select {
				case <-time.After(20 * time.Millisecond):
					return reply, err
				case <-ctx.Done():
					return backend.Reply{}, backend.Indeterminate(ctx.Err())
				}
			}
			c := cells.Over(t, r, nil)
			holder := lock(t, c, "x")
			const calls = 100
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				_, err := c.NewLock("x", &primitives.LockOptions{Lease: lease}).TryLock(ctx)
				require.ErrorIs(t, err, backend.ErrIndeterminate, "it was cancelled in flight")
				cancel()
			}
			time.Sleep(lease)
			require.Equal(t, int64(calls+1), acquires.Load())
			require.Zero(t, releases.Load())
			require.NoError(t, holder.Release(t.Context()))
			require.Equal(t, int64(1), releases.Load())
		})
	}
}

// TestReleaseThatWasNeverSentIsGivenUp releases a permit while nobody can connect, under a context
// that has ended, as "defer sem.Release(ctx, 1)" may: the permit once was gone after 3 s. The host
// refuses connections, or answers nothing at all.
func TestReleaseThatWasNeverSentIsGivenUp(t *testing.T) {
	cells.Proof(t)
	for outage, silent := range map[string]bool{"Refused": false, "Silent": true} {
		t.Run(outage, func(t *testing.T) {
			side(t, func(t *testing.T, a cells.Adapter) { releaseWithoutAServer(t, a, silent) })
		})
	}
}

func releaseWithoutAServer(t *testing.T, a cells.Adapter, silent bool) {
	t.Helper()
	s := servers.Start(t, servers.Redis, nil)
	r := &road{proxy: proxy.Start(t, s.Addr(), nil)}
	// Of more connections rueidis notices an end only when it uses them, a second later, and what is
	// written to a connection that has ended may have been executed.
	c := cells.Client{Addrs: []string{r.proxy.Addr()}, Dial: r.dial, Multiplex: -1}
	sem := a.Primitives(t, c, nil).NewSemaphore("s", nil)
	_, err := sem.InitPermits(t.Context(), 3)
	require.NoError(t, err)
	require.NoError(t, sem.Acquire(t.Context(), 3))
	r.silent.Store(silent)
	r.proxy.Refuse()                    // The server's host restarts.
	require.Eventually(t, func() bool { // The driver has noticed, and dials.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := sem.AvailablePermits(ctx)
		var op *net.OpError
		return silent && r.dials.Load() > 0 || errors.As(err, &op) && op.Op == "dial"
	}, 30*time.Second, time.Millisecond)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sem.Release(ended, 1), backend.ErrIndeterminate)
	require.ErrorIs(t, sem.Release(ended, 1), backend.ErrIndeterminate)

	time.Sleep(7 * time.Second) // Longer than an adapter tries, and a client waits, by itself.
	r.silent.Store(false)
	r.proxy.Restore()
	free := func() int {
		n, err := sem.AvailablePermits(t.Context())
		if err != nil {
			return -1
		}
		return n
	}
	require.Eventually(t, func() bool { return free() == 2 }, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, sem.Release(t.Context(), 1))
	require.Equal(t, 3, free())
}

// road leads to a server, or into silence.
type road struct {
	proxy  *proxy.Proxy
	silent atomic.Bool
	dials  atomic.Int32 // under way while silent
}

// dial dials the server. Into silence a dial lasts until ctx ends, for 6 s at most.
func (r *road) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if r.silent.Load() {
		r.dials.Add(1)
		defer r.dials.Add(-1)
		select {
		case <-ctx.Done():
		case <-time.After(6 * time.Second):
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("nothing answers")}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}
