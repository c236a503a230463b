package dispatch_test

import (
	"context"
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

// TestRenewalsWithoutReplicas get a shortage beside the script's reply.
func TestRenewalsWithoutReplicas(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &cluster{}
		r := renewals{runner: &dispatch.Runner{Dispatcher: open(t, l), Contained: true}}
		r.send(t, "few", time.Hour, backend.ErrReplicas)
		r.Wait()
		l.acked = 2
		r.send(t, "enough", time.Hour, nil)
		r.Wait()
	})
}

// TestRenewalsPassASilentConnection: a renewal that queues behind one without an answer is sent on another connection,
// after twice the timeout of the WAIT, on eight at most. Grants have their own.
func TestRenewalsPassASilentConnection(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &cluster{link{takes: time.Hour}, 1}
		d := open(t, l)
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
