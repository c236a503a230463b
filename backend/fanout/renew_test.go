package fanout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

// leaving runs check as bubble does, over links that cannot unsubscribe.
func leaving(t *testing.T, check func(t *testing.T, n *network, hub *fanout.Hub, kept *log)) {
	t.Helper()
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.leaves = true
		var kept log
		subscribe(t, hub, "kept", kept.handle)
		check(t, n, hub, &kept)
	})
}

// leave subscribes to a channel that is left to the link.
func leave(t *testing.T, hub *fanout.Hub, channel string) {
	t.Helper()
	subscribe(t, hub, channel, func(backend.Event) {}).Cancel()
}

// requireHeld requires that the servers have so many subscriptions, on one link.
func requireHeld(t *testing.T, n *network, want int) {
	t.Helper()
	subs, links := n.subscriptions()
	require.Equal(t, []int{want, 1}, []int{subs, links})
}

// requireHears requires that the next message on kept comes, and that nothing came before it.
func requireHears(t *testing.T, n *network, kept *log) {
	t.Helper()
	seq := n.publish("kept")
	require.Equal(t, []string{fmt.Sprint(seq)}, kept.after(time.Second))
}

func TestLeftChannelsEndWithTheirLink(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		for i := range 5 {
			leave(t, hub, fmt.Sprint(i))
		}
		settle(9 * time.Second)
		requireHeld(t, n, 6)
		require.Equal(t, 1, n.did("dial a"))
		settle(2 * time.Second)
		requireHeld(t, n, 1)
		settle(time.Minute)
		require.Equal(t, 2, n.did("dial a"), "nothing is left to the second")
		leave(t, hub, "x")
		settle(time.Second)
		requireHeld(t, n, 1)
		require.Equal(t, 3, n.did("dial a"), "the second was old")
		requireHears(t, n, kept)
	})
}

func TestLeftChannelIsWantedAgain(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		leave(t, hub, "x")
		n.publish("x")
		settle(time.Second)
		var got log
		subscribe(t, hub, "x", got.handle)
		n.publish("x")
		require.Equal(t, []string{"2"}, got.after(time.Minute))
		require.Equal(t, 1, n.did("dial a"))
		requireHears(t, n, kept)
	})
}

func TestEndIsAtOnce(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		subscribe(t, hub, "x", func(backend.Event) {}).(backend.Ender).End()
		settle(100 * time.Millisecond)
		requireHeld(t, n, 1)
		requireHears(t, n, kept)
	})
}

// A link to which only left channels remain ends as any other that is idle.
func TestIdleLinkEndsWithWhatIsLeft(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.leaves = true
		leave(t, hub, "x")
		settle(9 * time.Second)
		requireHeld(t, n, 1)
		settle(2 * time.Second)
		subs, links := n.subscriptions()
		require.Zero(t, subs+links)
	})
}

func TestLeftChannelsAreBounded(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		n.delay = time.Microsecond
		for i := range 2500 {
			leave(t, hub, fmt.Sprint(i))
			subs, _ := n.subscriptions()
			require.LessOrEqual(t, subs, 1010)
		}
		settle(time.Second)
		require.Equal(t, 3, n.did("dial a"))
		requireHears(t, n, kept)
	})
}

func TestLinkStaysIfTheNextCannotBeDialed(t *testing.T) {
	leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, kept *log) {
		leave(t, hub, "x")
		n.set(func() { n.down = true })
		settle(time.Minute)
		require.InDelta(t, 7, n.did("dial a"), 1, "each ten seconds")
		requireHears(t, n, kept)
		n.set(func() { n.down = false })
		settle(11 * time.Second)
		requireHeld(t, n, 1)
		requireHears(t, n, kept)
	})
}

// Messages are under way on either link when the next one takes over.
func TestNextLinkLosesNoMessage(t *testing.T) {
	const far = 300 * time.Millisecond
	for _, lags := range [][2]time.Duration{{}, {far, 0}, {0, far}, {far, far}} { // of the two links
		t.Run(fmt.Sprint(lags), func(t *testing.T) {
			leaving(t, func(t *testing.T, n *network, hub *fanout.Hub, _ *log) {
				n.set(func() { n.lag = func(dial int) time.Duration { return lags[dial-2] } })
				n.killAll()
				settle(time.Second)
				var got log
				subscribe(t, hub, "x", got.handle)
				leave(t, hub, "left")
				var want []string
				for range 2000 {
					want = append(want, fmt.Sprint(n.publish("x")))
					settle(10 * time.Millisecond)
				}
				require.Equal(t, want, slices.DeleteFunc(got.after(time.Second), func(text string) bool { return text == "gap" }))
				require.Equal(t, 3, n.did("dial a"))
			})
		})
	}
}
