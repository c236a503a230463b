package servers_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// wired returns a wire, and the addresses of two nodes: two servers of the test's own.
func wired(t *testing.T) (w *servers.Wire, one, two *servers.Server) {
	t.Helper()
	w = servers.NewWire(nil)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	_, one = proxied(t)
	_, two = proxied(t)
	return w, one, two
}

// dialWire connects to node by w.
func dialWire(t *testing.T, w *servers.Wire, node *servers.Server) *servers.Conn {
	t.Helper()
	c, err := w.DialContext(t.Context(), "tcp", node.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return servers.Over(c)
}

func TestWireFaultHitsANodeDialedLater(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	ping(t, dialWire(t, w, one))
	hit := w.CutReply(servers.Command("INCR"))
	c := dialWire(t, w, two)
	require.NoError(t, c.Send("INCR", "n"))
	requireCut(t, c)
	<-hit
	require.Equal(t, "1", get(t, two, "n"))
}

func TestWireFaultHitsOnce(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	for range 10 {
		hit := w.CutReply(servers.Command("ECHO"))
		first, second := dialWire(t, w, one), dialWire(t, w, two)
		require.NoError(t, first.Send("ECHO", "text"))
		require.NoError(t, second.Send("ECHO", "text"))
		<-hit
		_, ofFirst := first.Receive(30 * time.Second)
		_, ofSecond := second.Receive(30 * time.Second)
		require.NotEqual(t, ofFirst == nil, ofSecond == nil, "one of them is cut")
	}
}

func TestWireFaultsAreTakenInTurn(t *testing.T) {
	t.Parallel()
	w, one, _ := wired(t)
	for range 3 {
		hit := w.CutReply(servers.Command("PING"))
		c := dialWire(t, w, one)
		require.NoError(t, c.Send("PING"))
		requireCut(t, c)
		<-hit
		ping(t, dialWire(t, w, one))
	}
}

func TestWireSilence(t *testing.T) {
	t.Parallel()
	w, one, _ := wired(t)
	c := dialWire(t, w, one)
	ping(t, c)
	w.Silence()
	require.NoError(t, c.Send("PING"))
	requireSilence(t, c)
	w.Restore()
	ping(t, dialWire(t, w, one))
	requireSilence(t, c)
}

func TestWireBlackhole(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	old := dialWire(t, w, one)
	ping(t, old)
	w.Blackhole()
	for _, c := range []*servers.Conn{old, dialWire(t, w, one), dialWire(t, w, two)} {
		require.NoError(t, c.Send("PING"))
		requireSilence(t, c)
	}
	w.Restore()
	requireCut(t, old)
	ping(t, dialWire(t, w, two))
}

func TestWireBlackholeRequests(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	old := dialWire(t, w, one)
	w.BlackholeRequests()
	for node, c := range map[*servers.Server]*servers.Conn{one: old, two: dialWire(t, w, two)} {
		require.NoError(t, c.Send("INCR", "n"))
		requireSilence(t, c)
		require.Empty(t, get(t, node, "n"))
	}
	w.Restore()
	requireCut(t, old)
}

func TestWireBlackholeReplies(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	old := dialWire(t, w, one)
	w.BlackholeReplies()
	for node, c := range map[*servers.Server]*servers.Conn{one: old, two: dialWire(t, w, two)} {
		require.NoError(t, c.Send("INCR", "n"))
		requireSilence(t, c)
		require.Equal(t, "1", get(t, node, "n"))
	}
	w.Restore()
	requireCut(t, old)
}

func TestWireRefuse(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	c := dialWire(t, w, one)
	ping(t, c)
	w.Refuse()
	requireCut(t, c)
	for _, node := range []*servers.Server{one, two} {
		_, err := w.DialContext(t.Context(), "tcp", node.Addr())
		require.Error(t, err)
	}
	w.Restore()
	ping(t, dialWire(t, w, one))
	ping(t, dialWire(t, w, two))
}

func TestWireDelay(t *testing.T) {
	t.Parallel()
	w, one, two := wired(t)
	old := dialWire(t, w, one)
	w.Delay(brief)
	for _, c := range []*servers.Conn{old, dialWire(t, w, two)} {
		began := time.Now()
		ping(t, c)
		require.GreaterOrEqual(t, time.Since(began), 2*brief)
	}
}

func TestWireClose(t *testing.T) {
	t.Parallel()
	w, one, _ := wired(t)
	c := dialWire(t, w, one)
	ping(t, c)
	w.Silence()
	open := dialWire(t, w, one)
	ping(t, open)
	require.NoError(t, w.Close())
	requireCut(t, c)
	requireCut(t, open)
	_, err := w.DialContext(t.Context(), "tcp", one.Addr())
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, w.Close())
}
