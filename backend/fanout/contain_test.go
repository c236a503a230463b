package fanout_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

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
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &panicky{network: newNetwork()}
				p.in.Store("")
				hub := open(t, p, nil)
				var got log
				subscribe(t, hub, "x", got.handle)
				subscribe(t, hub, "y", func(backend.Event) {}).Cancel()
				p.in.Store(call)
				p.killAll()
				settle(10 * time.Second)
				p.in.Store("")
				settle(time.Minute)
				require.Contains(t, got.take(), "gap")
				p.publish("x")
				settle(time.Second)
				require.Equal(t, []string{"1"}, got.take())
			})
		})
	}
}

func TestPanicInTheDriverIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &panicky{network: newNetwork()}
		p.in.Store("Dial")
		_, err := open(t, p, nil).Subscribe(t.Context(), "x", func(backend.Event) {})
		require.ErrorContains(t, err, "panic in the driver: hook")
	})
}
