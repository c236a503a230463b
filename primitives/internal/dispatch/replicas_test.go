package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// replicated is a link to a server with one replica. It does not batch what waits for replicas.
type replicated struct {
	link
	err error // of the waiting

	mu    sync.Mutex
	waits time.Duration // how long each call waits
	alone []string      // the keys of calls that waited for replicas
}

func (r *replicated) RunThenWait(
	ctx context.Context, calls []backend.Call, _ int, _ time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	c := calls[0]
	r.mu.Lock()
	r.alone = append(r.alone, c.Keys[0])
	waits := r.waits
	r.mu.Unlock()
	if !wait(ctx, waits) {
		report(0, backend.Outcome{Err: backend.Indeterminate(ctx.Err())})
		return
	}
	reply, err := r.answer(ctx, c)
	report(0, backend.Outcome{Reply: reply, Acked: 1, Err: errors.Join(err, r.err)})
}

// waited returns the keys of calls that waited for replicas.
func (r *replicated) waited() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.alone...)
}

// withReplicas is a request that waits for so many replicas.
func withReplicas(key string, n int) *dispatch.Request {
	r := request(write, key)
	r.Replicas, r.ReplicaTimeout = n, time.Second
	return r
}

func TestReplicasAreCounted(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{}
		d := open(t, l)
		require.True(t, d.WaitsForReplicas())
		require.False(t, open(t, &l.link).WaitsForReplicas())

		r := withReplicas("enough", 1)
		reply, err := do(t.Context(), d, r)
		requireEcho(t, "enough", reply, err)
		require.NoError(t, r.Shortage)

		r = withReplicas("few", 2)
		reply, err = do(t.Context(), d, r)
		requireEcho(t, "few", reply, err)
		require.ErrorIs(t, r.Shortage, backend.ErrReplicas)
		require.ErrorContains(t, r.Shortage, "1 of 2 acknowledged within 1s")

		// The waiting failed: the reply counts all the same.
		broken := errors.New("EOF")
		l.err = fmt.Errorf("%w: %w", backend.ErrReplicas, broken)
		r = withReplicas("broken", 1)
		reply, err = do(t.Context(), d, r)
		requireEcho(t, "broken", reply, err)
		require.ErrorIs(t, r.Shortage, broken)

		// The script failed.
		l.err = broken
		r = withReplicas("failed", 2)
		_, err = do(t.Context(), d, r)
		require.ErrorIs(t, err, broken)
		require.NoError(t, r.Shortage)
		require.Empty(t, l.sent(), "none of them goes with others")
	})
}

// TestReplicasHoldUpNobody has calls that wait for replicas for long: other calls go on, and of the former a
// few at a time.
func TestReplicasHoldUpNobody(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{waits: time.Second}
		d := open(t, l)
		start := time.Now()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				reply, err := do(t.Context(), d, withReplicas(fmt.Sprint(i), 1))
				requireEcho(t, fmt.Sprint(i), reply, err)
			})
		}
		synctest.Wait()
		require.Len(t, l.waited(), 8)
		reply, err := d.Run(t.Context(), write, []string{"k"}, nil)
		requireEcho(t, "k", reply, err)
		require.Zero(t, time.Since(start))
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, [][]string{{"k"}}, l.sent())
	})
}

// TestSilentConnectionsHoldUpNobody has eight calls without a deadline whose answers do not come.
func TestSilentConnectionsHoldUpNobody(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{waits: time.Hour}
		d := open(t, l)
		start := time.Now()
		for i := range 8 {
			go func() { _, _ = do(context.WithoutCancel(t.Context()), d, withReplicas(fmt.Sprint(i), 1)) }()
		}
		synctest.Wait()
		l.mu.Lock()
		l.waits = 0
		l.mu.Unlock()
		reply, err := do(t.Context(), d, withReplicas("sound", 1))
		requireEcho(t, "sound", reply, err)
		require.Equal(t, 2*time.Second, time.Since(start), "twice the timeout")
	})
}

// TestReplicasOutOfTurn lets callers leave before it is their turn, and has others wait for it for too
// long: they are certainly not sent.
func TestReplicasOutOfTurn(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{waits: time.Hour}
		d := open(t, l)
		left, giveUp := context.WithCancel(t.Context())
		for range 8 {
			slow := withReplicas("slow", 1)
			slow.ReplicaTimeout = time.Hour
			go func() { _, _ = do(left, d, slow) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := do(ctx, d, withReplicas("withdrawn", 1))
		require.Equal(t, context.DeadlineExceeded, err)
		start := time.Now()
		_, err = do(t.Context(), d, withReplicas("unsent", 1))
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.NotErrorIs(t, err, backend.ErrIndeterminate)
		require.InDelta(t, 5.5, time.Since(start).Seconds(), 1)

		// Who left them gives the others their turn.
		giveUp()
		time.Sleep(6 * time.Second)
		l.mu.Lock()
		l.waits = 0
		l.mu.Unlock()
		reply, err := do(t.Context(), d, withReplicas("k", 1))
		requireEcho(t, "k", reply, err)
		require.Equal(t, "k", l.waited()[8])
	})
}

// TestReplicasCallerLeaves: the outcome comes late.
func TestReplicasCallerLeaves(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{waits: time.Second}
		d := open(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r, late := withReplicas("k", 2), newLateReceiver()
		r.Late, r.Leavers = late, late
		require.ErrorIs(t, errOf(do(ctx, d, r)), backend.ErrIndeterminate)
		outcome := <-late.late
		requireEcho(t, "k", outcome.Reply, outcome.Err)
	})
}

func TestReplicasAndClose(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{waits: time.Hour}
		d := open(t, l)
		time.AfterFunc(time.Second, d.Close)
		_, err := do(t.Context(), d, withReplicas("k", 1))
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		_, err = do(t.Context(), d, withReplicas("k", 1))
		require.ErrorIs(t, err, backend.ErrClosed)
		require.Len(t, l.waited(), 1)
	})
}

func TestReplicasAndPanic(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &replicated{}
		l.do = func(context.Context, backend.Call) (backend.Reply, error) { panic("hook") }
		d := open(t, l)
		for range 9 { // More than wait at a time: each has given its turn back.
			require.PanicsWithValue(t, "hook", func() { _, _ = do(t.Context(), d, withReplicas("k", 1)) })
		}
	})
}
