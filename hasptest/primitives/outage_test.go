package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// down is what a call gets while there is no server.
var down = fault{err: backend.ErrUnavailable}

// readerOnly is what a call gets while a server takes no writes.
func readerOnly(code string) fault {
	return fault{err: &backend.ServerError{Code: code, Message: "for now"}}
}

// TestLockWaitsThroughAnOutage has no server for a minute, or loses all replies, while a lock is waited for. The waiter goes
// on as the same owner, or as another one, which has another channel: an owner that the server may know is not used again.
func TestLockWaitsThroughAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   string
		outage fault
	}{
		"Down": {"Lock", down}, "RepliesLost": {"Lock", fault{broken: true}}, "MemoryFull": {"Lock", readerOnly("OOM")},
		"DiskFull": {"Lock", readerOnly("MISCONF")}, "ReplicasGone": {"Lock", readerOnly("NOREPLICAS")},
		"FairDown": {"FairLock", down}, "FairRepliesLost": {"FairLock", fault{broken: true}},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			owners := map[string]bool{}
			s.seen = func(script string, _, args []string) {
				if strings.HasSuffix(script, "_acquire") {
					owners[args[0]] = true
				}
			}
			s.hold("x", another, 30*time.Second)
			time.AfterFunc(time.Second, func() { s.faults(c.outage) })
			time.AfterFunc(time.Minute, func() { s.faults(fault{}) })
			start := time.Now()
			lease := must(acquirer(t, s.client(t, nil), c.kind, "x")(t.Context()))(t)
			require.Greater(t, time.Since(start), 59*time.Second)
			require.Less(t, time.Since(start), 2*time.Minute)
			require.Equal(t, lease.Owner(), s.holder("x"))
			require.Equal(t, c.outage != down, len(owners) > 1) //nolint:testifylint // Not all in the message.
			time.Sleep(time.Hour)
			require.Empty(t, s.waiting())
			require.Zero(t, s.subscribed())
			require.NoError(t, lease.Release(t.Context()))
			s.requireFree(t) // What was taken without a reply is given back.
		})
	}
}

// TestLockWaitsThroughLateGrants has the answers of a server come after the leases that they grant have ended.
func TestLockWaitsThroughLateGrants(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewLock("x", &primitives.LockOptions{Lease: 5 * time.Second})
		require.NoError(t, errOf(lock.Lock(t.Context())))
		time.AfterFunc(time.Second, func() { s.faults(fault{after: 6 * time.Second}) })
		time.AfterFunc(time.Minute, func() { s.faults(fault{}) })
		start := time.Now()
		lease := must(lock.Lock(t.Context()))(t)
		require.Greater(t, time.Since(start), 50*time.Second)
		require.Equal(t, lease.Owner(), s.holder("x"))
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestCloseWithoutABound closes a client under a context that cannot end, while no release succeeds. Close repeats the
// release for one lease, and returns when the server has let the lease expire. Permits have no lease: for them it waits until
// a server takes them, however long that is.
func TestCloseWithoutABound(t *testing.T) {
	t.Parallel()
	const lease, lastTry = time.Minute, 6 * time.Second // A release is awaited for 5 s, after a pause of 500 ms.
	for name, c := range map[string]struct {
		outage         fault
		permits, least time.Duration
	}{
		"Down": {down, 0, lease}, "RepliesLost": {fault{broken: true}, 0, lease}, "Silent": {fault{lost: true}, 0, lease},
		"Permits": {fault{err: backend.ErrUnavailable, before: time.Millisecond}, 5 * time.Minute, 5 * time.Minute},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			client := must(primitives.New(s, nil))(t)
			require.NoError(t, errOf(client.NewLock("x", &primitives.LockOptions{Lease: lease}).Lock(t.Context())))
			s.faults(c.outage)
			if c.permits > 0 {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, client.NewSemaphore("s", nil).Release(ended, 1), primitives.ErrIndeterminate)
				time.AfterFunc(c.permits, func() { s.faults(fault{}) })
			}
			start := time.Now()
			require.NoError(t, client.Close(context.Background()))
			require.GreaterOrEqual(t, time.Since(start), c.least)
			require.Less(t, time.Since(start), c.least+lastTry)
			require.Empty(t, s.holder("x"))
			time.Sleep(time.Minute) // What is under way arrives.
			require.Equal(t, c.permits > 0, s.permits("s") == "1")
		})
	}
}

// unsent is a server whose driver finds no connection for releases of permits until some time.
type unsent struct {
	*server
	until time.Time
}

// RunBatch implements backend.Batcher.
func (u unsent) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	for place, c := range calls {
		if c.Script.Name == "semaphore_add" {
			c.Claim.NotSent(nil)
			time.Sleep(time.Until(u.until))
			if !c.Claim.Begin() {
				report(place, backend.Outcome{Err: context.Canceled})
				continue
			}
		}
		reply, err := u.Run(ctx, c.Script, c.Keys, c.Args)
		report(place, backend.Outcome{Reply: reply, Err: err})
	}
}

// TestReleaseWaitsForAConnection releases a permit under a context that has ended, while the driver
// finds no connection for longer than anybody waits for one: it is put back once there is one, once.
func TestReleaseWaitsForAConnection(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		u := unsent{server: s, until: time.Now().Add(31 * time.Second)}
		client := must(primitives.New(u, nil))(t)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, client.NewSemaphore("s", nil).Release(ended, 1), primitives.ErrIndeterminate)
		time.Sleep(30 * time.Second)
		require.Empty(t, s.permits("s"))
		time.Sleep(2 * time.Minute)
		require.Equal(t, "1", s.permits("s"))
		require.NoError(t, client.Close(t.Context()))
	})
}

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
		granted := beside(func() error { return errOf(client.NewLock("busy", nil).Lock(t.Context())) })
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
