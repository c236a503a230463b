package primitives_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// ignoresContext is a backend whose calls go on after their contexts have ended.
type ignoresContext struct{ *server }

func (d ignoresContext) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return d.server.Run(context.WithoutCancel(ctx), script, keys, args)
}

func (d ignoresContext) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	time.Sleep(time.Hour)
	return d.server.Subscribe(ctx, channel, handler)
}

// TestClientCloseIsBoundedWhateverTheBackendDoes closes a client with a renewal and a subscription
// under way that take an hour.
func TestClientCloseIsBoundedWhateverTheBackendDoes(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		client := must(primitives.New(ignoresContext{s}, nil))(t)
		lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
		s.faultOf("lock_renew", fault{before: time.Hour})
		waiting := beside(func() error { return errOf(client.NewLock("x", nil).Lock(t.Context())) })
		time.Sleep(15 * time.Second)
		ctx := within(t, time.Second)
		start := time.Now()
		closed := beside(func() error { return client.Close(ctx) })
		synctest.Wait()
		require.ErrorIs(t, <-waiting, primitives.ErrClosed)
		require.ErrorIs(t, lease.Err(), primitives.ErrClosed)
		require.Empty(t, s.holder("x"))
		require.Zero(t, time.Since(start))
		require.ErrorIs(t, <-closed, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		time.Sleep(3 * time.Hour) // What is under way ends.
		require.Zero(t, s.subscribed())
	})
}

// TestClientClosedIsForgotten closes a client with waiters parked and trying, and looks for timers
// and goroutines that keep it alive.
func TestClientClosedIsForgotten(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	client, err := primitives.New(s, &primitives.Options{
		PollInterval: time.Hour, WatchdogLease: time.Hour,
	})
	require.NoError(t, err)
	lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
	wait := func() error { return errOf(client.NewLock("x", nil).Lock(t.Context())) }
	parked := beside(wait)
	tried := func(times int) func() bool { return func() bool { return s.called("lock_acquire") == times } }
	require.Eventually(t, tried(3), time.Minute, time.Millisecond)
	s.faults(fault{before: 100 * time.Millisecond})
	trying := beside(wait)
	require.Eventually(t, tried(4), time.Minute, time.Millisecond)
	require.NoError(t, client.Close(t.Context()))
	require.ErrorIs(t, <-parked, primitives.ErrClosed)
	require.ErrorIs(t, <-trying, primitives.ErrClosed)
	require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrClosed)
	forgotten := weak.Make(s) // All of a client knows its backend.
	require.Eventually(t, func() bool {
		runtime.GC()
		return forgotten.Value() == nil
	}, time.Minute, 10*time.Millisecond)
}

// TestClientCloseAmidAll closes clients while leases are shared, re-entered, looked at, released
// twice and lost: nothing may be left, and every error must say what happened.
func TestClientCloseAmidAll(t *testing.T) {
	t.Parallel()
	schedules := uint64(200)
	if testing.Short() {
		schedules = 50
	}
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) { closeAmidAll(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func closeAmidAll(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))    //nolint:gosec // A test's schedule.
	faults := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // A test's schedule.
	s := newServer(t)
	s.fault = func(string) fault {
		return fault{
			before: time.Duration(faults.IntN(20)) * time.Millisecond,
			after:  time.Duration(faults.IntN(20)) * time.Millisecond,
			broken: faults.IntN(20) == 0,
		}
	}
	client := s.client(t, &primitives.Options{WatchdogLease: 300 * time.Millisecond})
	var all sync.WaitGroup
	for range 6 {
		name, opts := strconv.Itoa(rng.IntN(3)), &primitives.LockOptions{}
		if rng.IntN(3) == 0 {
			opts.Lease = 150 * time.Millisecond
		}
		hold := time.Duration(rng.IntN(200)) * time.Millisecond
		all.Go(func() {
			for useOften(t, client.NewLock(name, opts), hold) {
			}
		})
	}
	time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	require.NoError(t, client.Close(t.Context()))
	all.Wait()
	require.Zero(t, s.subscribed())
	for name := range 3 {
		require.Empty(t, s.holder(strconv.Itoa(name)))
	}
}

// useOften uses a lock from several goroutines at once. It reports false once its client is closed.
func useOften(t *testing.T, lock *primitives.Lock, hold time.Duration) bool {
	t.Helper()
	lease, err := lock.Lock(t.Context())
	if err != nil {
		return !errors.Is(err, primitives.ErrClosed)
	}
	var all sync.WaitGroup
	reentry := lease.Reenter(t.Context())
	for range 3 {
		all.Go(func() {
			inner, err := lock.Lock(reentry)
			if err != nil {
				return
			}
			work := inner.Context(t.Context())
			select {
			case <-work.Done():
			case <-time.After(hold):
			}
			checkEnd(t, inner, inner.Release(t.Context()))
			<-work.Done()
			checkEnd(t, inner, context.Cause(work))
		})
	}
	time.Sleep(hold)
	checkEnd(t, lease, lease.Release(t.Context()))
	all.Wait()
	return true
}

// checkEnd checks that an error of an ended lease has the reason for which it ended.
func checkEnd(t *testing.T, lease *primitives.Lease, err error) {
	t.Helper()
	if err == nil || errors.Is(err, backend.ErrIndeterminate) {
		return
	}
	if end := lease.Err(); end == nil || !errors.Is(err, end) &&
		!errors.Is(err, primitives.ErrLost) && !errors.Is(err, primitives.ErrClosed) {
		t.Errorf("the lease ended by %v, the error is %v", end, err)
	}
}

// closableServer notes who held the lock x when it was closed. Its Close takes a second, and fails.
type closableServer struct {
	*server
	closes []string // the holders of the lock then
}

var errBackendClose = errors.New("close backend")

// Close implements backend.Backend.
func (c *closableServer) Close() error {
	c.closes = append(c.closes, c.holder("x"))
	time.Sleep(time.Second)
	return errBackendClose
}

// TestClientClosesItsOwnBackend closes a client twice at a time. The backend is closed once, after the
// releases, and only if the client owns it. Both calls return its error.
func TestClientClosesItsOwnBackend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owns, down bool
		want       []error
	}{
		"Shared":  {},
		"Owned":   {owns: true, want: []error{errBackendClose}},
		"GivenUp": {owns: true, down: true, want: []error{errBackendClose, context.DeadlineExceeded}},
	} {
		subtest(t, name, func(t *testing.T, of *server) {
			s := &closableServer{server: of}
			news := map[bool]func(backend.Backend, *primitives.Options) (*primitives.Client, error){
				false: primitives.New, true: primitives.NewClosing,
			}
			client := must(news[c.owns](s, nil))(t)
			lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
			if c.down {
				s.faults(down)
			}
			ctx := within(t, 5*time.Second)
			first := beside(func() error { return client.Close(ctx) })
			synctest.Wait()
			err := client.Close(context.Background())
			require.Equal(t, err, <-first)
			time.Sleep(time.Minute) // What is under way arrives.
			require.Equal(t, c.want == nil, err == nil, "%v", err)
			for _, want := range c.want {
				require.ErrorIs(t, err, want)
			}
			var closes []string
			switch {
			case c.down:
				closes = []string{lease.Owner()}
			case c.owns:
				closes = []string{""}
			}
			require.Equal(t, closes, s.closes)
		})
	}
}

// TestNewClosesItsOwnBackend makes clients with bad options: nothing is left open.
func TestNewClosesItsOwnBackend(t *testing.T) {
	t.Parallel()
	for _, bad := range []primitives.Options{{WatchdogLease: 1}, {TokenTTL: 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := &closableServer{server: newServer(t)}
			require.ErrorAs(t, errOf(primitives.New(s, &bad)), new(*primitives.FieldError))
			require.Empty(t, s.closes, "it is the caller's")
			_, err := primitives.NewClosing(s, &bad)
			require.ErrorAs(t, err, new(*primitives.FieldError))
			require.ErrorIs(t, err, errBackendClose)
			require.Len(t, s.closes, 1)
			require.ErrorAs(t, errOf(primitives.NewClosing(nil, &bad)), new(*primitives.FieldError))
		})
	}
}
