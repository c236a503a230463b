package repro

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := embedded.New(embedded.NewServer(), nil)
		require.NoError(t, err)
		q := &queue{Backend: b, ran: map[string]int{}}
		c := over(t, q, nil)
		for i := range 10 {
			_, err := c.NewLock(fmt.Sprint(i), nil).Lock(t.Context())
			require.NoError(t, err)
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
