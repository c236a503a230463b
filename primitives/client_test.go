package primitives_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// deaf is a backend that ends no call early, whatever its context says.
type deaf struct{ *fakeServer }

func (d deaf) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return d.fakeServer.Run(context.WithoutCancel(ctx), script, keys, args)
}

func (d deaf) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	time.Sleep(time.Hour)
	return d.fakeServer.Subscribe(ctx, channel, handler)
}

// TestClientCloseIsBoundedWhateverTheBackendDoes closes a client with a renewal and a subscription
// under way that take an hour.
func TestClientCloseIsBoundedWhateverTheBackendDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		client, err := primitives.New(deaf{s}, nil)
		require.NoError(t, err)
		lease, err := client.NewLock("x", nil).Lock(t.Context())
		require.NoError(t, err)
		s.fault = func(script string) fault {
			if script == "lock_renew" {
				return fault{before: time.Hour}
			}
			return fault{}
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := client.NewLock("x", nil).Lock(t.Context())
			waiting <- err
		}()
		time.Sleep(15 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- client.Close(ctx) }()
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
	s := newFakeServer()
	client, err := primitives.New(s, &primitives.Options{
		PollInterval: time.Hour, WatchdogLease: time.Hour,
	})
	require.NoError(t, err)
	lease, err := client.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	waiting := make(chan error, 2)
	wait := func() {
		_, err := client.NewLock("x", nil).Lock(t.Context())
		waiting <- err
	}
	go wait()
	tried := func(times int) func() bool {
		return func() bool { return s.called("lock_acquire") == times }
	}
	require.Eventually(t, tried(3), time.Minute, time.Millisecond)
	s.set(func() { s.fault = func(string) fault { return fault{before: 100 * time.Millisecond} } })
	go wait()
	require.Eventually(t, tried(4), time.Minute, time.Millisecond)
	require.NoError(t, client.Close(t.Context()))
	require.ErrorIs(t, <-waiting, primitives.ErrClosed)
	require.ErrorIs(t, <-waiting, primitives.ErrClosed)
	require.ErrorIs(t, lease.Unlock(t.Context()), primitives.ErrClosed)
	forgotten := weak.Make(s) // All of a client knows its backend.
	require.Eventually(t, func() bool {
		runtime.GC()
		return forgotten.Value() == nil
	}, time.Minute, 10*time.Millisecond)
}
