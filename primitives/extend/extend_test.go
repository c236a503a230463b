package extend_test

import (
	"context"
	"errors"
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
	latency  time.Duration
	err      error // in place of replies
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

func (s *fakeServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *fakeServer) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holders)
}

func (s *fakeServer) called(script string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[script]
}

// Run implements [backend.ScriptRunner]. A call takes as long as the latency says, whatever becomes of
// ctx.
func (s *fakeServer) Run(
	_ context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	var latency time.Duration
	s.set(func() { latency = s.latency })
	time.Sleep(latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[script.Name]++
	if s.err != nil && script.Name != "object_kind" {
		return backend.Reply{}, s.err
	}
	return s.execute(script.Name, keys, args), nil
}

func (s *fakeServer) execute(script string, keys, args []string) backend.Reply {
	done := false
	switch script {
	case "object_kind":
		return backend.StringReply("zset")
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
	late   chan bool // what HandleLate has got
}

var (
	seatTake  = backend.NewScript("seat_take", "-- what fakeServer does", 1, backend.RetryNever)
	seatLeave = backend.NewScript("seat_leave", "-- what fakeServer does", 1, backend.RetryNever)
	seatRenew = backend.NewScript("seat_renew", "-- what fakeServer does", 1, backend.RetryRepeatable)
)

func newSeat(t *testing.T, client *primitives.Client) *seat {
	t.Helper()
	s := &seat{object: client.Core().NewObject("seat", "x", "hash"), late: make(chan bool, 1)}
	s.object = s.object.WithSideKey("list", extend.SideName("list", s.object.Key()))
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
	return 7, extend.Answer{Granted: true}, err // Beside an error nobody reads it.
}

func (s *seat) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	reply, err := r.Run(ctx, seatLeave, []string{s.object.Key()}, []string{owner})
	return isOne(reply), err
}

// HandleLate implements [extend.LateHandler].
func (s *seat) HandleLate(r backend.ScriptRunner) {
	left, err := s.Release(context.Background(), r, "somebody:1")
	s.late <- left && err == nil
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

// TestManyOwners hold one object, and each gives back what is its own: by Release, by its end of waiting,
// with the client.
func TestManyOwners(t *testing.T) {
	virtual(t, func(t *testing.T, s *fakeServer, client *primitives.Client) {
		seat := newSeat(t, client)
		var leases []*lease.Lease
		for range 3 {
			lease, err := seat.take(t.Context())
			require.NoError(t, err)
			leases = append(leases, lease)
		}
		s.set(func() { s.latency = 10 * time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := seat.take(ctx)
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		require.ErrorContains(t, err, `take seat "x": `)
		s.set(func() { s.latency = 0 })
		time.Sleep(time.Minute)
		require.Equal(t, 3, s.taken())
		require.NoError(t, leases[0].Release(t.Context()))
		require.Equal(t, 2, s.taken())
		require.NoError(t, client.Close(t.Context()))
		require.Zero(t, s.taken())
		require.ErrorIs(t, leases[1].Err(), backend.ErrClosed)
	})
}

// TestNothingIsReleasedThatSurelyWasNotTaken gets an error after the caller has left which says that the
// request was not executed.
func TestNothingIsReleasedThatSurelyWasNotTaken(t *testing.T) {
	virtual(t, func(t *testing.T, s *fakeServer, client *primitives.Client) {
		s.latency, s.err = 100*time.Millisecond, backend.ErrUnavailable
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := newSeat(t, client).take(ctx)
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.called("seat_take"))
		require.Zero(t, s.called("seat_leave"))
	})
}

// TestRequestOfACallerWhoLeft goes to its LateHandler, which Close waits for.
func TestRequestOfACallerWhoLeft(t *testing.T) {
	virtual(t, func(t *testing.T, s *fakeServer, client *primitives.Client) {
		seat := newSeat(t, client)
		s.holders["somebody:1"], s.latency = true, 500*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		request := extend.Request{Object: &seat.object, Late: seat}
		_, err := extend.Call(ctx, &seat.object, nil, "leave", func() (bool, error) {
			return seat.Release(ctx, &request, "somebody:1")
		})
		require.ErrorIs(t, err, backend.ErrIndeterminate)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, client.Close(t.Context()))
		require.True(t, <-seat.late)
	})
}

// TestCallExplains what a server's reply means, and keeps what it does not know.
func TestCallExplains(t *testing.T) {
	virtual(t, func(t *testing.T, s *fakeServer, client *primitives.Client) {
		for want, c := range map[string]struct{ err, is error }{
			"key is in use by something else: the key \"x\" of this seat holds a zset": {
				&backend.ServerError{Code: "WRONGTYPE"}, extend.ErrConflict},
			"key is in use by something else: the list \"list:{x}\" of this seat holds a text that is no such number": {
				&backend.ServerError{Code: "NOTANUMBER"}, extend.ErrConflict},
			"number out of range": {&backend.ServerError{Code: "OVERFLOW"}, backend.ErrOverflow},
			"no room":             {&backend.ServerError{Code: "OVERFLOW", Message: "no room"}, backend.ErrOverflow},
			"refused":             {errors.New("refused"), nil},
		} {
			s.set(func() { s.err = c.err })
			_, err := newSeat(t, client).take(t.Context())
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
				require.ErrorIs(t, err, c.err)
			}
			require.EqualError(t, err, `take seat "x": `+want)
		}
		s.set(func() { s.err = nil })
	})
}

// TestCallFindsTheKeyInConflict among those of an object, by their types.
func TestCallFindsTheKeyInConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newFakeServer().client(t)
		object := client.Core().NewObject("door", "x", "zset").
			WithTypedKey("set", "set:{x}", "zset").WithTypedKey("queue", "queue:{x}", "list")
		_, err := extend.Call(t.Context(), &object, nil, "open", func() (int, error) {
			return 0, &backend.ServerError{Code: "WRONGTYPE"}
		})
		require.ErrorIs(t, err, extend.ErrConflict)
		require.ErrorContains(t, err, `the queue "queue:{x}" of this door holds a zset`)
	})
}

// TestCallSendsNothing if it is invalid, or too late.
func TestCallSendsNothing(t *testing.T) {
	t.Parallel()
	client := newFakeServer().client(t)
	object := client.Core().NewObject("door", "", "string")
	never := func() (int, error) {
		t.Error("it was run")
		return 1, nil
	}
	n, err := extend.Call(t.Context(), &object, object.Validate(), "open", never)
	require.EqualError(t, err, `open door "": name: empty`)
	require.Zero(t, n)
	late := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	_, err = extend.Call(ctx, &object, nil, "open", never)
	require.ErrorIs(t, err, late)
	require.ErrorIs(t, err, context.Canceled)
}

// TestGoIsAwaitedByClose, and does nothing afterwards.
func TestGoIsAwaitedByClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newFakeServer().client(t)
		seat, done := newSeat(t, client), false
		seat.object.Go(func(ctx context.Context, r backend.ScriptRunner) {
			time.Sleep(time.Second)
			_, err := seat.Release(ctx, r, "nobody")
			done = err == nil
		})
		require.NoError(t, client.Close(t.Context()))
		require.True(t, done)
		seat.object.Go(func(context.Context, backend.ScriptRunner) { t.Error("it was run") })
		synctest.Wait()
	})
}
