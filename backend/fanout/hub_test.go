package fanout_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

// bubble runs check on a hub over a fake network, in virtual time. The bubble fails if a goroutine
// is left after Close.
func bubble(
	t *testing.T, opts *fanout.Options, check func(*testing.T, *network, *fanout.Hub),
) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		hub := open(t, n, opts)
		check(t, n, hub)
		end(hub) // what is under way arrives, or the bubble panics
		subs, links := n.subscriptions()
		require.Zero(t, subs)
		require.Zero(t, links)
	})
}

// heard is bubble with what a handler of x gets.
func heard(t *testing.T, check func(*testing.T, *network, *log)) {
	t.Helper()
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		check(t, n, hear(t, hub, "x"))
	})
}

func subscribe(
	t *testing.T, hub *fanout.Hub, channel string, handler backend.Handler,
) backend.Subscription {
	t.Helper()
	s, err := hub.Subscribe(t.Context(), channel, handler)
	require.NoError(t, err)
	return s
}

// hear subscribes to a channel, and returns what a handler gets.
func hear(t *testing.T, hub *fanout.Hub, channel string) *log {
	t.Helper()
	got := new(log)
	subscribe(t, hub, channel, got.handle)
	return got
}

// settle lets d pass and everything that follows from it happen.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestEndedSubscriptionForgetsItsQueue: a handler is busy when its subscription ends, and gets nothing of what waits.
func TestEndedSubscriptionForgetsItsQueue(t *testing.T) {
	for name, end := range map[string]func(hub *fanout.Hub, s backend.Subscription){
		"Cancel": func(_ *fanout.Hub, s backend.Subscription) { s.Cancel() },
		"End":    func(_ *fanout.Hub, s backend.Subscription) { s.(backend.Ender).End() },
		"Close":  func(hub *fanout.Hub, _ backend.Subscription) { hub.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
				s, got, release := subscribeSlowly(t, hub)
				n.publish("x")
				n.publish("x")
				settle(time.Second)
				end(hub, s)
				close(release)
				require.Equal(t, []string{"1"}, got.after(time.Second))
			})
		})
	}
}

func TestSubscribeReturnsAfterTheAcknowledgement(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.delay = time.Second
		var got log
		start, second := time.Now(), make(chan time.Duration)
		time.AfterFunc(1500*time.Millisecond, func() { // SUBSCRIBE is under way.
			if _, err := hub.Subscribe(t.Context(), "x", func(backend.Event) {}); err != nil {
				t.Error(err)
			}
			second <- time.Since(start)
		})
		subscribe(t, hub, "x", got.handle)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.Equal(t, 2*time.Second, <-second)
		for range 100 {
			n.publish("x")
		}
		settle(time.Second)
		events := got.take()
		require.Len(t, events, 100)
		for i, event := range events {
			require.Equal(t, fmt.Sprint(i+1), event)
		}
	})
}

func TestCallsAreBatched(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.delay = 100 * time.Millisecond
		for i := range 500 {
			go func() { _, _ = hub.Subscribe(t.Context(), fmt.Sprint(i), func(backend.Event) {}) }()
		}
		settle(2 * time.Second)
		subs, links := n.subscriptions()
		require.Equal(t, []int{500, 1}, []int{subs, links})

		n.killAll()
		settle(2 * time.Second)
		subs, _ = n.subscriptions()
		require.Equal(t, 500, subs)
		require.Less(t, len(n.calls), 15)
	})
}

func TestCancelledSubscribeLeavesNothing(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.delay = 100 * time.Millisecond
		// In each phase: dialing, sending, waiting for the answer.
		for _, after := range []time.Duration{0, 1, 50, 99, 100, 150, 199, 200} {
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			var got log
			_, err := hub.Subscribe(ctx, "x", got.handle)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			settle(time.Second)
			if err != nil {
				subs, _ := n.subscriptions()
				require.Zero(t, subs, "cancelled after %d ms", after)
				n.publish("x")
				require.Empty(t, got.after(time.Second))
			}
		}
	})
}

func TestSubscribeWhileTheLastOneEnds(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("EarlyUnsubscribe=%t", early), func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
				n.delay, n.earlyUnsubscribe = 100*time.Millisecond, early
				for _, after := range []time.Duration{0, 1, 50, 100, 101, 150, 199, 200, 201} {
					old := subscribe(t, hub, "x", func(backend.Event) {})
					settle(time.Second)
					old.Cancel()
					time.Sleep(after * time.Millisecond)
					var got log
					s := subscribe(t, hub, "x", got.handle)
					seq := n.publish("x")
					require.Equal(t, []string{fmt.Sprint(seq)}, got.after(time.Second), "after %d ms", after)
					s.Cancel()
					settle(time.Second)
				}
			})
		})
	}
}

func TestRefusedChannelFailsAlone(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.refuse["x"] = &backend.ServerError{Code: "NOPERM", Message: "no"}
		n.delay = 100 * time.Millisecond
		go func() { subscribe(t, hub, "y", func(backend.Event) {}) }()
		start := time.Now()
		_, err := hub.Subscribe(t.Context(), "x", func(backend.Event) {})
		require.ErrorContains(t, err, `subscribe "x": NOPERM no`)
		require.LessOrEqual(t, time.Since(start), 400*time.Millisecond)
		settle(time.Second)
		subs, _ := n.subscriptions()
		require.Equal(t, 1, subs)
	})
}

// whileBusy calls each together while the hub's link has sent SUBSCRIBE for another channel, and waits for all.
func whileBusy(t *testing.T, n *network, hub *fanout.Hub, each ...func()) {
	t.Helper()
	n.delay = 100 * time.Millisecond
	go subscribe(t, hub, "busy", func(backend.Event) {})
	settle(150 * time.Millisecond)
	var all sync.WaitGroup
	for _, one := range each {
		all.Go(one)
	}
	all.Wait()
}

// The error of one channel says nothing of the other, which the same call of the link refuses.
func TestEachRefusedChannelFails(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		errs := make([]error, 3)
		var each []func()
		for i := range errs {
			channel := fmt.Sprint(i)
			n.refuse[channel] = &backend.ServerError{Code: "NOPERM", Message: channel}
			each = append(each, func() { _, errs[i] = hub.Subscribe(t.Context(), channel, func(backend.Event) {}) })
		}
		whileBusy(t, n, hub, each...)
		for i, err := range errs {
			require.EqualError(t, err, fmt.Sprintf("subscribe \"%d\": NOPERM %d", i, i))
		}
		require.Equal(t, []int{1, 1}, []int{n.did("subscribe 3"), n.did("dial a")})
	})
}

// Of the channels that are there together the link ends some subscriptions first.
func TestSubscribeTogetherWithAnEnd(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		old := subscribe(t, hub, "old", func(backend.Event) {})
		var got log
		whileBusy(t, n, hub, old.Cancel, func() { subscribe(t, hub, "new", got.handle) })
		require.Equal(t, []int{1, 3}, []int{n.did("unsubscribe 1"), n.did("subscribe 1")})
		n.publish("new")
		require.Equal(t, []string{"1"}, got.after(time.Second))
		subs, _ := n.subscriptions()
		require.Equal(t, 2, subs)
	})
}

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		var got log
		var s backend.Subscription
		s = subscribe(t, hub, "x", func(e backend.Event) {
			got.handle(e)
			hub.Close()
			s.Cancel()
		})
		n.delay = time.Second
		waiting := make(chan error)
		go func() {
			_, err := hub.Subscribe(context.Background(), "y", func(backend.Event) {})
			waiting <- err
		}()
		n.publish("x")
		require.ErrorIs(t, <-waiting, backend.ErrClosed)
		n.publish("x")
		require.Equal(t, []string{"1"}, got.after(time.Minute))
		_, err := hub.Subscribe(t.Context(), "x", func(backend.Event) {})
		require.ErrorIs(t, err, backend.ErrClosed)
	})
}
