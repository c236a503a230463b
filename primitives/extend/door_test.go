package extend_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// What follows is the package comment's example.

type Door struct {
	object extend.Object
	want   extend.WaitSpec
}

func NewDoor(client *primitives.Client, name string) *Door {
	d := &Door{object: client.Core().NewObject("door", name, "string")}
	d.want = extend.WaitSpec{
		Channel:   extend.SideName("door", d.object.Key()),
		FreeUnits: func(string) int { return extend.AllUnits }, // An open door admits all waiters.
	}
	return d
}

func (d *Door) Open(ctx context.Context) error {
	_, err := extend.Call(ctx, &d.object, d.object.Validate(), "open", func() (bool, error) {
		publish := d.object.Core().Capabilities().Publish()
		return DoorOpen(ctx, d.object.Runner(), d.object.Key(), publish, d.want.Channel)
	})
	return err
}

func (d *Door) Wait(ctx context.Context) error {
	_, err := extend.Call(ctx, &d.object, d.object.Validate(), "wait for", func() (bool, error) {
		return true, d.object.Wait(ctx, d.want, d)
	})
	return err
}

func (d *Door) Try(ctx context.Context) (extend.Answer, error) {
	open, err := DoorIsOpen(ctx, d.object.Runner(), d.object.Key())
	return extend.Answer{Granted: open, Free: extend.AllUnits}, err
}

// DoorOpen and DoorIsOpen are what luagen would make of two scripts.

var (
	doorOpen   = backend.NewScript("door_open", "-- what fakeServer does", 1, backend.RetryNever)
	doorIsOpen = backend.NewScript("door_is_open", "-- what fakeServer does", 1, backend.RetryReadOnly)
)

func DoorOpen(ctx context.Context, r backend.ScriptRunner, door, publish, opened string) (bool, error) {
	reply, err := r.Run(ctx, doorOpen, []string{door}, []string{publish, opened})
	return isOne(reply), err
}

func DoorIsOpen(ctx context.Context, r backend.ScriptRunner, door string) (bool, error) {
	reply, err := r.Run(ctx, doorIsOpen, []string{door}, nil)
	return isOne(reply), err
}

func isOne(reply backend.Reply) bool {
	n, err := reply.Int()
	return err == nil && n == 1
}

// TestPackageComment: its example is the code above.
func TestPackageComment(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	code, err := os.ReadFile("door_test.go")
	require.NoError(t, err)
	var example strings.Builder
	for line := range strings.Lines(string(comment)) {
		if block, indented := strings.CutPrefix(line, "//\t"); indented {
			example.WriteString(block)
		} else if line == "//\n" && example.Len() > 0 {
			example.WriteString("\n")
		}
	}
	require.Contains(t, string(code), strings.TrimSpace(example.String()))
}

// fakeServer does in Go what the scripts of a door do.
type fakeServer struct {
	mu       sync.Mutex
	open     bool
	handlers []backend.Handler
}

// Run implements [backend.ScriptRunner].
func (s *fakeServer) Run(_ context.Context, script *backend.Script, _, _ []string) (backend.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case script == doorOpen:
		s.open = true
		for _, handler := range s.handlers {
			handler(backend.Event{Kind: backend.EventMessage, Payload: "open"})
		}
	case !s.open:
		return backend.IntegerReply(0), nil
	}
	return backend.IntegerReply(1), nil
}

// Subscribe implements [backend.Subscriber].
func (s *fakeServer) Subscribe(_ context.Context, _ string, handler backend.Handler) (backend.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, handler)
	return forever{}, nil
}

func (*fakeServer) Capabilities() backend.Capabilities { return backend.Capabilities{PubSub: true} }

func (*fakeServer) Close() error { return nil }

type forever struct{}

func (forever) Cancel() {}

// TestDoor has two waiters on one client, and another that gives up. A waiter without a message waits for an hour.
func TestDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := primitives.New(&fakeServer{}, &primitives.Options{PollInterval: time.Hour})
		require.NoError(t, err)
		door, got := NewDoor(client, "x"), make(chan error, 2)
		wait := func() { got <- door.Wait(t.Context()) }
		go wait()
		go wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = door.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, `wait for door "x": context deadline exceeded`)
		require.Empty(t, got)
		start := time.Now()
		require.NoError(t, door.Open(t.Context()))
		require.NoError(t, <-got)
		require.NoError(t, <-got)
		require.Less(t, time.Since(start), time.Second)
		require.NoError(t, client.Close(t.Context()))
		require.ErrorIs(t, door.Open(t.Context()), backend.ErrClosed)
	})
}
