package fanout_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

// followed is a network whose links are asked if the client has left their node.
type followed struct {
	*network
	left  func(ctx context.Context) error
	asked atomic.Int32
}

type followedLink struct {
	fanout.Link
	f *followed
}

func (f *followed) Dial(
	ctx context.Context, node string, events fanout.Events,
) (fanout.Link, error) {
	link, err := f.network.Dial(ctx, node, events)
	return followedLink{link, f}, err
}

func (l followedLink) Left(ctx context.Context) error {
	l.f.asked.Add(1)
	return l.f.left(ctx)
}

// follow runs test with a hub over a network whose links answer left.
func follow(
	t *testing.T, left func(ctx context.Context) error,
	test func(t *testing.T, f *followed, hub *fanout.Hub),
) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &followed{network: newNetwork(), left: left}
		test(t, f, open(t, f, nil))
	})
}

var errLeft = errors.New("the client has left the node")

func TestLinkOfANodeThatTheClientLeftIsLost(t *testing.T) {
	var left atomic.Bool
	follow(t, func(context.Context) error {
		if left.CompareAndSwap(true, false) {
			return errLeft
		}
		return nil
	}, func(t *testing.T, f *followed, hub *fanout.Hub) {
		got := hear(t, hub, "x")
		require.Empty(t, got.after(time.Minute))
		require.InDelta(t, 60/4, f.asked.Load(), 1, "at the pace of pings")
		left.Store(true)
		require.Equal(t, []string{"gap"}, got.after(5*time.Second))
	})
}

// Work that does not end keeps the link from resting, but not from the question.
func TestBusyLinkIsAskedToo(t *testing.T) {
	follow(t, func(context.Context) error { return nil },
		func(t *testing.T, f *followed, hub *fanout.Hub) {
			subscribe(t, hub, "x", func(backend.Event) {})
			for range 60 {
				subscribe(t, hub, "y", func(backend.Event) {}).Cancel()
				settle(time.Second)
			}
			require.GreaterOrEqual(t, f.asked.Load(), int32(12))
		})
}

func TestSlowAnswerDelaysNobody(t *testing.T) {
	var at, most atomic.Int32
	follow(t, func(ctx context.Context) error {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		<-ctx.Done()
		return nil
	}, func(t *testing.T, f *followed, hub *fanout.Hub) {
		got := hear(t, hub, "x")
		for range 30 {
			settle(time.Second)
			began := time.Now()
			subscribe(t, hub, "y", func(backend.Event) {}).Cancel()
			require.Less(t, time.Since(began), 100*time.Millisecond)
		}
		require.Positive(t, f.asked.Load())
		require.Equal(t, int32(1), most.Load(), "one at a time")
		require.Empty(t, got.take())
	})
}

func TestPanicOfTheQuestion(t *testing.T) {
	var panics atomic.Bool
	panics.Store(true)
	follow(t, func(context.Context) error {
		if panics.Swap(false) {
			panic("hook")
		}
		return nil
	}, func(t *testing.T, _ *followed, hub *fanout.Hub) {
		got := hear(t, hub, "x")
		require.Equal(t, []string{"gap"}, got.after(time.Minute))
	})
}

// panicky is a network whose calls panic by name, while that is set.
type panicky struct {
	*network
	in atomic.Value // string
}

func (p *panicky) maybe(call string) {
	if p.in.Load() == call {
		panic("hook")
	}
}

func (p *panicky) Node(ctx context.Context, channel string) (string, error) {
	p.maybe("Node")
	return p.network.Node(ctx, channel)
}

func (p *panicky) Dial(
	ctx context.Context, node string, events fanout.Events,
) (fanout.Link, error) {
	p.maybe("Dial")
	link, err := p.network.Dial(ctx, node, events)
	return panickyLink{link, p}, err
}

type panickyLink struct {
	fanout.Link
	p *panicky
}

func (l panickyLink) Subscribe(ctx context.Context, channels []string) []error {
	l.p.maybe("Subscribe")
	return l.Link.Subscribe(ctx, channels)
}

func (l panickyLink) Unsubscribe(ctx context.Context, channels []string) error {
	l.p.maybe("Unsubscribe")
	return l.Link.(fanout.Unsubscriber).Unsubscribe(ctx, channels)
}

func (l panickyLink) Close() {
	l.Link.Close()
	l.p.maybe("Close")
}

// open returns a hub that ends with the bubble, or after an hour: pings would keep a bubble going for ever in which a
// caller waits for what never comes.
func open(t *testing.T, d fanout.Dialer, opts *fanout.Options) *fanout.Hub {
	t.Helper()
	hub, err := fanout.New(d, opts)
	require.NoError(t, err)
	late := time.AfterFunc(time.Hour, hub.Close)
	t.Cleanup(func() { late.Stop(); end(hub) })
	return hub
}

// end closes hub, and waits until the links have noticed.
func end(hub *fanout.Hub) {
	hub.Close()
	settle(time.Second)
}

// A panic in driver code, such as an application's hook, costs the link and not the process.
func TestPanicInTheDriver(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Node", "Dial", "Subscribe", "Unsubscribe", "Close"} {
		synctest.Test(t, func(t *testing.T) {
			p := &panicky{network: newNetwork()}
			hub := open(t, p, nil)
			p.in.Store("Dial")
			_, err := hub.Subscribe(t.Context(), "z", func(backend.Event) {})
			require.ErrorContains(t, err, "panic in the driver: hook")
			p.in.Store("")
			got := hear(t, hub, "x")
			subscribe(t, hub, "y", func(backend.Event) {}).Cancel()
			p.in.Store(call)
			p.killAll()
			settle(10 * time.Second)
			p.in.Store("")
			require.Contains(t, got.after(time.Minute), "gap", call)
			p.publish("x")
			require.Equal(t, []string{"1"}, got.after(time.Second))
		})
	}
}
