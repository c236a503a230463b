package repro

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

var incr = backend.NewScript("incr", "return redis.call('incr', KEYS[1])", 1, backend.RetryNever)

// The driver's client is closed before the backend, as a wrong order of defers does. A call that
// begins then is surely not sent: it fails at once, with an error that is the same for all drivers.
func TestCloseAfterTheDriver(t *testing.T) {
	cells.Proof(t)
	side(t, func(t *testing.T, a cells.Adapter) {
		closeAfterTheDriver(t, servers.Start(t, servers.Redis, nil), a)
		// Given the address of a cluster's node, rueidis and valkey-go make another kind of client.
		c := servers.StartCluster(t, servers.Redis, 3, nil)
		owner, err := c.Owner(backend.Slot("n"))
		require.NoError(t, err)
		closeAfterTheDriver(t, c.Nodes[owner], a)
	})
}

// opened returns an instance that the test closes.
func opened(t *testing.T, s *servers.Server, a cells.Adapter) *conformance.Instance {
	t.Helper()
	in, err := a.Open(t.Context(), cells.At(s.Addr()))
	require.NoError(t, err)
	_, err = in.Backend.Run(t.Context(), incr, []string{"n"}, nil)
	require.NoError(t, err)
	return in
}

func closeAfterTheDriver(t *testing.T, s *servers.Server, a cells.Adapter) {
	t.Helper()
	in := opened(t, s, a)
	in.Close()
	require.Eventually(t, func() bool { // The drivers close each of a cluster's connections in the background.
		errs := incrEachWay(t, in.Backend)
		return !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, backend.ErrClosed) })
	}, 10*time.Second, time.Millisecond)
	ran := cells.Text(t, s, "GET", "n")
	began := time.Now()
	for range 3 {
		for _, err := range incrEachWay(t, in.Backend) {
			requireClosed(t, err)
		}
	}
	require.Less(t, time.Since(began), 2*time.Second, "it was tried again")
	require.Equal(t, ran, cells.Text(t, s, "GET", "n"))
	require.NoError(t, in.Backend.Close())
}

// incrEachWay runs a script alone, in a batch, and before a wait for replicas. It returns the errors.
func incrEachWay(t *testing.T, b backend.Backend) []error {
	t.Helper()
	call := backend.Call{Script: incr, Keys: []string{"n"}}
	_, alone := b.Run(t.Context(), incr, call.Keys, nil)
	_, _, waited := b.(backend.ReplicaWaiter).RunThenWait(t.Context(), call, 0, time.Second)
	errs := []error{alone, waited}
	for _, outcome := range backend.RunAll(t.Context(), b.(backend.Batcher), []backend.Call{call, call}) {
		errs = append(errs, outcome.Err)
	}
	return errs
}

func requireClosed(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, backend.ErrClosed)
	require.NotErrorIs(t, err, backend.ErrUnavailable)
	require.False(t, backend.MayHaveRun(err))
}

// The client is closed while calls are in flight on a server that stands still. Those that it has
// got run later: none of them may be reported as one that was not sent.
func TestCloseOfTheDriverInFlight(t *testing.T) {
	cells.Proof(t)
	side(t, func(t *testing.T, a cells.Adapter) {
		const calls = 20
		s := servers.Start(t, servers.Redis, nil)
		in := opened(t, s, a)
		require.NoError(t, s.Pause())
		errs := make(chan error, calls)
		for range calls {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := in.Backend.Run(ctx, incr, []string{"n"}, nil)
				errs <- err
			}()
		}
		time.Sleep(200 * time.Millisecond) // The calls are in flight, or are not: both must be right.
		in.Close()
		require.NoError(t, s.Resume())
		unsent, unknown := 0, 0
		for range calls {
			switch err := <-errs; {
			case err == nil:
			case backend.MayHaveRun(err):
				unknown++
			default:
				requireClosed(t, err)
				unsent++
			}
		}
		ran := cells.Number(t, s, "GET", "n") - 1
		t.Logf("%d of %d calls ran; %d unknown, %d not sent", ran, calls, unknown, unsent)
		require.LessOrEqual(t, ran, calls-unsent, "a call that was not sent ran")
		require.Positive(t, unknown+ran, "no call was in flight")
		require.NoError(t, in.Backend.Close())
	})
}

// TestSecondCloseDoesNotWait calls Close twice, as a defer and a signal's handler do, while a release
// takes 300 ms.
func TestSecondCloseDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := embedded.NewServer()
		r := &cells.Runner{Backend: backendOf(t, server)}
		var releases atomic.Int64
		r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if strings.Contains(c.Script.Name, "release") {
				releases.Add(1)
				time.Sleep(300 * time.Millisecond)
			}
			return r.Good(ctx, c)
		}
		c := cells.Over(t, r, nil)
		lock(t, c, "x")
		first := make(chan error, 1)
		go func() { first <- c.Close(context.Background()) }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Close(impatient), context.DeadlineExceeded)
		require.NoError(t, c.Close(context.Background()))
		require.Equal(t, "0", cells.Text(t, server, "EXISTS", "x"),
			"Close returned nil before what was held was released")
		require.NoError(t, <-first)
		require.Equal(t, int64(1), releases.Load())
	})
}

// TestCloseWithoutAServer closes a client whose server is gone, so that the reply to every release is
// lost: it once took the whole lease.
func TestCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := runner(t)
			var lost atomic.Int64
			r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if strings.Contains(c.Script.Name, "release") {
					lost.Add(1)
					return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
				}
				return r.Good(ctx, c)
			}
			c, err := primitives.New(r, nil)
			require.NoError(t, err)
			_, err = c.NewLock("x", &primitives.LockOptions{Lease: lease}).Lock(t.Context())
			require.NoError(t, err)
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err = c.Close(ctx)
			require.Equal(t, 5*time.Second, time.Since(start))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			sent := lost.Load()
			require.Positive(t, sent)
			require.Equal(t, err, c.Close(context.Background()))
			time.Sleep(48 * time.Hour)
			require.Equal(t, sent, lost.Load(), "what was given up goes on")
			require.NoError(t, r.Close())
		})
	}
}
