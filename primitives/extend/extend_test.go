package extend_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/lease"
)

// fakeServer does in Go what the scripts of these tests do.
type fakeServer struct {
	mu       sync.Mutex
	open     map[string]bool // doors
	holders  map[string]bool // of seats, by owner
	handlers map[string][]backend.Handler
	calls    map[string]int // by script
}

func newFakeServer() *fakeServer {
	return &fakeServer{
		open: map[string]bool{}, holders: map[string]bool{},
		handlers: map[string][]backend.Handler{}, calls: map[string]int{},
	}
}

// client returns a client that is closed with the test. Who waits without a message waits for an hour.
func (s *fakeServer) client(t *testing.T) *primitives.Client {
	t.Helper()
	c, err := primitives.New(s, &primitives.Options{PollInterval: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return c
}

// virtual runs a test in virtual time, with a server and a client of it.
func virtual(t *testing.T, test func(t *testing.T, s *fakeServer, client *primitives.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		test(t, s, s.client(t))
	})
}

func (s *fakeServer) called(script string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[script]
}

// Run implements [backend.ScriptRunner].
func (s *fakeServer) Run(
	_ context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[script.Name]++
	return s.execute(script.Name, keys, args), nil
}

func (s *fakeServer) execute(script string, keys, args []string) backend.Reply {
	done := false
	switch script {
	case "door_is_open":
		done = s.open[keys[0]]
	case "door_open":
		s.open[keys[0]], done = true, true
		for _, handler := range s.handlers[args[1]] {
			handler(backend.Event{Kind: backend.EventMessage, Payload: "open"})
		}
	case "seat_take":
		s.holders[args[0]], done = true, true
	case "seat_leave":
		done = s.holders[args[0]]
		delete(s.holders, args[0])
	case "seat_renew":
		done = s.holders[args[0]]
	}
	if done {
		return backend.IntegerReply(1)
	}
	return backend.IntegerReply(0)
}

// Subscribe implements [backend.Subscriber].
func (s *fakeServer) Subscribe(
	_ context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[channel] = append(s.handlers[channel], handler)
	return forever{}, nil
}

func (*fakeServer) Capabilities() backend.Capabilities { return backend.Capabilities{PubSub: true} }

func (*fakeServer) Close() error { return nil }

type forever struct{}

func (forever) Cancel() {}

// seat is what owners hold, any number of them.
type seat struct {
	object extend.Object
	leases extend.Leases
}

var (
	seatTake  = backend.NewScript("seat_take", "-- what fakeServer does", 1, backend.RetryNever)
	seatLeave = backend.NewScript("seat_leave", "-- what fakeServer does", 1, backend.RetryNever)
	seatRenew = backend.NewScript("seat_renew", "-- what fakeServer does", 1, backend.RetryRepeatable)
)

func newSeat(t *testing.T, client *primitives.Client) *seat {
	t.Helper()
	s := &seat{object: client.Core().NewObject("seat", "x", "hash")}
	var err error
	s.leases, err = s.object.NewLeases(extend.LeaseConfig{Leasable: s, Kind: seats{}})
	require.NoError(t, err)
	return s
}

func (s *seat) take(ctx context.Context) (*lease.Lease, error) {
	return extend.Call(ctx, &s.object, nil, "take", func() (*lease.Lease, error) { return s.leases.Acquire(ctx) })
}

func (s *seat) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, _ time.Duration,
) (int64, extend.Answer, error) {
	_, err := r.Run(ctx, seatTake, []string{s.object.Key()}, []string{owner})
	return 7, extend.Answer{Granted: true}, err
}

func (s *seat) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	reply, err := r.Run(ctx, seatLeave, []string{s.object.Key()}, []string{owner})
	return isOne(reply), err
}

func isOne(reply backend.Reply) bool {
	n, err := reply.Int()
	return err == nil && n == 1
}

// seats are of one kind. Here each goes by itself.
type seats struct{}

func (seats) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, _ time.Duration,
) ([]extend.Status, error) {
	return each(ctx, r, seatRenew, keys, owners)
}

func (seats) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	return each(ctx, r, seatLeave, keys, owners)
}

func each(
	ctx context.Context, r backend.ScriptRunner, script *backend.Script, keys, owners []string,
) (statuses []extend.Status, err error) {
	for i, key := range keys {
		reply, err := r.Run(ctx, script, []string{key}, []string{owners[i]})
		if err != nil {
			return nil, err
		}
		if isOne(reply) {
			statuses = append(statuses, extend.Done)
		} else {
			statuses = append(statuses, extend.NotHeld)
		}
	}
	return statuses, nil
}

// TestForget ends leases that are renewed, without a release.
func TestForget(t *testing.T) {
	virtual(t, func(t *testing.T, s *fakeServer, client *primitives.Client) {
		held, err := newSeat(t, client).take(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 7, held.Token())
		time.Sleep(time.Minute)
		synctest.Wait() // A renewal is due at that instant.
		renewals := s.called("seat_renew")
		require.NotZero(t, renewals)
		require.NoError(t, held.Err())
		work := held.Context(t.Context())

		held.Forget()
		held.Forget()
		require.Equal(t, lease.ErrReleased, context.Cause(work))
		require.Equal(t, lease.ErrReleased, held.Err())
		require.ErrorIs(t, held.Release(t.Context()), lease.ErrNotHeld)
		time.Sleep(time.Minute)
		require.Equal(t, renewals, s.called("seat_renew"))
		require.NoError(t, client.Close(t.Context()))
		require.Zero(t, s.called("seat_leave"))
	})
}
