package fanout_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
)

func TestLossIsReportedAfterTheNewAcknowledgement(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.delay = 100 * time.Millisecond
		got := hear(t, hub, "x")
		settle(10 * time.Second)
		n.killAll()
		settle(99 * time.Millisecond)
		n.publish("x") // to nobody
		require.Empty(t, got.after(100*time.Millisecond))
		require.Equal(t, []string{"gap"}, got.after(2*time.Millisecond))
		n.publish("x")
		require.Equal(t, []string{"2"}, got.after(time.Second))
	})
}

func TestSilentLinkIsAGap(t *testing.T) {
	heard(t, func(t *testing.T, n *network, got *log) {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 20 {
			settle(time.Duration(rng.IntN(10_000)) * time.Millisecond)
			n.set(func() { // a new link is fine
				for l := range n.links {
					l.mute = true
				}
			})
			require.Equal(t, []string{"gap"}, got.after(15*time.Second))
			seq := n.publish("x")
			require.Equal(t, []string{fmt.Sprint(seq)}, got.after(time.Second))
		}
	})
}

// A server that is busy with a script, or that takes a permission away, still answers.
func TestRefusedPingIsAnAnswer(t *testing.T) {
	heard(t, func(t *testing.T, n *network, got *log) {
		for _, code := range []string{"BUSY", "NOPERM", "MOVED"} { // MOVED: without a node.
			n.set(func() { n.refuse["x"] = &backend.ServerError{Code: code} })
			settle(time.Minute)
		}
		n.publish("x")
		require.Equal(t, []string{"1"}, got.after(time.Second))
		require.Equal(t, 1, n.did("dial a"))
		require.Greater(t, n.did("subscribe 1"), 40)
	})
}

// The server should have said that the channel's slot has left it.
func TestPingFindsThatTheChannelHasMoved(t *testing.T) {
	heard(t, func(t *testing.T, n *network, got *log) {
		n.set(func() { n.owner["x"] = "b" })
		require.Equal(t, []string{"gap"}, got.after(5*time.Second))
		n.publish("x")
		require.Contains(t, got.after(time.Second), "1")
	})
}

// TestFaultsPass: the link ends, and a fault keeps another one away for a while. Once it has passed, there is a gap.
func TestFaultsPass(t *testing.T) {
	for name, fault := range map[string]struct {
		set, pass func(n *network)
		gap       time.Duration // the longest after that
	}{
		"SilentNetwork": {func(n *network) { n.silent = true }, func(n *network) { n.silent = false }, 12 * time.Second},
		"ServerDown":    {func(n *network) { n.down = true }, func(n *network) { n.down = false }, 2100 * time.Millisecond},
		"Refusal": {func(n *network) { n.refuse["x"] = &backend.ServerError{Code: "NOPERM"} },
			func(n *network) { clear(n.refuse) }, 2100 * time.Millisecond},
		// A proxy may answer by a text.
		"WithoutAnAcknowledgement": {func(n *network) { n.mutes["x"] = true }, func(n *network) { clear(n.mutes) }, 2100 * time.Millisecond},
		// A server that does not know its own host names none: it is looked up.
		"MovedWithoutAHost": {func(n *network) { n.refuse["x"] = &backend.ServerError{Code: "MOVED", Message: "1 :7001"} },
			func(n *network) { n.owner["x"] = "b"; clear(n.refuse) }, 2100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			heard(t, func(t *testing.T, n *network, got *log) {
				n.set(func() { fault.set(n) })
				settle(time.Minute)
				require.True(t, name == "SilentNetwork" || n.dials == 1, "pings are answered")
				n.killAll()
				require.Empty(t, got.after(time.Minute))
				require.Less(t, n.dials, 60, "pauses grow")
				require.Zero(t, n.did("dial :7001"))
				n.set(func() { fault.pass(n) })
				require.Equal(t, []string{"gap"}, got.after(fault.gap))
			})
		})
	}
}

// TestSubscribeIsNotAcknowledged: a caller that subscribes again and again dials no more often for it, on another channel
// of its node neither, and another node is dialed at once. After an acknowledgement the next such link is a first one.
func TestSubscribeIsNotAcknowledged(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.mutes["x"], n.mutes["y"] = true, true
		for range 10 {
			for _, channel := range []string{"x", "y"} {
				_, err := hub.Subscribe(t.Context(), channel, func(backend.Event) {})
				require.ErrorContains(t, err, "SUBSCRIBE was answered, but not acknowledged")
				settle(500 * time.Millisecond)
			}
		}
		require.Less(t, n.dials, 80)
		n.owner["far"] = "b"
		_, err := hub.Subscribe(t.Context(), "y", func(backend.Event) {})
		require.Error(t, err)
		began := time.Now()
		hear(t, hub, "far")
		require.Less(t, time.Since(began), 100*time.Millisecond)
		clear(n.mutes)
		began = time.Now()
		hear(t, hub, "x")
		require.Less(t, time.Since(began), 2100*time.Millisecond)
		n.mutes["y"] = true
		_, err = hub.Subscribe(t.Context(), "y", func(backend.Event) {})
		require.Error(t, err)
		began = time.Now()
		hear(t, hub, "z")
		require.Less(t, time.Since(began), 100*time.Millisecond)
	})
}

func TestMovedIsFollowed(t *testing.T) {
	bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
		n.owner["x"], n.believe["x"] = "b", "a"
		var got, other log
		start := time.Now()
		subscribe(t, hub, "x", got.handle)
		require.Equal(t, 4*time.Millisecond, time.Since(start), "two round trips")
		subscribe(t, hub, "y", other.handle)

		n.migrate("x", "c")
		n.migrate("y", "c")
		require.Equal(t, []string{"gap"}, got.after(time.Second))
		require.Equal(t, []string{"gap"}, other.take())
		n.publish("x")
		require.Equal(t, []string{"1"}, got.after(time.Second))
		settle(time.Minute)
		subs, links := n.subscriptions()
		require.Equal(t, []int{2, 1}, []int{subs, links}, "one link to c; the others have gone")
	})
}

// The pause after a loss grows with the failures in a row. A subscription that lasted ends the row, and one that is
// lost at once does not.
func TestFailuresAreForgottenOnceASubscriptionLasts(t *testing.T) {
	for _, test := range []struct{ lasted, pause time.Duration }{
		{time.Second, 0}, {time.Second - time.Millisecond, 250 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(test.lasted), func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, n *network, hub *fanout.Hub) {
				var got log
				gaps := make(chan struct{}, 1)
				subscribe(t, hub, "x", func(e backend.Event) { got.handle(e); gaps <- struct{}{} })
				n.set(func() { n.down = true })
				n.killAll()
				settle(time.Minute)
				n.set(func() { n.down = false })
				<-gaps
				settle(test.lasted)
				n.killAll()
				lost := time.Now()
				<-gaps
				require.Equal(t, []string{"gap", "gap"}, got.take())
				took := time.Since(lost) - 2*n.delay
				require.GreaterOrEqual(t, took, test.pause)
				require.LessOrEqual(t, took, 2*test.pause, "no pause after a first failure")
			})
		})
	}
}

// subscribeSlowly subscribes a handler to x that begins when release is closed.
func subscribeSlowly(t *testing.T, hub *fanout.Hub) (s backend.Subscription, slow *log, release chan struct{}) {
	t.Helper()
	slow, release = &log{}, make(chan struct{})
	return subscribe(t, hub, "x", func(e backend.Event) { <-release; slow.handle(e) }), slow, release
}

func TestSlowHandlerDelaysNobody(t *testing.T) {
	bubble(t, &fanout.Options{Queue: 4}, func(t *testing.T, n *network, hub *fanout.Hub) {
		_, slow, release := subscribeSlowly(t, hub)
		fast := hear(t, hub, "x")
		for range 9 {
			n.publish("x")
			settle(time.Second)
		}
		require.Len(t, fast.take(), 9)
		close(release)
		settle(time.Second)
		n.publish("x")
		settle(time.Second)
		// One is in the handler, three wait, the notice stands for the other five.
		require.Equal(t, []string{"1", "2", "3", "4", "gap", "10"}, slow.take())
	})
}

// eavesdropper is a dialer that keeps the receivers of events.
type eavesdropper struct {
	*network
	events []fanout.Events
}

func (e *eavesdropper) Dial(
	ctx context.Context, node string, events fanout.Events,
) (fanout.Link, error) {
	e.events = append(e.events, events)
	return e.network.Dial(ctx, node, events)
}

func TestEventsOfAnOldLinkAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &eavesdropper{network: newNetwork()}
		hub := open(t, e, nil)
		got := hear(t, hub, "x")
		e.killAll()
		require.Equal(t, []string{"gap"}, got.after(time.Second))
		old := e.events[0]
		old.Message("x", "late")
		old.Unsubscribed("x")
		old.Subscribed("x")
		old.Lost(errKilled)
		require.Empty(t, got.after(time.Second))
		require.Equal(t, 2, e.dials)
	})
}

// checker is a handler that knows which messages must come.
type checker struct {
	mu      sync.Mutex
	last    int // the last number received, or published before Subscribe returned
	before  int // the latter
	started bool
	gap     bool
	fault   string
}

// start says that Subscribe returned, and which message was the last before.
func (c *checker) start(last int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.before, c.started = max(c.last, last), last, true
}

func (c *checker) handle(e backend.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq, _ := strconv.Atoi(e.Payload)
	switch {
	case e.Kind == backend.EventResubscribed:
		c.gap = true
		return
	case c.started && seq <= c.before:
		return // it may come, or not
	case c.started && !c.gap && seq != c.last+1:
		c.fault = fmt.Sprintf("%d came after %d without a notice", seq, c.last)
	}
	c.last, c.gap = max(seq, c.last), false
}

func (c *checker) state() (last int, fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.fault
}

// TestNoGapIsSilent makes faults, subscriptions and messages at random. Afterwards every message
// must have come, or a notice in its place.
func TestNoGapIsSilent(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprintf("Seed=%d", seed), func(t *testing.T) {
			opts := &fanout.Options{Queue: 4 + int(seed%3)*500, IdleTimeout: time.Second}
			bubble(t, opts, func(t *testing.T, n *network, hub *fanout.Hub) {
				chaos(t, n, hub, rand.New(rand.NewPCG(seed, 1)))
			})
		})
	}
}

type activeSubscription struct {
	channel string
	checker *checker
	sub     backend.Subscription
}

func chaos(t *testing.T, n *network, hub *fanout.Hub, r *rand.Rand) {
	t.Helper()
	var (
		mu   sync.Mutex
		all  []activeSubscription
		busy sync.WaitGroup
	)
	n.earlyUnsubscribe = r.IntN(2) == 0
	if n.leaves = r.IntN(2) == 0; n.leaves {
		n.lag = func(dial int) time.Duration { return time.Duration(dial*7%5) * 10 * time.Millisecond }
	}
	channel := func() string { return string(rune('p' + r.IntN(4))) }
	begin := func(channel string) {
		defer busy.Done()
		c := &checker{}
		sub, err := hub.Subscribe(t.Context(), channel, c.handle)
		if err != nil {
			return
		}
		n.set(func() { c.start(n.seq[channel]) })
		mu.Lock()
		defer mu.Unlock()
		all = append(all, activeSubscription{channel, c, sub})
	}
	for range 300 {
		time.Sleep(time.Duration(r.IntN(4000)) * 100 * time.Microsecond)
		switch r.IntN(12) {
		case 0, 1:
			busy.Add(1)
			go begin(channel())
		case 2:
			mu.Lock()
			if len(all) > 0 {
				i := r.IntN(len(all))
				all[i].sub.Cancel()
				all = append(all[:i], all[i+1:]...)
			}
			mu.Unlock()
		case 3:
			fault(n, r, channel())
		case 4:
			n.set(func() { n.silent, n.down = false, false; clear(n.refuse); clear(n.believe) })
		default:
			n.publish(channel())
		}
	}
	n.set(func() { n.silent, n.down = false, false; clear(n.refuse); clear(n.believe) })
	busy.Wait()
	settle(30 * time.Second)
	for _, c := range "pqrs" {
		n.publish(string(c))
	}
	settle(time.Second)
	for _, h := range all {
		last, fault := h.checker.state()
		require.Empty(t, fault)
		require.Equal(t, n.seq[h.channel], last)
		h.sub.Cancel()
	}
	settle(5 * time.Second)
	subs, links := n.subscriptions()
	require.Zero(t, subs)
	require.Zero(t, links)
}

// fault makes one at random.
func fault(n *network, r *rand.Rand, channel string) {
	switch r.IntN(6) {
	case 0, 1:
		n.killAll()
	case 2:
		n.migrate(channel, string(rune('a'+r.IntN(3))))
	case 3:
		n.set(func() { n.silent = true })
	case 4:
		n.set(func() { n.down = true })
	case 5:
		n.set(func() {
			n.believe[channel] = string(rune('a' + r.IntN(3)))
			n.refuse[channel] = &backend.ServerError{Code: "CLUSTERDOWN"}
		})
	}
}
