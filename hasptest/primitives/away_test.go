package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

var errDial = errors.New("connection refused")

// dialing is a link that refuses calls while it is down, and offers them again for 3 s, as adapters do.
type dialing struct {
	*embedded.Backend

	down    atomic.Bool
	silent  atomic.Bool  // it does not answer
	patient atomic.Int32 // calls for the lock busy that may be offered again
}

func newDialing(t *testing.T, s *embedded.Server) *dialing {
	t.Helper()
	return &dialing{Backend: must(embedded.New(s, nil))(t)}
}

func (d *dialing) client(t *testing.T, opts *primitives.Options) *primitives.Client {
	t.Helper()
	c := must(primitives.NewClosing(d, opts))(t)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return c
}

func (d *dialing) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	var all sync.WaitGroup
	for place, c := range calls {
		all.Go(func() {
			if !c.Script.FailFast && c.Keys[0] == "busy" {
				d.patient.Add(1)
			}
			if err := d.dial(ctx, c); err != nil {
				report(place, backend.Outcome{Err: err})
				return
			}
			d.Backend.RunBatch(ctx, []backend.Call{c}, func(_ int, o backend.Outcome) { report(place, o) })
		})
	}
	all.Wait()
}

func (d *dialing) dial(ctx context.Context, c backend.Call) error {
	for began := time.Now(); d.down.Load(); {
		c.Claim.NotSent(errDial)
		if c.Script.FailFast || time.Since(began) >= 3*time.Second || ctx.Err() != nil {
			return fmt.Errorf("%w: %w", backend.ErrUnavailable, errDial)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if !c.Claim.Begin() {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, context.Canceled)
	}
	if d.silent.Load() {
		<-ctx.Done()
		return backend.Indeterminate(ctx.Err())
	}
	return nil
}

// TestLocksWhileTheServerIsAway: the first acquire takes the backend's time, the next fails at once. Leases are renewed,
// waiters wait on, and a release is sent, and ends the absence.
func TestLocksWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := embedded.NewServer()
		link, other := newDialing(t, s), newDialing(t, s).client(t, nil)
		client := link.client(t, nil)
		held := must(client.NewLock("held", nil).Lock(t.Context()))(t)
		busy := must(other.NewLock("busy", nil).Lock(t.Context()))(t)
		granted := make(chan error)
		go func() {
			_, err := client.NewLock("busy", nil).Lock(t.Context())
			granted <- err
		}()
		synctest.Wait()

		link.down.Store(true)
		try := func() time.Duration {
			began := time.Now()
			_, err := client.NewLock("x", nil).TryLock(t.Context())
			require.ErrorIs(t, err, primitives.ErrUnavailable)
			require.ErrorContains(t, err, `acquire lock "x": `)
			require.ErrorIs(t, err, errDial)
			return time.Since(began)
		}
		require.Equal(t, 3*time.Second, try())
		require.Less(t, try(), 10*time.Millisecond)
		before := link.patient.Load()
		require.NoError(t, busy.Release(t.Context()))
		time.Sleep(14 * time.Second)
		require.Less(t, try(), 10*time.Millisecond)
		require.Greater(t, link.patient.Load(), before+2, "the waiter tries on")

		link.down.Store(false)
		require.NoError(t, <-granted)
		require.NoError(t, held.Err())
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, errOf(client.NewLock("x", nil).TryLock(t.Context())))
	})
}

// TestShortOutageFailsNoLock: a server that is down for half a second, at any time, fails no acquire and no release.
func TestShortOutageFailsNoLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		link := newDialing(t, embedded.NewServer())
		client := link.client(t, &primitives.Options{WatchdogLease: time.Second})
		kept := must(client.NewLock("kept", nil).Lock(t.Context()))(t)
		for range 100 {
			time.Sleep(1017 * time.Millisecond)
			link.down.Store(true)
			time.AfterFunc(500*time.Millisecond, func() { link.down.Store(false) })
			for range 20 {
				require.NoError(t, must(client.NewLock("x", nil).TryLock(t.Context()))(t).Release(t.Context()))
				time.Sleep(13 * time.Millisecond)
			}
		}
		require.NoError(t, kept.Err())
	})
}
