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
		var got log
		subscribe(t, hub, "x", got.handle)
		settle(time.Minute)
		require.Empty(t, got.take())
		require.InDelta(t, 60/4, f.asked.Load(), 1, "at the pace of pings")
		left.Store(true)
		settle(5 * time.Second)
		require.Equal(t, []string{"gap"}, got.take())
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
		var got log
		subscribe(t, hub, "x", got.handle)
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
		var got log
		subscribe(t, hub, "x", got.handle)
		settle(time.Minute)
		require.Equal(t, []string{"gap"}, got.take())
	})
}
