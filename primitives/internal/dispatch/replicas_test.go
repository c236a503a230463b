package dispatch_test

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
	through(t, &replicated{}, func(t *testing.T, l *replicated, d *dispatch.Dispatcher) {
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
		require.ErrorIs(t, errOf(do(t.Context(), d, r)), broken)
		require.NoError(t, r.Shortage)
		require.Empty(t, l.sent(), "none of them goes with others")
	})
}

// TestReplicasHoldUpNobody has calls that wait for replicas for long: other calls go on, and of the former a
// few at a time.
func TestReplicasHoldUpNobody(t *testing.T) {
	through(t, &replicated{waits: time.Second}, func(t *testing.T, l *replicated, d *dispatch.Dispatcher) {
		start := time.Now()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				reply, err := do(t.Context(), d, withReplicas(fmt.Sprint(i), 1))
				requireEcho(t, fmt.Sprint(i), reply, err)
			})
		}
		synctest.Wait()
		waiting := len(l.waited())
		reply, err := d.Run(t.Context(), write, []string{"k"}, nil)
		requireEcho(t, "k", reply, err)
		require.Zero(t, time.Since(start))
		all.Wait()
		require.Equal(t, 8, waiting)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, [][]string{{"k"}}, l.sent())
	})
}

// TestSilentConnectionsHoldUpNobody has eight calls without a deadline whose answers do not come.
func TestSilentConnectionsHoldUpNobody(t *testing.T) {
	through(t, &replicated{waits: time.Hour}, func(t *testing.T, l *replicated, d *dispatch.Dispatcher) {
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
	through(t, &replicated{waits: time.Hour}, func(t *testing.T, l *replicated, d *dispatch.Dispatcher) {
		left, giveUp := context.WithCancel(t.Context())
		for range 8 {
			slow := withReplicas("slow", 1)
			slow.ReplicaTimeout = time.Hour
			go func() { _, _ = do(left, d, slow) }()
		}
		synctest.Wait()
		ctx := within(t, 100*time.Millisecond)
		require.Equal(t, context.DeadlineExceeded, errOf(do(ctx, d, withReplicas("withdrawn", 1))))
		start := time.Now()
		_, err := do(t.Context(), d, withReplicas("unsent", 1))
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

// cluster is a link to several nodes with a replica each: the text before a key's slash names its node.
type cluster struct {
	link
	acked int
}

// NodeOf implements backend.Locator.
func (*cluster) NodeOf(key string) string {
	node, _, _ := strings.Cut(key, "/")
	return node
}

// RunThenWait implements backend.ReplicaWaiter.
func (c *cluster) RunThenWait(
	ctx context.Context, calls []backend.Call, _ int, _ time.Duration, report func(place int, outcome backend.Outcome),
) {
	c.RunBatch(ctx, calls, func(place int, outcome backend.Outcome) {
		outcome.Acked = c.acked
		report(place, outcome)
	})
}

// renewals are calls that wait for a replica together, for up to a second.
type renewals struct {
	sync.WaitGroup
	runner *dispatch.Runner
}

// send sends a renewal of a lease that ends in left, and requires its echo, and a shortage if that is wanted.
func (r *renewals) send(t *testing.T, key string, left time.Duration, shortage error) {
	t.Helper()
	r.Go(func() {
		waiting, short := r.runner.Waiting(1, time.Second, left)
		reply, err := waiting.Run(t.Context(), write, []string{key}, nil)
		requireEcho(t, key, reply, err)
		require.ErrorIs(t, short(), shortage)
	})
}

// TestRenewalsWaitTogether has 350 renewals on two nodes: while the first of a node waits, the others queue. Those whose
// leases end first go first, at most 100 together, and each node has a queue of its own.
func TestRenewalsWaitTogether(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &cluster{link{takes: time.Second}, 1}
		r, start := renewals{runner: &dispatch.Runner{Dispatcher: open(t, l), Contained: true}}, time.Now()
		r.send(t, "a/first", time.Hour, nil)
		synctest.Wait()
		for i := range 250 {
			r.send(t, fmt.Sprintf("a/%03d", i), time.Hour-time.Duration(i)*time.Second, nil)
		}
		synctest.Wait()
		for i := range 99 {
			r.send(t, fmt.Sprint("b/", i), time.Hour, nil)
		}
		r.Wait()
		require.Equal(t, 4*time.Second, time.Since(start))
		sent := map[string][][]string{}
		for _, batch := range l.sent() {
			node := l.NodeOf(batch[0])
			sent[node] = append(sent[node], batch)
			for _, key := range batch {
				require.Equal(t, node, l.NodeOf(key))
			}
		}
		require.Len(t, sent["a"], 4)
		for i, batch := range sent["a"] {
			require.Len(t, batch, []int{1, 100, 100, 50}[i])
		}
		require.Equal(t, "a/249", sent["a"][1][0])
		require.Equal(t, "a/000", sent["a"][3][49])
	})
}

// TestRenewalsPassASilentConnection: a renewal that queues behind one without an answer is sent on another connection,
// after twice the timeout of the WAIT, on eight at most. Grants have their own.
func TestRenewalsPassASilentConnection(t *testing.T) {
	through(t, &cluster{link{takes: time.Hour}, 1}, func(t *testing.T, l *cluster, d *dispatch.Dispatcher) {
		runner := &dispatch.Runner{Dispatcher: d, Contained: true}
		for i := range 12 {
			waiting, _ := runner.Waiting(1, time.Second, time.Hour)
			go func() { _, _ = waiting.Run(t.Context(), write, []string{fmt.Sprint("a/", i)}, nil) }()
			synctest.Wait()
			require.Len(t, l.sent(), min(max(1, i), 8))
			if i > 0 {
				time.Sleep(time.Second)
				synctest.Wait()
				require.Len(t, l.sent(), min(i+1, 8))
			}
			time.Sleep(time.Second)
		}
		for range 9 {
			go func() { _, _ = do(t.Context(), d, withReplicas("grant", 1)) }()
		}
		synctest.Wait()
		require.Len(t, l.sent(), 8+8)
	})
}

// TestRenewalsAndClose: those that are under way have no outcome, and those that queue are not sent, even if the driver
// returns late.
func TestRenewalsAndClose(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &cluster{link: link{do: func(context.Context, backend.Call) (backend.Reply, error) {
			time.Sleep(time.Hour)
			return backend.Reply{}, nil
		}}}
		d := open(t, l)
		runner := &dispatch.Runner{Dispatcher: d, Contained: true}
		errs := make(chan error, 2)
		for range 2 {
			waiting, _ := runner.Waiting(1, time.Minute, time.Hour)
			go func() {
				_, err := waiting.Run(t.Context(), write, []string{"k"}, nil)
				errs <- err
			}()
			synctest.Wait()
		}
		start := time.Now()
		d.Close()
		for _, err := range []error{<-errs, <-errs} {
			require.True(t, backend.MayHaveRun(err) || strings.Contains(err.Error(), backend.ErrClosed.Error()), err)
		}
		require.Zero(t, time.Since(start))
		time.Sleep(time.Hour) // The driver returns.
		require.Len(t, l.sent(), 1)
	})
}

// TestRenewalsAndPanic: a panic of the driver is an error, and the next renewal is sent.
func TestRenewalsAndPanic(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &cluster{link{do: func(context.Context, backend.Call) (backend.Reply, error) { panic("hook") }}, 1}
		runner := &dispatch.Runner{Dispatcher: open(t, l), Contained: true}
		for range 2 {
			waiting, _ := runner.Waiting(1, time.Second, time.Hour)
			_, err := waiting.Run(t.Context(), write, []string{"k"}, nil)
			require.ErrorContains(t, err, "panic in the driver: hook")
		}
	})
}
